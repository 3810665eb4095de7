// Attention on a ring.
#include "dist/ring.h"

#include <cmath>
#include <string>
#include <utility>

#include "bindings.h"
#include "dist/ring_backward.h"
#include "dist/ring_forward.h"
#include "gil.h"
#include "program/kernel_types.h"

namespace amp::python {
namespace {

using dist::Comm;
using dist::RingAttention;

// What callers say beside arrays. An empty text, or a scale of 0, is a default.
struct RingOptions {
  bool causal = true;
  double scale = 0;
  std::string layout = "bshd";
  std::string accum_dtype, partial_dtype, merge, p_dtype;
  std::int64_t key_block = 0;
  bool last_key_first = true;
};

struct RingArguments {
  Array queries, keys, values;
  RingAttention ring;

  dist::RingOperands Operands() const { return {queries.array.data(), keys.array.data(), values.array.data()}; }
  Shape LseShape() const { return Shape({ring.num_batch, ring.num_heads, ring.num_queries}); }
  Shape OutShape() const {
    Shape shape = queries.array.shape();
    shape[3] = ring.value_size;
    return shape;
  }
};

void RequireArray(const char* what, const NDArray& array, DType dtype, const Shape& shape) {
  if (array.dtype() == dtype && array.shape() == shape) return;
  Throw<ArgumentError>("{}: expected {}, got {}", what, TensorType{dtype, shape}.ToString(), array.type().ToString());
}

void RequireRank4(const char* what, const NDArray& array) {
  if (array.shape().rank() != 4)
    Throw<ArgumentError>("{}: expected 4 dimensions, got {}", what, array.type().ToString());
}

RingArguments RingArgumentsOf(const py::object& q, const py::object& k, const py::object& v,
                              const RingOptions& options) {
  RingArguments arguments{ArrayOf(q, "q"), ArrayOf(k, "k"), ArrayOf(v, "v"), {}};
  const NDArray &queries = arguments.queries.array, &keys = arguments.keys.array, &values = arguments.values.array;
  RequireRank4("q", queries);
  RequireRank4("k", keys);
  RequireRank4("v", values);
  RingAttention& ring = arguments.ring;
  if (options.layout != "bshd" && options.layout != "sbhd")
    Throw<ArgumentError>("layout: expected 'bshd' or 'sbhd', got '{}'", Quotable(options.layout));
  ring.sequence_first = options.layout == "sbhd";
  const int row = ring.sequence_first ? 0 : 1, batch = 1 - row;
  ring.num_batch = queries.shape()[batch];
  ring.num_queries = queries.shape()[row];
  ring.num_heads = queries.shape()[2];
  ring.size = queries.shape()[3];
  ring.num_keys = keys.shape()[row];
  ring.num_kv_heads = keys.shape()[2];
  ring.value_size = values.shape()[3];
  Shape key_shape = keys.shape();
  key_shape[batch] = ring.num_batch;
  key_shape[3] = ring.size;
  RequireArray("k", keys, queries.dtype(), key_shape);
  key_shape[3] = ring.value_size;
  RequireArray("v", values, queries.dtype(), key_shape);
  ring.dtype = KernelType(queries.dtype());
  ring.causal = options.causal;
  ring.scale = options.scale != 0 ? static_cast<float>(options.scale)
                                  : static_cast<float>(1 / std::sqrt(static_cast<double>(ring.size)));
  ring.key_block = options.key_block;
  ring.last_key_first = options.last_key_first;
  dist::ChooseVariant(options.accum_dtype, options.partial_dtype, options.merge, options.p_dtype, &ring);
  dist::CheckRing(ring);
  return arguments;
}

py::tuple RingAttentionForward(Comm& comm, const py::object& q, const py::object& k, const py::object& v,
                               const RingOptions& options) {
  const RingArguments arguments = RingArgumentsOf(q, k, v, options);
  NDArray out(arguments.queries.array.dtype(), arguments.OutShape()), lse(DType::kFloat32, arguments.LseShape());
  ReleaseGil([&] { dist::RingForward(&comm, arguments.ring, arguments.Operands(), out.data(), lse.As<float>()); });
  return py::make_tuple(Array{std::move(out)}, Array{std::move(lse)});
}

py::tuple RingAttentionBackward(Comm& comm, const py::object& dout, const py::object& q, const py::object& k,
                                const py::object& v, const py::object& out, const py::object& lse,
                                const RingOptions& options) {
  const RingArguments arguments = RingArgumentsOf(q, k, v, options);
  const Array result = ArrayOf(out, "out"), gradient = ArrayOf(dout, "dout"), logarithms = ArrayOf(lse, "lse");
  const DType dtype = arguments.queries.array.dtype();
  RequireArray("out", result.array, dtype, arguments.OutShape());
  RequireArray("dout", gradient.array, dtype, arguments.OutShape());
  RequireArray("lse", logarithms.array, DType::kFloat32, arguments.LseShape());
  NDArray dq(dtype, arguments.queries.array.shape()), dk(dtype, arguments.keys.array.shape()),
      dv(dtype, arguments.values.array.shape());
  ReleaseGil([&] {
    dist::RingBackward(&comm, arguments.ring, arguments.Operands(), result.array.data(), logarithms.array.As<float>(),
                       {gradient.array.data()}, {dq.data(), dk.data(), dv.data()});
  });
  return py::make_tuple(Array{std::move(dq)}, Array{std::move(dk)}, Array{std::move(dv)});
}

}  // namespace

void BindRing(py::module_& module) {
  py::class_<RingOptions>(module, "RingOptions")
      .def(
          py::init([](bool causal, double scale, std::string layout, std::string accum_dtype, std::string partial_dtype,
                      std::string merge, std::string p_dtype, std::int64_t key_block, bool last_key_first) {
            return RingOptions{causal,
                               scale,
                               std::move(layout),
                               std::move(accum_dtype),
                               std::move(partial_dtype),
                               std::move(merge),
                               std::move(p_dtype),
                               key_block,
                               last_key_first};
          }),
          py::kw_only(), py::arg("causal"), py::arg("scale"), py::arg("layout"), py::arg("accum_dtype"),
          py::arg("partial_dtype"), py::arg("merge"), py::arg("p_dtype"), py::arg("key_block"),
          py::arg("last_key_first"));
  module.def("ring_attention", &RingAttentionForward, py::arg("comm"), py::arg("q"), py::arg("k"), py::arg("v"),
             py::arg("options"));
  module.def("ring_attention_backward", &RingAttentionBackward, py::arg("comm"), py::arg("dout"), py::arg("q"),
             py::arg("k"), py::arg("v"), py::arg("out"), py::arg("lse"), py::arg("options"));
}

}  // namespace amp::python
