// Random numbers: _random_uniform and its kin, those with `_like`, and _sample_uniform and its kin.
#include "ops/common/distributions.h"
#include "ops/common/number_range.h"
#include "ops/common/rules.h"
#include "ops/random/draw.h"
#include "passes/gradient/gradient_rule.h"

namespace amp::random_numbers {
namespace {

struct Parameter {
  const char* number;  // its name where it is one
  const char* array;   // where it is an array
  const char* doc;
  NumberRange range = {};
};

struct Family {
  const char* distribution;
  const char* doc;
  std::vector<Parameter> parameters;
};

// The family of a distribution, by its name.
const Family& FamilyOf(const std::string& distribution) {
  static const std::vector<Family> kAll{
      {"uniform", "Uniform numbers from [low, high)", {{"low", "low", "The lower end."}, {"high", "high", "The end."}}},
      {"normal",
       "Normally distributed numbers",
       {{"loc", "mu", "The mean."}, {"scale", "sigma", "The standard deviation.", kPositive}}},
      {"gamma",
       "Gamma distributed numbers",
       {{"alpha", "alpha", "The shape.", kPositive}, {"beta", "beta", "The scale.", kPositive}}},
      {"exponential", "Exponentially distributed numbers", {{"lam", "lam", "The rate: 1 / mean.", kPositive}}},
      {"poisson", "Poisson distributed counts", {{"lam", "lam", "The mean.", kNotNegative}}},
      {"negative_binomial",
       "Counts of failures before the limit",
       {{"k", "k", "The limit: so many successes.", kNotNegative},
        {"p", "p", "The probability of a success.", {0, 1, true}}}},
      {"generalized_negative_binomial",
       "Poisson distributed counts whose mean is gamma distributed",
       {{"mu", "mu", "The mean.", kNotNegative}, {"alpha", "alpha", "The dispersion.", kNotNegative}}},
  };
  for (const Family& family : kAll) {
    if (family.distribution == distribution) return family;
  }
  Throw<InternalError>("there are no operators for the distribution {}", distribution);
}

// Families differ in the default of their first parameter.
template <int kFirst>
struct NumbersParam {
  double first = kFirst, second = 1;
  IntTuple shape;
  std::optional<DType> dtype;
};

// ---- what they refuse ----

template <class P>
std::function<void(P&)> ValidateNumbers(const Family& family) {
  return [&family](P& p) {
    const double values[] = {p.first, p.second};
    for (std::size_t i = 0; i < family.parameters.size(); ++i) {
      RequireWithin(family.parameters[i].number, family.parameters[i].range, values[i]);
    }
    if (RequireDistribution(family.distribution).is_below_second && !(p.first <= p.second)) {
      Throw<GraphError>("low {} is above high {}", p.first, p.second);
    }
    RequireSizes(p.shape);
    RequireFloat(p.dtype.value_or(DType::kFloat32));
  };
}

// ---- attributes ----

template <class P>
ParamSchema<P> SchemaOfNumbers(const Family& family) {
  ParamSchema<P> schema;
  double P::*const members[] = {&P::first, &P::second};
  for (std::size_t i = 0; i < family.parameters.size(); ++i) {
    schema.Optional(family.parameters[i].number, members[i], family.parameters[i].doc);
  }
  return schema;
}

template <class P>
ParamSchema<P> WithType(ParamSchema<P> schema, const char* shape) {
  return schema.Optional("shape", &P::shape, shape)
      .Ignored("ctx")
      .Optional("dtype", &P::dtype, "A float dtype of the output; None: float32.");
}

template <class P>
AttrMap NumbersAttrs(const Family& family, const P& p) {
  return {{"distribution", family.distribution}, {"first", PrintAttr(p.first)}, {"second", PrintAttr(p.second)}};
}

template <class P>
AttrMap TypeAttrs(const P& p) {
  return {{"shape", PrintAttr(p.shape)}, {"dtype", PrintAttr(p.dtype.value_or(DType::kFloat32))}};
}

// ---- definitions ----

// `aliases` are words.
template <int kFirst>
bool RegisterRandom(const char* name, const char* aliases, const char* distribution) {
  using P = NumbersParam<kFirst>;
  const Family& family = FamilyOf(distribution);
  auto op = RegisterOp<P>(name);
  AddAliases(op, aliases);
  SetSampleShape(op);
  SetDrawing<P>(op, "_draw",
                [&family](const P& p) {
                  AttrMap attrs = NumbersAttrs(family, p);
                  attrs.merge(TypeAttrs(p));
                  return attrs;
                })
      .Doc(std::string(family.doc) + ".")
      .Params(WithType(SchemaOfNumbers<P>(family), "Shape of the output; () or sizes of 0: that of what reads it."),
              ValidateNumbers<P>(family))
      .Inputs(std::vector<std::string>{})
      .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<P>().dtype.value_or(DType::kFloat32)); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(ZeroGradient{"it has no inputs"});
  return true;
}

template <int kFirst>
bool RegisterLike(const char* name, const char* distribution) {
  using P = NumbersParam<kFirst>;
  const Family& family = FamilyOf(distribution);
  auto op = RegisterOp<P>(name);
  SetDrawing<P>(op, "_draw_like", [&family](const P& p) { return NumbersAttrs(family, p); })
      .Doc(std::string(family.doc) + ", of the shape and the dtype of data.")
      .Params(SchemaOfNumbers<P>(family), ValidateNumbers<P>(family))
      .Inputs({"data"})
      .Set(SameShape())
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(ZeroGradient{"it depends on the shape alone"});
  return true;
}

bool RegisterSample(const char* name, const char* distribution) {
  using P = NumbersParam<0>;
  const Family& family = FamilyOf(distribution);
  std::vector<std::string> inputs;
  for (const Parameter& parameter : family.parameters) inputs.emplace_back(parameter.array);
  const auto count = static_cast<int>(inputs.size());
  auto op = RegisterOp<P>(name);
  SetDrawing<P>(op, "_draw_each",
                [&family](const P& p) {
                  AttrMap attrs = TypeAttrs(p);
                  attrs["distribution"] = family.distribution;
                  return attrs;
                })
      .Alias(name + 1)
      .Doc(std::string(family.doc) + ": `shape` for each element of the parameters, whose shape leads.")
      .Params(WithType(ParamSchema<P>(), "Shape of what is drawn for each element of the parameters."),
              [](P& p) {
                RequireSizes(p.shape, 0);
                RequireFloat(p.dtype.value_or(DType::kFloat32));
              })
      .Inputs(std::move(inputs))
      .Set(ShapeRule{[count](ShapeRelation& r) { InferEach(r, count, r.node().params<P>().shape); }})
      .Set(DTypeRule{
          [count](DTypeRelation& r) { InferEach(r, count, r.node().params<P>().dtype.value_or(DType::kFloat32)); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(ZeroGradient{"as in MXNet"});
  return true;
}

[[maybe_unused]] const bool kAll[] = {
    RegisterRandom<0>("_random_uniform", "random_uniform uniform", "uniform"),
    RegisterRandom<0>("_random_normal", "random_normal normal", "normal"),
    RegisterRandom<1>("_random_gamma", "random_gamma", "gamma"),
    RegisterRandom<1>("_random_exponential", "random_exponential exponential", "exponential"),
    RegisterRandom<1>("_random_poisson", "random_poisson poisson _npx_scalar_poisson", "poisson"),
    RegisterRandom<1>("_random_negative_binomial", "random_negative_binomial negative_binomial", "negative_binomial"),
    RegisterRandom<1>("_random_generalized_negative_binomial",
                      "random_generalized_negative_binomial generalized_negative_binomial",
                      "generalized_negative_binomial"),
    RegisterLike<0>("_random_uniform_like", "uniform"),
    RegisterLike<0>("_random_normal_like", "normal"),
    RegisterLike<1>("_random_gamma_like", "gamma"),
    RegisterLike<1>("_random_exponential_like", "exponential"),
    RegisterLike<1>("_random_poisson_like", "poisson"),
    RegisterLike<1>("_random_negative_binomial_like", "negative_binomial"),
    RegisterLike<1>("_random_generalized_negative_binomial_like", "generalized_negative_binomial"),
    RegisterSample("_sample_uniform", "uniform"),
    RegisterSample("_sample_normal", "normal"),
    RegisterSample("_sample_gamma", "gamma"),
    RegisterSample("_sample_exponential", "exponential"),
    RegisterSample("_sample_poisson", "poisson"),
    RegisterSample("_sample_negative_binomial", "negative_binomial"),
    RegisterSample("_sample_generalized_negative_binomial", "generalized_negative_binomial"),
};

}  // namespace
}  // namespace amp::random_numbers
