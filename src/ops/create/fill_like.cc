// zeros_like, ones_like and _npi_full_like: they read the shape of their input only.
#include "ops/common/index_maps.h"
#include "ops/common/moves.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::fill_like {
namespace {

struct LikeParam {
  std::optional<DType> dtype;
};

struct Row {
  const char* name;
  const char* doc;
  std::int64_t value;
  bool of_floats = false;  // integers get zeros
};

constexpr Row kRows[] = {
    {"zeros_like", "Zeros of the input's shape.", 0},
    {"ones_like", "Ones of the input's shape.", 1},
    {"_float_ones_like", "Ones of the input's shape, zeros where it holds integers.", 1, true},
};

std::int64_t ValueOf(const Row& row, DType dtype) { return row.of_floats && !IsFloat(dtype) ? 0 : row.value; }

template <class P>
void InferLike(DTypeRelation& r) {
  const auto& dtype = r.node().params<P>().dtype;
  if (dtype) {
    r.Out(0, *dtype);
  } else {
    r.Same({0}, {0});
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) {
    auto op = RegisterOp<LikeParam>(row.name);
    if (row.name == std::string_view("zeros_like")) op.Alias("_sparse_zeros_like");
    op.Doc(row.doc)
        .Params(ParamSchema<LikeParam>()
                    .Optional("dtype", &LikeParam::dtype, "Dtype of the output; None: that of the data.")
                    .Ignored("ctx"))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(DTypeRule{InferLike<LikeParam>})
        .Set(row.of_floats ? AmpFacts{Arithmetic::kMovesData} : AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(ConstantRange(Hull(ValueRange::Of(static_cast<double>(row.value)),
                                ValueRange::Of(static_cast<double>(ValueOf(row, DType::kInt32))))))
        .Set(ZeroGradient{"it depends on the shape alone"})
        .Set(ReadsShapesOnly{})
        .Set(ReferenceKernel{[&row](const Node&, std::span<const NDArray>, std::span<NDArray> out) {
          const std::int64_t value = ValueOf(row, out[0].dtype());
          Store(std::vector<std::int64_t>(static_cast<std::size_t>(out[0].size()), value), out[0]);
        }})
        .Set(KernelRule{[&row](LowerContext& c) {
          const DType dtype = c.out_type(0).dtype;
          return LowerToFill(c, BytesOfOne(dtype, static_cast<double>(ValueOf(row, dtype))));
        }});
  }
  return true;
}();

struct FullLikeParam {
  double fill_value = 0;
  std::optional<DType> dtype;
};

[[maybe_unused]] const auto kFullLike =
    RegisterOp<FullLikeParam>("_npi_full_like")
        .Doc("An array of the input's shape that holds fill_value.")
        .Params(ParamSchema<FullLikeParam>()
                    .Required("fill_value", &FullLikeParam::fill_value, "Every element.")
                    .Optional("dtype", &FullLikeParam::dtype, "Dtype of the output; None: that of the data.")
                    .Ignored("ctx"))
        .Inputs({"a"})
        .Set(SameShape())
        .Set(DTypeRule{InferLike<FullLikeParam>})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(RangeRule{
            [](const RangeQuery& q, int) { return ValueRange::Of(q.node.params<FullLikeParam>().fill_value); }})
        .Set(ZeroGradient{"it depends on the shape alone"})
        .Set(ReadsShapesOnly{})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
          const double value = node.params<FullLikeParam>().fill_value;
          Store(std::vector<double>(static_cast<std::size_t>(out[0].size()), value), out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          return LowerToFill(c, BytesOfOne(c.out_type(0).dtype, c.node().params<FullLikeParam>().fill_value));
        }});

}  // namespace
}  // namespace amp::fill_like
