// Random numbers under NumPy's names and with its parameters: _npi_normal and its kin, _npi_bernoulli.
#include "ops/common/distributions.h"
#include "ops/common/number_range.h"
#include "ops/common/rules.h"
#include "ops/random/draw.h"
#include "ops/random/draw_broadcast.h"
#include "passes/gradient/gradient_rule.h"

namespace amp::random_numpy {
namespace {

struct Parameter {
  const char* name;
  const char* doc;
  NumberRange range = {};
};

enum class Size { kWhole, kLeads };
enum class Type { kFloat32, kAnyFloat };

struct Family {
  const char* name;
  const char* distribution;
  const char* doc;
  std::vector<Parameter> parameters;
  Type type;
  Size size = Size::kWhole;
  bool is_one = false;  // the parameter, where nothing is said
};

// ---- what all have in common ----

template <class P>
void RequireSize(const P& p) {
  if (p.size) RequireSizes(*p.size, 0, "size");
}

template <class P>
AttrMap FormAttrs(const P& p) {
  return {{"distribution", p.distribution}, {"first", PrintAttr(p.first)}, {"second", PrintAttr(p.second)},
          {"size", PrintAttr(p.size)},      {"dtype", PrintAttr(p.dtype)}, {"size_leads", PrintAttr(p.size_leads)}};
}

template <class P>
OpDefinition<P>& Complete(OpDefinition<P>& op, int num_parameters) {
  return SetDrawing<P>(op, "_draw_broadcast", FormAttrs<P>)
      .Inputs([num_parameters](const P& p) {
        std::vector<std::string> names{"input1", "input2"};
        names.resize(static_cast<std::size_t>(NumArrays(p, num_parameters)));
        return names;
      })
      .Set(ShapeRule{[](ShapeRelation& r) { InferBroadcastDraw<P>(r, r.num_inputs()); }})
      .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<P>().dtype); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(NoGradient{"where it runs it has another form"});
}

// ---- families ----

const std::vector<Parameter> kLocation{{"loc", "The location."}, {"scale", "The scale.", kNotNegative}};
const std::vector<Parameter> kEnds{{"low", "The lower end."}, {"high", "The end."}};
const std::vector<Parameter> kGamma{{"shape", "The shape.", kPositive}, {"scale", "The scale.", kPositive}};
const std::vector<Parameter> kScale{{"scale", "The scale.", kNotNegative}};
const std::vector<Parameter> kShape{{"a", "The shape.", kPositive}};

const Family kRows[] = {
    {"_npi_normal", "normal", "Normally distributed numbers", kLocation, Type::kAnyFloat},
    {"_npi_normal_n", "normal", "Normally distributed numbers", kLocation, Type::kAnyFloat, Size::kLeads},
    {"_npi_uniform", "uniform", "Uniform numbers from [low, high)", kEnds, Type::kAnyFloat},
    {"_npi_uniform_n", "uniform", "Uniform numbers from [low, high)", kEnds, Type::kAnyFloat, Size::kLeads},
    {"_npi_gamma", "gamma", "Gamma distributed numbers", kGamma, Type::kAnyFloat},
    {"_npi_gumbel", "gumbel", "Numbers of Gumbel's distribution", kLocation, Type::kFloat32},
    {"_npi_logistic", "logistic", "Numbers of the logistic distribution", kLocation, Type::kFloat32},
    {"_npi_exponential", "scaled_exponential", "Exponentially distributed numbers", kScale, Type::kFloat32,
     Size::kWhole, true},
    {"_npi_rayleigh", "rayleigh", "Numbers of Rayleigh's distribution", kScale, Type::kFloat32, Size::kWhole, true},
    {"_npi_weibull", "weibull", "Numbers of Weibull's distribution of scale 1", kShape, Type::kFloat32},
    {"_npi_pareto", "pareto", "Numbers of Pareto's second distribution", kShape, Type::kFloat32},
    {"_npi_powerd", "power_function", "Numbers from [0, 1] with the density a * x^(a - 1)", kShape, Type::kFloat32},
};

// Where there are two parameters, both have to be given, be it as None.
template <class P>
ParamSchema<P> SchemaOf(const Family& row) {
  ParamSchema<P> schema;
  std::optional<double> P::*const members[] = {&P::first, &P::second};
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    const Parameter& parameter = row.parameters[i];
    const std::string doc = std::string(parameter.doc) + " None: an input.";
    if (row.parameters.size() == 2) {
      schema.Required(parameter.name, members[i], doc);
    } else {
      schema.Optional(parameter.name, members[i], doc);
    }
  }
  const char* size = row.size == Size::kLeads
                         ? "Shape of what is drawn for each element of the parameters, whose shape follows."
                         : "Shape of the output; None: that of the parameters.";
  schema.Optional("size", &P::size, size).Ignored("ctx");
  if (row.type == Type::kAnyFloat) schema.Optional("dtype", &P::dtype, "A float dtype of the output.");
  return schema;
}

