// Operators that draw random numbers, and the forms in which they run. Backends draw the same bits.
#include "draw.h"
#include "nnvm/dtype.h"

namespace amp::testing {
namespace {

OpCase SameBits(AttrMap attrs, std::vector<InputCase> inputs) {
  return {std::move(attrs), std::move(inputs), {}, Truth::kSameBits};
}

void MaybeType(Random& random, AttrMap* attrs) {
  Maybe(random, attrs, "shape", PrintAttr(Tuple(random, static_cast<int>(random.Int(1, 3)), 0, 9)));
  Maybe(random, attrs, "dtype", NameOf(random.Of(FloatTypes())));
}

// A parameter of a distribution, and legal values.
struct Parameter {
  const char* name;
  double low, high;
};

struct Family {
  std::string distribution;
  std::vector<Parameter> parameters;
};

const std::vector<Family>& Families() {
  static const std::vector<Family> families{
      {"exponential", {{"lam", 0.1, 3}}},
      {"gamma", {{"alpha", 0.1, 3}, {"beta", 0.1, 3}}},
      {"generalized_negative_binomial", {{"mu", 0, 20}, {"alpha", 0, 3}}},
      {"negative_binomial", {{"k", 1, 9}, {"p", 0.1, 1}}},
      {"normal", {{"loc", -3, 3}, {"scale", 0.1, 3}}},
      {"poisson", {{"lam", 0, 20}}},
      {"uniform", {{"low", -3, 0}, {"high", 0, 3}}},
  };
  return families;
}

AttrMap NumbersOf(Random& random, const Family& family) {
  AttrMap attrs;
  for (const Parameter& p : family.parameters) Maybe(random, &attrs, p.name, PrintAttr(random.Real(p.low, p.high)));
  return attrs;
}

InputCase Data(Random& random) {
  return {{random.Type(FloatTypes()), random.Sizes(static_cast<int>(random.Int(1, 3)), 9)}};
}

std::vector<InputCase> Parameters(Random& random, std::size_t count) {
  InputCase parameter = Data(random);
  parameter.values = Values::kFractions;
  return std::vector<InputCase>(count, parameter);
}

// What a form reads beside the inputs.
InputCase Key() { return {{DType::kInt64, Shape{2}}}; }

AttrMap Form(Random& random, const Family& family) {
  AttrMap attrs{{"distribution", family.distribution}};
  Maybe(random, &attrs, "stream", PrintAttr(random.Int(0, 100)));
  return attrs;
}

AttrMap FormOfNumbers(Random& random, const Family& family) {
  AttrMap attrs = Form(random, family);
  Maybe(random, &attrs, "first", PrintAttr(random.Real(0.1, 0.5)));
  Maybe(random, &attrs, "second", PrintAttr(random.Real(0.5, 1)));
  return attrs;
}

OpCase DrawNumbers(Random& random) {
  AttrMap attrs = FormOfNumbers(random, random.Of(Families()));
  MaybeType(random, &attrs);
  return SameBits(std::move(attrs), {Key()});
}

OpCase DrawEach(Random& random) {
  const Family& family = random.Of(Families());
  AttrMap attrs = Form(random, family);
  MaybeType(random, &attrs);
  std::vector<InputCase> inputs = Parameters(random, family.parameters.size());
  inputs.push_back(Key());
  return SameBits(std::move(attrs), std::move(inputs));
}

OpCase DrawLike(Random& random) {
  AttrMap attrs = FormOfNumbers(random, random.Of(Families()));
  return SameBits(std::move(attrs), {Data(random), Key()});
}

OpCase DrawIntegers(Random& random) {
  const std::int64_t low = random.Int(-100, 100);
  AttrMap attrs{{"low", PrintAttr(low)}, {"high", PrintAttr(low + random.Int(1, 100))}};
  Maybe(random, &attrs, "shape", PrintAttr(Tuple(random, static_cast<int>(random.Int(1, 3)), 0, 9)));
  Maybe(random, &attrs, "dtype", random.Of({"int32", "int64", "None"}));
  return SameBits(std::move(attrs), {});
}

OpCase DrawClasses(Random& random) {
  AttrMap attrs;
  Maybe(random, &attrs, "shape", PrintAttr(Tuple(random, static_cast<int>(random.Int(0, 2)), 0, 5)));
  Maybe(random, &attrs, "get_prob", Flag(random));
  Maybe(random, &attrs, "dtype", random.Of({"int32", "uint8", "float32", "float64"}));
  InputCase data = Data(random);
  data.type.shape[data.type.shape.rank() - 1] = random.Int(1, 6);
  data.values = Values::kFractions;
  return SameBits(std::move(attrs), {data});
}

OpCase DrawClassGradients(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t rows = random.Int(1, 4), classes = random.Int(1, 5), drawn = random.Int(0, 6);
  const InputCase gradient{{dtype, Shape{rows, drawn}}}, data{{dtype, Shape{rows, classes}}, Values::kFractions};
  return {{}, {gradient, data, {{DType::kInt32, Shape{rows, drawn}}, Values::kLengths}}, {8, 8, 0}};
}

OpCase DrawChoice(Random& random) {
  const std::int64_t end = random.Int(1, 12);
  const bool is_array = random.Chance(0.4), weighted = random.Chance(0.5), replace = random.Chance(0.5);
  AttrMap attrs{{"a", is_array ? "None" : PrintAttr(end)}, {"weighted", PrintAttr(weighted)}};
  attrs["replace"] = PrintAttr(replace);
  Maybe(random, &attrs, "size", PrintAttr(replace ? Tuple(random, 2, 0, 9) : IntTuple{random.Int(0, end)}));
  std::vector<InputCase> inputs;
  if (is_array) inputs.push_back({{random.Type(AllTypes()), Shape{end}}});
  if (weighted) inputs.push_back({{random.Type(FloatTypes()), Shape{end}}, Values::kFractions});
  return SameBits(std::move(attrs), std::move(inputs));
}

OpCase DrawShuffle(Random& random) {
  return SameBits({}, {{{random.Type(AllTypes()), random.Sizes(static_cast<int>(random.Int(1, 3)), 9)}}});
}

// ---- parameters as NumPy has them ----

struct BroadcastFamily {
  std::string op;  // or the name of a distribution
  std::vector<Parameter> parameters;
  bool has_type = false, size_leads = false;
};

const std::vector<Parameter>& LocationAndScale() {
  static const std::vector<Parameter> parameters{{"loc", -3, 3}, {"scale", 0, 3}};
  return parameters;
}

const std::vector<BroadcastFamily>& BroadcastFamilies() {
  static const std::vector<BroadcastFamily> families{
      {"_npi_exponential", {{"scale", 0, 3}}},
      {"_npi_gamma", {{"shape", 0.1, 3}, {"scale", 0.1, 3}}, true},
      {"_npi_gumbel", LocationAndScale()},
      {"_npi_logistic", LocationAndScale()},
      {"_npi_normal", LocationAndScale(), true},
      {"_npi_normal_n", LocationAndScale(), true, true},
      {"_npi_pareto", {{"a", 0.1, 3}}},
      {"_npi_powerd", {{"a", 0.1, 3}}},
      {"_npi_rayleigh", {{"scale", 0, 3}}},
      {"_npi_uniform", {{"low", -3, 3}, {"high", -3, 3}}, true},
      {"_npi_uniform_n", {{"low", -3, 3}, {"high", -3, 3}}, true, true},
      {"_npi_weibull", {{"a", 0.1, 3}}},
  };
  return families;
}

// Some sizes become 1, and leading axes go.
Shape Broadcastable(Random& random, const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  for (std::int64_t& size : dims) size = random.Chance(0.3) ? 1 : size;
  dims.erase(dims.begin(), dims.begin() + random.Int(0, std::ssize(dims)));
  return Shape(dims);
}

// Each parameter is a number or an array.
OpCase DrawBroadcastNumbers(Random& random, const BroadcastFamily& family) {
  AttrMap attrs;
  std::vector<InputCase> inputs;
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 3)), 9);
  for (const Parameter& p : family.parameters) {
    const bool is_array = random.Chance(0.5);
    attrs[p.name] = is_array ? "None" : PrintAttr(random.Real(p.low, p.high));
    const DType dtype = random.Type(random.Chance(0.7) ? FloatTypes() : AllTypes());
    if (is_array) inputs.push_back({{dtype, Broadcastable(random, shape)}, Values::kFractions});
  }
  const IntTuple size = family.size_leads ? Tuple(random, static_cast<int>(random.Int(0, 2)), 0, 5) : shape.dims();
  Maybe(random, &attrs, "size", random.Chance(0.2) && inputs.empty() ? "()" : PrintAttr(size));
  if (family.has_type) Maybe(random, &attrs, "dtype", NameOf(random.Type(FloatTypes())));
  return SameBits(std::move(attrs), std::move(inputs));
}

