// Questions about whole arrays: all_finite, multi_all_finite, _contrib_allclose.
#include <algorithm>
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "program/reference.h"

namespace amp::all_finite {
namespace {

bool IsFinite(const NDArray& array) {
  const std::vector<double> values = Numbers<double>(array);
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

void StoreAnswer(bool answer, NDArray& out) { Store(std::vector<double>{answer ? 1.0 : 0.0}, out); }

// What all of them state: an array of one element that says 1 or 0. Rounding before would change the answer.
template <class P>
OpDefinition<P> Question(OpDefinition<P> op) {
  return op.Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
      .Set(ConstantRange(ValueRange::Between(0, 1, true)))
      .Set(AllInputs(Sensitivity::kDiscontinuous))
      .Set(ZeroGradient{"it answers a question"});
}

ShapeRule OneElement() {
  return {[](ShapeRelation& r) { r.Out(0, Shape{1}); }};
}
DTypeRule AlwaysFloat32() {
  return {[](DTypeRelation& r) { r.Out(0, DType::kFloat32); }};
}

void FiniteReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  StoreAnswer(std::all_of(in.begin(), in.end(), IsFinite), out[0]);
}

[[maybe_unused]] const auto kAllFinite = Question(RegisterOp<NoParam>("all_finite")
                                                      .Alias("_npi_all_finite")
                                                      .Doc("1 where every element is finite, else 0; shape (1,).")
                                                      .Params(ParamSchema<NoParam>().Ignored("init_output"))
                                                      .Inputs({"data"}))
                                             .Set(OneElement())
                                             .Set(AlwaysFloat32())
                                             .Set(ReferenceKernel{FiniteReference});

struct ArraysParam {
  std::int64_t num_arrays = 1;
};

[[maybe_unused]] const auto kMultiAllFinite =
    Question(RegisterOp<ArraysParam>("multi_all_finite")
                 .Alias("_npi_multi_all_finite")
                 .Doc("1 where every element of every array is finite, else 0; shape (1,).")
                 .Params(ParamSchema<ArraysParam>()
                             .Optional("num_arrays", &ArraysParam::num_arrays, "Number of inputs.")
                             .Range(1, 1 << 20)
                             .Ignored("init_output"))
                 .Variadic("num_arrays")
                 .Inputs([](const ArraysParam& p) { return NumberedNames("array", p.num_arrays); }))
        .Set(OneElement())
        .Set(AlwaysFloat32())
        .Set(ReferenceKernel{FiniteReference});

struct CloseParam {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = true;
};

bool IsClose(const CloseParam& p, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return p.equal_nan && std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= p.atol + p.rtol * std::abs(b);
}

[[maybe_unused]] const auto kAllClose =
    Question(RegisterOp<CloseParam>("_contrib_allclose")
                 .Doc("1 where |a - b| <= atol + rtol |b| for all elements, else 0; shape ().")
                 .Params(ParamSchema<CloseParam>()
                             .Optional("rtol", &CloseParam::rtol, "Relative tolerance.")
                             .Optional("atol", &CloseParam::atol, "Absolute tolerance.")
                             .Optional("equal_nan", &CloseParam::equal_nan, "NaN is close to NaN."))
                 .Inputs({"a", "b"}))
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(1, r.in(0));
          r.In(0, r.in(1));
          r.Out(0, Shape(std::vector<std::int64_t>{}));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0, 1}, {});
          r.Out(0, DType::kUInt8);
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<CloseParam>();
          const std::vector<double> a = Numbers<double>(in[0]), b = Numbers<double>(in[1]);
          const auto is_close = [&p](double x, double y) { return IsClose(p, x, y); };
          StoreAnswer(std::equal(a.begin(), a.end(), b.begin(), is_close), out[0]);
        }});

}  // namespace
}  // namespace amp::all_finite
