// Positions of extremes: argmax, argmin. Of equal elements the first counts.
#include <algorithm>

#include "kernels/reduce/extreme_positions.h"
#include "ops/reduce/lines.h"
#include "passes/gradient/gradient_rule.h"
#include "program/kernel_types.h"
#include "program/lower_context.h"
#include "program/reference.h"

namespace amp::argmax {
namespace {

struct ArgParam {
  std::optional<std::int64_t> axis;
  bool keepdims = false;
};

// `numpy`: positions are int64, and arrays of rank 0 exist.
void InferArg(bool numpy, ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const auto& p = r.node().params<ArgParam>();
  const Shape& data = r.in(0);
  if (LinesOf(r.node(), p.axis, data).size == 0) FailAt(r.node(), "data of shape {} has no extremes", data.ToString());
  std::vector<std::int64_t> dims;
  const int axis = p.axis ? RequireAxis(r.node(), *p.axis, data) : -1;
  for (int i = 0; i < data.rank(); ++i) {
    const bool reduced = axis < 0 || i == axis;
    if (!reduced) dims.push_back(data[i]);
    if (reduced && p.keepdims) dims.push_back(1);
  }
  if (dims.empty() && !numpy) dims.push_back(1);  // as for the reductions
  r.Out(0, Shape(dims));
}

void ArgReference(const Lines& lines, bool largest, const NDArray& in, NDArray& out) {
  std::vector<std::int64_t> y(lines.count());
  ForEachLine(in, lines, [&](std::int64_t line, const auto& values) {
    // The first NaN is the extreme.
    const auto is_less = [largest](auto a, auto b) { return (largest ? a < b : b < a) || (b != b && a == a); };
    y[line] = std::max_element(values.begin(), values.end(), is_less) - values.begin();
  });
  Store(y, out);
}

bool LowerArg(LowerContext& c, const Lines& lines, bool largest) {
  const DType dtype = c.in_type(0).dtype;
  const ValueId data = c.Cast(c.in(0), IsLowPrecision(dtype) ? DType::kFloat32 : dtype);
  const kernels::ExtremePositions work{KernelType(c.DTypeOf(data)), lines.outer, lines.size, lines.inner, largest};
  if (!kernels::ExtremePositions::IsType(work.type) || work.size > kernels::ExtremePositions::kMaxSize) return false;
  const auto run = [work](const KernelOperands& operands) {
    work.Run(operands.input(0), static_cast<std::int64_t*>(operands.output()));
  };
  const ValueId positions = c.Emit(KernelSpec{"extreme_positions", run}, {data}, {DType::kInt64, c.out_type(0).shape});
  c.SetOut(0, c.Cast(positions, c.out_type(0).dtype));
  return true;
}

DTypeRule PositionDType(bool numpy) {
  if (!numpy) return SameDType();
  return {[](DTypeRelation& r) { r.Out(0, DType::kInt64); }};
}

OpDefinition<ArgParam> Register(const char* name, const char* doc, bool largest, bool numpy = false) {
  return RegisterOp<ArgParam>(name)
      .Doc(doc)
      .Params(ParamSchema<ArgParam>()
                  .Optional("axis", &ArgParam::axis, "The axis; None: the data is flattened.")
                  .Optional("keepdims", &ArgParam::keepdims, "The axis stays, with size 1."))
      .Inputs({"data"})
      .Set(ShapeRule{[numpy](ShapeRelation& r) { InferArg(numpy, r); }})
      .Set(PositionDType(numpy))
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
      .Set(PositionsOf<ArgParam>())
      .Set(Compares())
      .Set(ZeroGradient{"it gives positions"})
      .Set(ReferenceKernel{[largest](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        ArgReference(LinesOf(node, node.params<ArgParam>().axis, in[0].shape()), largest, in[0], out[0]);
      }})
      .Set(KernelRule{[largest](LowerContext& c) {
        return LowerArg(c, LinesOf(c.node(), c.node().params<ArgParam>().axis, c.in_type(0).shape), largest);
      }});
}

[[maybe_unused]] const auto kArgMax =
    Register("argmax", "The first position of the largest element, in the data's dtype.", true);
[[maybe_unused]] const auto kArgMin =
    Register("argmin", "The first position of the smallest element, in the data's dtype.", false);

[[maybe_unused]] const auto kNumpyArgMax =
    Register("_npi_argmax", "The first position of the largest element, int64.", true, true);
[[maybe_unused]] const auto kNumpyArgMin =
    Register("_npi_argmin", "The first position of the smallest element, int64.", false, true);

Lines Channels(const Node& node, const Shape& data) { return LinesOf(node, 1, data); }

[[maybe_unused]] const auto kArgMaxChannel =
    RegisterOp<NoParam>("argmax_channel")
        .Doc("The first position of the largest element along axis 1, in the data's dtype.")
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          if (Channels(r.node(), r.in(0)).size == 0) {
            FailAt(r.node(), "data of shape {} has no extremes", r.in(0).ToString());
          }
          std::vector<std::int64_t> dims = r.in(0).dims();
          dims.erase(dims.begin() + 1);
          r.Out(0, Shape(dims));
        }})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(RangeRule{[](const RangeQuery& q, int) { return Positions(q, 1); }})
        .Set(Compares())
        .Set(ZeroGradient{"it gives positions"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          ArgReference(Channels(node, in[0].shape()), true, in[0], out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) { return LowerArg(c, Channels(c.node(), c.in_type(0).shape), true); }});

}  // namespace
}  // namespace amp::argmax