OpCase DrawBroadcastForm(Random& random) {
  const bool has_one = random.Chance(0.5);
  const std::string distribution =
      has_one ? random.Of({"scaled_exponential", "rayleigh", "weibull", "pareto", "power_function", "bernoulli"})
              : random.Of({"normal", "uniform", "gamma", "gumbel", "logistic"});
  BroadcastFamily family{distribution, {{"first", 0.1, 1}}, true, random.Chance(0.3)};
  if (!has_one) family.parameters.push_back({"second", 0.1, 1});
  OpCase c = DrawBroadcastNumbers(random, family);
  c.attrs["distribution"] = distribution;
  if (family.size_leads) c.attrs["size_leads"] = "True";
  return c;
}

OpCase DrawBernoulli(Random& random) {
  const std::string name = random.Of({"prob", "logit"});
  OpCase c = DrawBroadcastNumbers(random, {"_npi_bernoulli", {{name.c_str(), 0, 1}}});
  c.attrs.insert({{"prob", "None"}, {"logit", "None"}});
  c.attrs["is_logit"] = name == "logit" ? "True" : "False";
  Maybe(random, &c.attrs, "dtype", random.Of({"bool", "float16", "float32", "float64", "int32", "uint8"}));
  return c;
}

// The form of an operator that has the same attributes and inputs.
OpRow FormOf(const char* form, OpCase (*draw)(Random&)) {
  return {form, [draw](Random& random) {
            OpCase c = draw(random);
            Maybe(random, &c.attrs, "stream", PrintAttr(random.Int(0, 100)));
            c.inputs.push_back(Key());
            return c;
          }};
}

