// RangeRule promises that the elements of outputs lie in the predicted intervals, whatever the inputs in theirs are.
//
// AMP_TEST_SEED=<n> starts from another case.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "nnvm/compose.h"
#include "op_harness.h"
#include "passes/model.h"
#include "passes/op_facts.h"
#include "passes/precision/value_ranges.h"

namespace amp::testing {
namespace {

constexpr std::uint64_t kRangesSeed = 1701;

bool HasRule(const std::string& op) {
  const amp::Op& definition = OpRegistry::Get().Require(kMXNetDomain, op);
  return definition.Find<RangeRule>() != nullptr || definition.Find<AmpFacts>()->arithmetic == Arithmetic::kMovesData ||
         definition.Find<AmpFacts>()->arithmetic == Arithmetic::kCasts;
}

// What of an array leaves the interval; "" where nothing does. NaN is always possible.
std::string Outside(const NDArray& array, const ValueRange& range) {
  for (const double value : Doubles(array)) {
    if (std::isnan(value)) continue;
    const bool is_whole = !std::isfinite(value) || value == std::floor(value);
    if (range.Contains(value) && (is_whole || !range.is_integer)) continue;
    return fmt::format("{:.9g} is not among {}", value, range.ToString());
  }
  return "";
}

// The whole model is bound: ranges start from what the arrays hold.
Model BoundModel(const Symbol& symbol, const NDArrayMap& arrays) {
  Graph graph = symbol.ToGraph();
  ModelParams params;
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    (graph.IsAuxiliary(id) ? params.aux : params.args)[name] = arrays.at(name);
  }
  TypeMap types = VariableTypes(graph, params, {});
  return Model(std::move(graph), std::move(types), {}, std::move(params));
}

// One use of an operator. Sets `*tells` where the rule says anything of a result that its dtype does not.
std::string Problem(const OpRow& row, std::uint64_t seed, bool* tells) {
  Random random(seed);
  Random in_float32(seed, DType::kFloat32);
  Random& draw = seed % 4 == 0 ? random : in_float32;
  OpCase c = row.draw(draw);
  std::vector<NDArray> inputs;
  std::vector<Symbol> variables;
  NDArrayMap arrays;
  for (InputCase& input : c.inputs) {
    if (input.values == Values::kPlain && draw.Chance(0.3)) input.values = Values::kPositive;
    inputs.push_back(DrawArray(draw, input));
    arrays[fmt::format("in{}", variables.size())] = inputs.back();
    variables.push_back(Var(fmt::format("in{}", variables.size())));
  }
  const OneNode one(row.op, c, inputs, true);
  const Model model = BoundModel(Symbol::Apply(row.op, "node", c.attrs, variables, {}), arrays);
  const std::vector<ValueRange> ranges = FindValueRanges(model);
  const std::vector<NDArray> outputs = one.CallKernel(inputs, one.output_types());
  const Graph& graph = model.graph();
  const NodeId id = graph.NodeOf(graph.EntryOf(graph.outputs()[0]));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueRange& range = ranges[graph.EntryOf(id, i)];
    *tells = *tells || range != ValueRange::OfDType(one.output_types()[i].dtype) || !IsFloat(outputs[i].dtype());
    const std::string outside = Outside(outputs[i], range);
    if (!outside.empty()) return fmt::format("output {}: {}\nAMP_TEST_SEED={}: {}", i, outside, seed, one.Describe());
  }
  return "";
}

class OpRanges : public ::testing::TestWithParam<OpRow> {};

TEST_P(OpRanges, ElementsLieInTheInterval) {
  if (!HasRule(GetParam().op)) return;
  bool tells = false;
  for (int i = 0; i < 120; ++i) {
    const std::string problem = Problem(GetParam(), FirstSeed(kRangesSeed) + static_cast<std::uint64_t>(i), &tells);
    ASSERT_EQ(problem, "");
  }
  EXPECT_TRUE(tells) << "the rule never says anything";
}

INSTANTIATE_TEST_SUITE_P(Ops, OpRanges, ::testing::ValuesIn(OpRows()), [](const auto& row) { return row.param.op; });

// ---- whole graphs ----

const Shape kShape{2, 3, 4};

std::string RandomScalar(Random& random) {
  return random.Of({"-2", "-0.5", "0.125", "1", "1e-12", "2", "3", "10", "100000"});
}

