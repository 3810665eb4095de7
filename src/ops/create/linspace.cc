// Numbers at equal distances: _linspace, _npi_linspace, _npi_logspace.
#include <algorithm>
#include <cmath>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::linspace {
namespace {

constexpr double kMaxNumbers = std::int64_t{1} << 40;

struct Interval {
  double start, stop;
};

std::vector<double> Spaced(const Interval& interval, std::int64_t num, bool endpoint) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, endpoint ? num - 1 : num));
  std::vector<double> values(num);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = interval.start + (interval.stop - interval.start) / steps * static_cast<double>(i);
  }
  if (endpoint && num > 1) values.back() = interval.stop;
  return values;
}

// Fields that all three have; ValuesOf tells them apart.
template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema,
                         std::function<void(P&)> validate = nullptr) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema.Required("num", &P::num, "How many numbers.")
                            .Range(0, kMaxNumbers)
                            .Optional("endpoint", &P::endpoint, "The last number is stop; else the one behind it.")
                            .Ignored("ctx")
                            .Optional("dtype", &P::dtype, "Dtype of the output; None: float32.")),
              std::move(validate))
      .Inputs(std::vector<std::string>{})
      .Set(ShapeRule{[](ShapeRelation& r) { r.Out(0, Shape{r.node().params<P>().num}); }})
      .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<P>().dtype.value_or(DType::kFloat32)); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
      .Set(RangeRule{[](const RangeQuery& q, int) { return RangeOf(q.node.params<P>()); }})
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
        Store(ValuesOf(node.params<P>()), out[0]);
      }})
      .Set(ValuesOfReference());
}

// The numbers lie between the first and the last one.
ValueRange Ends(const Interval& interval) {
  return ValueRange::Between(std::min(interval.start, interval.stop), std::max(interval.start, interval.stop));
}

struct LinspaceParam {
  double start = 0, stop = 0;
  std::int64_t num = 0;
  bool endpoint = true;
  std::optional<DType> dtype = DType::kFloat32;
};

std::vector<double> ValuesOf(const LinspaceParam& p) { return Spaced({p.start, p.stop}, p.num, p.endpoint); }
ValueRange RangeOf(const LinspaceParam& p) { return Ends({p.start, p.stop}); }

[[maybe_unused]] const auto kLinspace =
    Register<LinspaceParam>("_linspace", "`num` numbers at equal distances from start to stop.",
                            ParamSchema<LinspaceParam>()
                                .Required("start", &LinspaceParam::start, "The first number.")
                                .Required("stop", &LinspaceParam::stop, "The last number."));

// MXNet 1.x writes start and stop, 2.0 three of each and which of them count.
struct NpiLinspaceParam {
  std::optional<double> start, stop, start_int, stop_int, start_uint, stop_uint, start_double, stop_double;
  std::int64_t value_type = 0;
  std::int64_t num = 0;
  bool endpoint = true;
  std::optional<DType> dtype;
};

std::optional<Interval> IntervalOf(const NpiLinspaceParam& p) {
  const auto both = [](std::optional<double> start, std::optional<double> stop) -> std::optional<Interval> {
    if (!start || !stop) return std::nullopt;
    return Interval{*start, *stop};
  };
  if (p.start || p.stop) return both(p.start, p.stop);
  if (p.value_type == 0) return both(p.start_int, p.stop_int);
  return p.value_type == 1 ? both(p.start_uint, p.stop_uint) : both(p.start_double, p.stop_double);
}

std::vector<double> ValuesOf(const NpiLinspaceParam& p) { return Spaced(*IntervalOf(p), p.num, p.endpoint); }
ValueRange RangeOf(const NpiLinspaceParam& p) { return Ends(*IntervalOf(p)); }

[[maybe_unused]] const auto kNpiLinspace = Register<NpiLinspaceParam>(
    "_npi_linspace", "`num` numbers at equal distances from start to stop.",
    ParamSchema<NpiLinspaceParam>()
        .Optional("start", &NpiLinspaceParam::start, "The first number, as MXNet 1.x spells it.")
        .Optional("stop", &NpiLinspaceParam::stop, "The last number, as MXNet 1.x spells it.")
        .Optional("start_int", &NpiLinspaceParam::start_int, "The first number, where value_type is 0.")
        .Optional("stop_int", &NpiLinspaceParam::stop_int, "The last number, where value_type is 0.")
        .Optional("start_uint", &NpiLinspaceParam::start_uint, "The first number, where value_type is 1.")
        .Optional("stop_uint", &NpiLinspaceParam::stop_uint, "The last number, where value_type is 1.")
        .Optional("start_double", &NpiLinspaceParam::start_double, "The first number, where value_type is 2.")
        .Optional("stop_double", &NpiLinspaceParam::stop_double, "The last number, where value_type is 2.")
        .Optional("value_type", &NpiLinspaceParam::value_type, "Which of the pairs counts.")
        .Range(0, 2),
    [](NpiLinspaceParam& p) {
      if (!IntervalOf(p)) Throw<GraphError>("start and stop for value_type {} are not both given", p.value_type);
    });

struct LogspaceParam {
  double start = 0, stop = 0, base = 10;
  std::int64_t num = 0;
  bool endpoint = true;
  std::optional<DType> dtype;
};

std::vector<double> ValuesOf(const LogspaceParam& p) {
  std::vector<double> values = Spaced({p.start, p.stop}, p.num, p.endpoint);
  for (double& value : values) value = std::pow(p.base, value);
  return values;
}

ValueRange RangeOf(const LogspaceParam& p) { return PowerOf(ValueRange::Of(p.base), Ends({p.start, p.stop})); }

[[maybe_unused]] const auto kLogspace =
    Register<LogspaceParam>("_npi_logspace", "Powers of `base` with exponents at equal distances from start to stop.",
                            ParamSchema<LogspaceParam>()
                                .Required("start", &LogspaceParam::start, "The first exponent.")
                                .Required("stop", &LogspaceParam::stop, "The last exponent.")
                                .Optional("base", &LogspaceParam::base, "The base."));

}  // namespace
}  // namespace amp::linspace