std::vector<OpRow> Rows() {
  std::vector<OpRow> rows{{"_backward_draw_classes", DrawClassGradients}, {"_draw", DrawNumbers},
                          FormOf("_draw_classes", DrawClasses),           {"_draw_each", DrawEach},
                          FormOf("_draw_integers", DrawIntegers),         {"_draw_like", DrawLike},
                          FormOf("_draw_shuffled", DrawShuffle),          {"_random_randint", DrawIntegers},
                          {"_sample_multinomial", DrawClasses},           {"_shuffle", DrawShuffle}};
  rows.push_back(FormOf("_draw_broadcast", DrawBroadcastForm));
  rows.push_back(FormOf("_draw_key", [](Random&) { return SameBits({}, {}); }));
  rows.push_back({"_npi_bernoulli", DrawBernoulli});
  rows.push_back({"_npi_choice", DrawChoice});
  rows.push_back(FormOf("_draw_choice", DrawChoice));
  for (const BroadcastFamily& family : BroadcastFamilies()) {
    rows.push_back({family.op, [&family](Random& random) { return DrawBroadcastNumbers(random, family); }});
  }
  for (const Family& family : Families()) {
    rows.push_back({"_random_" + family.distribution, [&family](Random& random) {
                      AttrMap attrs = NumbersOf(random, family);
                      MaybeType(random, &attrs);
                      return SameBits(std::move(attrs), {});
                    }});
    rows.push_back({"_random_" + family.distribution + "_like",
                    [&family](Random& random) { return SameBits(NumbersOf(random, family), {Data(random)}); }});
    rows.push_back({"_sample_" + family.distribution, [&family](Random& random) {
                      AttrMap attrs;
                      MaybeType(random, &attrs);
                      return SameBits(std::move(attrs), Parameters(random, family.parameters.size()));
                    }});
  }
  return rows;
}

}  // namespace

const std::vector<OpRow>& RandomOpRows() {
  static const std::vector<OpRow> rows = Rows();
  return rows;
}

}  // namespace amp::testing
