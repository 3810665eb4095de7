// Arrays from nothing: _zeros, _ones, _arange.
#include <algorithm>
#include <cmath>

#include "ops/common/index_maps.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/open_shape.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::create {
namespace {

constexpr double kMaxElements = 1e12;

struct FillParam {
  IntTuple shape;
  DType dtype = DType::kFloat32;
};

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  std::int64_t value;
};

constexpr Row kRows[] = {
    {"_zeros", "_npi_zeros", "An array of zeros.", 0},
    {"_ones", "_npi_ones", "An array of ones.", 1},
};

[[maybe_unused]] const bool kFills = [] {
  for (const Row& row : kRows) {
    auto op = RegisterOp<FillParam>(row.name);
    AddAliases(op, row.aliases);
    op.Doc(row.doc)
        .Params(ParamSchema<FillParam>()
                    .Optional("shape", &FillParam::shape,
                              "Shape of the output; -1: a size that follows from what reads it.")
                    .Ignored("ctx")
                    .Optional("dtype", &FillParam::dtype, "Dtype of the output."),
                [](FillParam& p) { RequireSizes(p.shape); })
        .Inputs(std::vector<std::string>{})
        .Set(ShapeRule{[](ShapeRelation& r) { r.Out(0, OpenShape(r.node().params<FillParam>().shape)); }})
        .Set(ShapeDefault{[](const Node& node) { return ClosedShape(node, node.params<FillParam>().shape); }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<FillParam>().dtype); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ConstantRange(ValueRange::Of(static_cast<double>(row.value))))
        .Set(ReferenceKernel{[&row](const Node&, std::span<const NDArray>, std::span<NDArray> out) {
          Store(std::vector<std::int64_t>(static_cast<std::size_t>(out[0].size()), row.value), out[0]);
        }})
        .Set(KernelRule{[&row](LowerContext& c) {
          return LowerToFill(c, BytesOfOne(c.out_type(0).dtype, static_cast<double>(row.value)));
        }});
  }
  return true;
}();

struct ArangeParam {
  double start = 0;
  std::optional<double> stop;
  double step = 1;
  std::int64_t repeat = 1;
  bool infer_range = false;
  DType dtype = DType::kFloat32;
};

// Whether there are as many values as what reads them has.
bool HasOpenEnd(const ArangeParam& p) { return p.infer_range && !p.stop; }

// arange(n) counts from 0 to n.
double First(const ArangeParam& p) { return p.stop || p.infer_range ? p.start : 0; }
// Arrays of integers count in integers: the first value and the step are truncated, the number of values is not
// changed.
double InDType(const ArangeParam& p, double value) { return IsFloat(p.dtype) ? value : std::trunc(value); }

double Count(const ArangeParam& p) {
  return std::max(0.0, std::ceil((p.stop.value_or(p.start) - First(p)) / p.step)) * static_cast<double>(p.repeat);
}

void ValidateArange(ArangeParam& p) {
  if (HasOpenEnd(p) && p.step != 0) return;
  const double count = p.step == 0 ? NAN : Count(p);
  if (!(count <= kMaxElements)) {
    Throw<GraphError>("start {}, stop {} and step {} give no array", p.start, p.stop.value_or(p.start), p.step);
  }
}

[[maybe_unused]] const auto kArange =
    RegisterOp<ArangeParam>("_arange")
        .Alias("_npi_arange")
        .Doc("start, start + step, ... below stop; below start, from 0, where there is no stop.")
        .Params(ParamSchema<ArangeParam>()
                    .Optional("start", &ArangeParam::start, "The first value.")
                    .Optional("stop", &ArangeParam::stop, "What the values stay below (above, for negative steps).")
                    .Optional("step", &ArangeParam::step, "The difference of neighbours; not 0.")
                    .Optional("repeat", &ArangeParam::repeat, "Each value occurs this often.")
                    .Range(1, 1 << 30)
                    .Optional("infer_range", &ArangeParam::infer_range,
                              "Without `stop`: as many values as what reads them has.")
                    .Ignored("ctx")
                    .Optional("dtype", &ArangeParam::dtype, "Dtype of the output."),
                ValidateArange)
        .Inputs(std::vector<std::string>{})
        .Set(ShapeRule{[](ShapeRelation& r) {
          const auto& p = r.node().params<ArangeParam>();
          r.Out(0, Shape{HasOpenEnd(p) ? kUnknownDim : static_cast<std::int64_t>(Count(p))});
        }})
        .Set(ShapeDefault{[](const Node& node) {
          const auto& p = node.params<ArangeParam>();
          return HasOpenEnd(p) ? ClosedShape(node, {-1}) : Shape{static_cast<std::int64_t>(Count(p))};
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<ArangeParam>().dtype); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto& p = q.node.params<ArangeParam>();
          const double count = HasOpenEnd(p) ? kMaxElements : Count(p);
          const double steps = std::max(0.0, count / static_cast<double>(p.repeat) - 1);
          return Steps(InDType(p, First(p)), InDType(p, p.step), steps);
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
          const auto& p = node.params<ArangeParam>();
          const double first = InDType(p, First(p));
          const double step = InDType(p, p.step);
          std::vector<double> values(out[0].size());
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = first + step * static_cast<double>(static_cast<std::int64_t>(i) / p.repeat);
          }
          if (IsFloat(out[0].dtype())) return Store(values, out[0]);
          Store(std::vector<std::int64_t>(values.begin(), values.end()), out[0]);  // they wrap around
        }})
        .Set(ValuesOfReference());

}  // namespace
}  // namespace amp::create