template <class P>
std::function<void(P&)> ValidateNumbers(const Family& row) {
  return [&row](P& p) {
    p.distribution = row.distribution;
    p.size_leads = row.size == Size::kLeads;
    const std::optional<double> values[] = {p.first, p.second};
    for (std::size_t i = 0; i < row.parameters.size(); ++i) {
      if (values[i]) RequireWithin(row.parameters[i].name, row.parameters[i].range, *values[i]);
    }
    RequireSize(p);
    RequireFloat(p.dtype);
  };
}

template <class P>
void Register(const Family& row) {
  auto op = RegisterOp<P>(row.name);
  Complete(op, static_cast<int>(row.parameters.size()))
      .Doc(std::string(row.doc) + (row.size == Size::kLeads ? ": `size` for each element of the parameters." : "."))
      .Params(SchemaOf<P>(row), ValidateNumbers<P>(row));
}

// ---- zeros and ones ----

struct BernoulliParam : BroadcastDrawParam<false> {
  std::optional<double> prob, logit;
  bool is_logit = false;
};

void ValidateBernoulli(BernoulliParam& p) {
  p.distribution = p.is_logit ? "bernoulli_of_logit" : "bernoulli";
  p.first = p.is_logit ? p.logit : p.prob;
  if (!p.first && (p.prob || p.logit)) {
    Throw<GraphError>("is_logit {} asks for attribute {}, which is None", p.is_logit, p.is_logit ? "logit" : "prob");
  }
  if (p.first) RequireWithin(p.is_logit ? "logit" : "prob", p.is_logit ? NumberRange{} : NumberRange{0, 1}, *p.first);
  RequireSize(p);
}

void RegisterBernoulli() {
  using P = BernoulliParam;
  auto op = RegisterOp<P>("_npi_bernoulli");
  Complete(op, 1)
      .Doc("1 with the probability prob, or 1 / (1 + exp(-logit)), and else 0.")
      .Params(
          ParamSchema<P>()
              .Required("prob", &P::prob, "The probability. Where both are None: an input.")
              .Required("logit", &P::logit, "The logarithm of the odds.")
              .Optional<std::optional<IntTuple>>("size", &P::size, "Shape of the output; None: that of the parameter.")
              .Ignored("ctx")
              .Optional<DType>("dtype", &P::dtype, "Dtype of the output.")
              .Required("is_logit", &P::is_logit, "The parameter is the logarithm of the odds."),
          ValidateBernoulli);
}

[[maybe_unused]] const bool kAll = [] {
  for (const Family& row : kRows) {
    row.is_one ? Register<BroadcastDrawParam<true>>(row) : Register<BroadcastDrawParam<false>>(row);
  }
  RegisterBernoulli();
  return true;
}();

}  // namespace
}  // namespace amp::random_numpy
