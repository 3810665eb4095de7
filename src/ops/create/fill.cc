// Arrays of one value, and ones on a diagonal: _full, _npi_full, _eye, _npi_eye, _npi_identity.
#include <algorithm>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::fill {
namespace {

void ValidateSizes(const IntTuple& shape) {
  for (const std::int64_t size : shape) {
    if (size < 0) Throw<GraphError>("attribute shape: {} is no size", size);
  }
}

// What the parameters say of the output.
template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema, std::function<void(P&)> validate) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema), std::move(validate))
      .Inputs(std::vector<std::string>{})
      .Set(ShapeRule{[](ShapeRelation& r) { r.Out(0, ShapeOf(r.node().params<P>())); }})
      .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<P>().dtype.value_or(DType::kFloat32)); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(ValuesOfReference());
}

struct FullParam {
  IntTuple shape;
  double value = 0;
  std::optional<DType> dtype = DType::kFloat32;
};

Shape ShapeOf(const FullParam& p) { return Shape(p.shape); }

[[maybe_unused]] const auto kFull =
    Register<FullParam>("_full", "An array that holds `value`.",
                        ParamSchema<FullParam>()
                            .Required("shape", &FullParam::shape, "Shape of the output.")
                            .Required("value", &FullParam::value, "Every element.")
                            .Ignored("ctx")
                            .Optional("dtype", &FullParam::dtype, "Dtype of the output; None: float32."),
                        [](FullParam& p) { ValidateSizes(p.shape); })
        .Set(RangeRule{[](const RangeQuery& q, int) { return ValueRange::Of(q.node.params<FullParam>().value); }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
          const double value = node.params<FullParam>().value;
          Store(std::vector<double>(static_cast<std::size_t>(out[0].size()), value), out[0]);
        }});

// MXNet 1.x writes one value, 2.0 three of them and which one counts.
struct NpiFullParam {
  IntTuple shape;
  std::optional<double> value;
  std::optional<std::int64_t> int_value;
  std::optional<double> uint_value, double_value;
  std::int64_t value_type = 2;
  std::optional<DType> dtype;
};

Shape ShapeOf(const NpiFullParam& p) { return Shape(p.shape); }

void ValidateNpiFull(NpiFullParam& p) {
  ValidateSizes(p.shape);
  const bool given = p.value || (p.value_type == 0   ? p.int_value.has_value()
                                 : p.value_type == 1 ? p.uint_value.has_value()
                                                     : p.double_value.has_value());
  if (!given) Throw<GraphError>("neither attribute value nor the one that value_type {} names is given", p.value_type);
}

double ValueOf(const NpiFullParam& p) {
  if (p.value) return *p.value;
  return p.value_type == 0 ? static_cast<double>(*p.int_value) : p.value_type == 1 ? *p.uint_value : *p.double_value;
}

void NpiFullReference(const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
  const auto& p = node.params<NpiFullParam>();
  const auto size = static_cast<std::size_t>(out[0].size());
  if (!p.value && p.value_type == 0) return Store(std::vector<std::int64_t>(size, *p.int_value), out[0]);
  Store(std::vector<double>(size, ValueOf(p)), out[0]);
}

[[maybe_unused]] const auto kNpiFull =
    Register<NpiFullParam>(
        "_npi_full", "An array that holds one value.",
        ParamSchema<NpiFullParam>()
            .Required("shape", &NpiFullParam::shape, "Shape of the output.")
            .Optional("value", &NpiFullParam::value, "Every element, as MXNet 1.x spells it.")
            .Optional("int_value", &NpiFullParam::int_value, "Every element, where value_type is 0.")
            .Optional("uint_value", &NpiFullParam::uint_value, "Every element, where value_type is 1.")
            .Optional("double_value", &NpiFullParam::double_value, "Every element, where value_type is 2.")
            .Optional("value_type", &NpiFullParam::value_type, "Which of the three counts.")
            .Range(0, 2)
            .Ignored("ctx")
            .Optional("dtype", &NpiFullParam::dtype, "Dtype of the output; None: float32."),
        ValidateNpiFull)
        .Set(RangeRule{[](const RangeQuery& q, int) { return ValueRange::Of(ValueOf(q.node.params<NpiFullParam>())); }})
        .Set(ReferenceKernel{NpiFullReference});

constexpr double kMaxRows = 1 << 30;

void OnDiagonal(std::int64_t k, NDArray& out) {
  const std::int64_t rows = out.shape()[0], columns = out.shape()[1];
  std::vector<std::int64_t> y(out.size(), 0);
  for (std::int64_t row = std::max<std::int64_t>(0, -k); row < rows && row + k < columns; ++row) {
    y[row * columns + row + k] = 1;
  }
  Store(y, out);
}

struct EyeParam {
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // 0: as many as rows
  std::int64_t k = 0;
  std::optional<DType> dtype = DType::kFloat32;
};

struct NpiEyeParam {
  std::int64_t rows = 0;
  std::optional<std::int64_t> columns;
  std::int64_t k = 0;
  std::optional<DType> dtype;
};

Shape ShapeOf(const EyeParam& p) { return {p.rows, p.columns == 0 ? p.rows : p.columns}; }
Shape ShapeOf(const NpiEyeParam& p) { return {p.rows, p.columns.value_or(p.rows)}; }

template <class P>
OpDefinition<P> Register(const char* name, const char* columns_doc) {
  return Register<P>(name, "Ones on diagonal k of a matrix of zeros; diagonals above the main one count from 1.",
                     ParamSchema<P>()
                         .Required("N", &P::rows, "Number of rows.")
                         .Range(0, kMaxRows)
                         .Optional("M", &P::columns, columns_doc)
                         .Range(0, kMaxRows)
                         .Optional("k", &P::k, "Which diagonal; below the main one negative.")
                         .Range(-kMaxRows, kMaxRows)
                         .Ignored("ctx")
                         .Optional("dtype", &P::dtype, "Dtype of the output; None: float32."),
                     [](P& p) {
                       if (ShapeOf(p)[1] < 0 || static_cast<double>(ShapeOf(p)[1]) > kMaxRows) {
                         Throw<GraphError>("attribute M: {} is no number of columns", ShapeOf(p)[1]);
                       }
                     })
      .Set(ConstantRange({0, 1, true}))
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
        OnDiagonal(node.params<P>().k, out[0]);
      }});
}

[[maybe_unused]] const auto kEye = Register<EyeParam>("_eye", "Number of columns; 0: as many as rows.");
[[maybe_unused]] const auto kNpiEye = Register<NpiEyeParam>("_npi_eye", "Number of columns; None: that of rows.");

struct IdentityParam {
  IntTuple shape;
  std::optional<DType> dtype;
};

Shape ShapeOf(const IdentityParam& p) { return Shape(p.shape); }

[[maybe_unused]] const auto kIdentity =
    Register<IdentityParam>("_npi_identity", "The square matrix with ones on its diagonal.",
                            ParamSchema<IdentityParam>()
                                .Required("shape", &IdentityParam::shape, "(N, N).")
                                .Ignored("ctx")
                                .Optional("dtype", &IdentityParam::dtype, "Dtype of the output; None: float32."),
                            [](IdentityParam& p) {
                              ValidateSizes(p.shape);
                              if (p.shape.size() != 2 || p.shape[0] != p.shape[1]) {
                                Throw<GraphError>("attribute shape: expected (N, N), got {}",
                                                  Quotable(PrintAttr(p.shape)));
                              }
                            })
        .Set(ConstantRange({0, 1, true}))
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray>, std::span<NDArray> out) { OnDiagonal(0, out[0]); }});

}  // namespace
}  // namespace amp::fill