// An operator that keeps shapes, over what there is already.
Symbol RandomNode(Random& random, int index, const std::vector<Symbol>& tensors, std::vector<Symbol>* weights) {
  static const std::vector<std::string> kUnary{"relu",       "sigmoid",    "tanh",    "exp",    "log",     "sqrt",
                                               "square",     "abs",        "floor",   "ceil",   "sign",    "cos",
                                               "reciprocal", "rsqrt",      "erf",     "arctan", "cosh",    "softmax",
                                               "log1p",      "zeros_like", "Flatten", "round",  "negative"};
  static const std::vector<std::string> kBinary{"elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div",
                                                "_maximum",     "_minimum",     "_power",       "_mod",
                                                "_hypot",       "_equal",       "_lesser",      "add_n"};
  static const std::vector<std::string> kScalar{"_plus_scalar",    "_mul_scalar",   "_rminus_scalar", "_div_scalar",
                                                "_maximum_scalar", "_mod_scalar",   "_power_scalar",  "_greater_scalar",
                                                "_rdiv_scalar",    "_rpower_scalar"};
  const std::string name = fmt::format("n{}", index);
  const Symbol& a = random.Of(tensors);
  const Symbol& b = random.Of(tensors);
  switch (random.Int(0, 5)) {
    case 0: {
      const std::string op = random.Of(kUnary);
      if (op != "Flatten") return Op(op, name, {a});
      return Op("reshape_like", name, {Op(op, name + "_flat", {a}), a});
    }
    case 1:
      return Op(random.Of(kScalar), name, {a}, {{"scalar", RandomScalar(random)}});
    case 2:
      return Op("clip", name, {a}, {{"a_min", random.Of({"-1", "0.5", "-100"})}, {"a_max", random.Of({"1", "7.5"})}});
    case 3: {
      weights->push_back(Var(name + "_w"));
      return Op("FullyConnected", name, {a, weights->back()},
                {{"num_hidden", "4"}, {"flatten", "False"}, {"no_bias", "True"}});
    }
    case 4: {
      const std::string op = random.Of({"sum", "mean", "max"});
      return Op("broadcast_add", name, {b, Op(op, name + "_r", {a}, {{"axis", "1"}, {"keepdims", "True"}})});
    }
    default:
      return Op(random.Of(kBinary), name, {a, b});
  }
}

NDArray RandomArray(Random& random, const Shape& shape) {
  NDArray array(DType::kFloat32, shape);
  const bool is_whole = random.Chance(0.3);
  const double low = random.Of({-4.0, 0.0, 1.0, -1000.0}), high = low + random.Of({0.5, 3.0, 300.0});
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const double value = random.Real(low, high);
    array.As<float>()[i] = static_cast<float>(is_whole ? std::floor(value) : value);
  }
  return array;
}

// All nodes of a random graph on the reference backend, against the intervals of the inputs alone.
TEST(GraphRanges, AllTensorsLieInTheirIntervals) {
  constexpr std::uint64_t kGraphs = 300;
  const std::uint64_t first = FirstSeed(kRangesSeed);
  for (std::uint64_t seed = first; seed < first + kGraphs; ++seed) {
    Random random(seed);
    std::vector<Symbol> tensors{Var("x"), Var("y")}, weights;
    for (int i = 0; i < 12; ++i) tensors.push_back(RandomNode(random, i, tensors, &weights));
    NDArrayMap arrays{{"x", RandomArray(random, kShape)}, {"y", RandomArray(random, kShape)}};
    for (const Symbol& weight : weights) {
      arrays[weight.outputs()[0].node->name()] = RandomArray(random, Shape{4, 4});
    }
    const Symbol all = Symbol::Group({tensors.begin() + 2, tensors.end()});
    const Model model = BoundModel(all, arrays);
    const std::vector<ValueRange> ranges = FindValueRanges(model);
    BindOptions options;
    options.backend = Backend::kReference;
    options.mode = NumericMode::kExact;
    options.num_threads = 1;
    TypeMap types;
    std::vector<NDArray> inputs;
    const Graph& graph = model.graph();
    for (const NodeId id : graph.variables()) types[graph.node(id).name()] = arrays.at(graph.node(id).name()).type();
    Executor executor(all, {}, types, options);
    for (const std::string& name : executor.input_names()) inputs.push_back(arrays.at(name));
    const std::vector<NDArray> outputs = executor.Run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const EntryId entry = graph.EntryOf(graph.outputs()[i]);
      ASSERT_EQ(Outside(outputs[i], ranges[entry]), "")
          << "AMP_TEST_SEED=" << seed << ": " << graph.EntryName(entry) << "\n"
          << PrintGraph(graph);
    }
  }
}

}  // namespace
}  // namespace amp::testing
