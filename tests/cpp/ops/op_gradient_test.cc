// Every differentiable operator: its gradients against differences in float64, in random uses, and those of gradients
// where the rule composes differentiable operators. Every other operator: the reason why it has none.
//
// AMP_TEST_SEED=<n> starts from another case; a failure prints the seed under which it comes first.
// AMP_TEST_ITERATIONS=<n> draws n times as many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "nnvm/compose.h"
#include "op_harness.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/gradient/gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/op_facts.h"

namespace amp::testing {
namespace {

// What MXNet hands back is not the derivative, on purpose: losses, and operators that block gradients.
const std::set<std::string> kNoDerivatives{"BlockGrad",
                                           "LinearRegressionOutput",
                                           "LogisticRegressionOutput",
                                           "MAERegressionOutput",
                                           "MakeLoss",
                                           "SVMOutput",
                                           "SoftmaxOutput",
                                           "scatter_nd",  // of equal places all get the gradient
                                           "_backward_MakeLoss",
                                           "_contrib_MultiBoxDetection",
                                           "_contrib_MultiBoxTarget",
                                           "_contrib_MultiProposal",
                                           "_contrib_Proposal",
                                           "_contrib_box_decode",
                                           "_contrib_box_encode",
                                           "_contrib_box_iou",
                                           "_contrib_box_nms",  // of the boxes that are chosen now
                                           "_contrib_gradientmultiplier",
                                           "_contrib_index_copy",  // of equal places all get the gradient
                                           "_npx_index_update",    // the same
                                           "_contrib_round_ste",   // straight through
                                           "_contrib_sign_ste",
                                           "_draw_each",  // numbers do not change with their parameters
                                           "_sample_exponential",
                                           "_sample_gamma",
                                           "_sample_generalized_negative_binomial",
                                           "_sample_negative_binomial",
                                           "_sample_normal",
                                           "_sample_poisson",
                                           "_sample_uniform",
                                           "make_loss"};
// Gradients of statistics among the outputs are ignored, as in MXNet.
const std::set<std::string> kFirstOutputOnly{"BatchNorm",        "GroupNorm",
                                             "LayerNorm",        "_contrib_SyncBatchNorm",
                                             "_train_BatchNorm", "_train_contrib_SyncBatchNorm",
                                             "_contrib_hawkesll"};

// Computed in float32 whatever the dtype, and linear in what is varied: differences over large steps.
const std::set<std::string> kFloat32Inside{"_contrib_ROIAlign"};

bool Has(const OpCase& c, const char* name, std::initializer_list<const char*> values) {
  const auto attr = c.attrs.find(name);
  return attr != c.attrs.end() && std::find(values.begin(), values.end(), attr->second) != values.end();
}

// Where MXNet's gradient is another one than the derivative: selu below 0, remainders by 0, of which forward makes 0,
// parameters of some distributions.
// Arrays without elements have no derivative.
bool IsOdd(const std::string& op, const OpCase& c) {
  for (const InputCase& input : c.inputs) {
    if (input.type.shape.size() == 0) return true;
  }
  if (op == "_draw_broadcast" && Has(c, "distribution", {"gamma", "power_function", "uniform"})) return true;
  if (op == "_npi_mod" && !IsFloat(c.inputs[1].type.dtype)) return true;
  if (op.ends_with("mod_scalar") && Has(c, "scalar", {"0", "0.0", "-0.0"})) return true;
  return op == "LeakyReLU" && Has(c, "act_type", {"selu"});
}

using Arrays = std::map<std::string, NDArray>;

// A graph on the reference backend.
class GraphFunction {
 public:
  GraphFunction(const Symbol& symbol, const Arrays& arrays, Backend backend = Backend::kReference)
      : executor_(symbol, {}, TypesOf(symbol, arrays), Options(backend)) {}

  std::vector<NDArray> operator()(const Arrays& arrays) {
    std::vector<NDArray> inputs;
    for (const std::string& name : executor_.input_names()) inputs.push_back(arrays.at(name));
    return executor_.Run(inputs);
  }

 private:
  static TypeMap TypesOf(const Symbol& symbol, const Arrays& arrays) {
    TypeMap types;
    for (const std::string& name : symbol.ListInputs()) types[name] = arrays.at(name).type();
    return types;
  }
  static BindOptions Options(Backend backend) {
    BindOptions options;
    options.backend = backend;
    options.num_threads = 1;
    return options;
  }

  Executor executor_;
};

double InnerProduct(const NDArray& a, const NDArray& b, bool absolute = false) {
  const std::vector<double> x = Doubles(a), y = Doubles(b);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += absolute ? std::abs(x[i] * y[i]) : x[i] * y[i];
  return sum;
}

NDArray SmallNumbers(Random& random, const Shape& shape) {
  NDArray array(DType::kFloat64, shape);
  for (std::int64_t i = 0; i < array.size(); ++i) array.As<double>()[i] = random.Real(-1, 1);
  return array;
}

// Across the diagonal of the matrices along the last two axes.
std::vector<double> Mirrored(const NDArray& x) {
  const std::int64_t size = x.shape().dims().back();
  std::vector<double> mirrored(static_cast<std::size_t>(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t row = i / size % size, column = i % size;
    mirrored[static_cast<std::size_t>(i)] = x.As<double>()[i + (column - row) * (size - 1)];
  }
  return mirrored;
}

bool IsSymmetric(const NDArray& x) {
  const Shape& shape = x.shape();
  const int rank = shape.rank();
  return rank >= 2 && shape[rank - 1] == shape[rank - 2] && Mirrored(x) == Doubles(x);
}

// Symmetric matrices stay symmetric: operators that are for such ones read half of them.
NDArray Direction(Random& random, const NDArray& x) {
  NDArray direction = SmallNumbers(random, x.shape());
  if (!IsSymmetric(x)) return direction;
  const std::vector<double> mirrored = Mirrored(direction);
  for (std::int64_t i = 0; i < x.size(); ++i) direction.As<double>()[i] += mirrored[static_cast<std::size_t>(i)];
  return direction;
}

NDArray Moved(const NDArray& x, const NDArray& direction, double step) {
  NDArray moved(DType::kFloat64, x.shape());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    moved.As<double>()[i] = x.As<double>()[i] + step * direction.As<double>()[i];
  }
  return moved;
}

// sum(output * its gradient) of a graph as a function of its arrays, and the graph of its gradients.
class Differentiable {
 public:
  Differentiable(Random& random, Symbol symbol, Arrays arrays, const std::vector<std::string>& variables,
                 const std::string& op)
      : arrays_(std::move(arrays)), variables_(variables), step_(kFloat32Inside.contains(op) ? 0.5 : 1e-5) {
    if (kFirstOutputOnly.contains(op)) symbol = symbol.At(0);
    symbol_ = symbol;
    GraphFunction forward(symbol, arrays_);
    const std::vector<NDArray> outputs = forward(arrays_);
    GradientOptions options{false, {}};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      is_smooth_ = is_smooth_ && outputs[i].dtype() == DType::kFloat64;
      const std::string name = fmt::format("gradient{}_{}", i, arrays_.size());
      weights_.push_back(SmallNumbers(random, outputs[i].shape()));
      options.output_gradients.emplace_back(Var(name));
      arrays_[name] = weights_.back();
    }
    if (is_smooth_) graph_ = MakeGradientGraph(symbol, variables, options);
  }

  // Every output is of float64.
  bool is_smooth() const { return is_smooth_; }
  const Arrays& arrays() const { return arrays_; }
  const GradientGraph& graph() const { return graph_; }

  // The gradients that are not zero everywhere.
  Symbol Gradients(std::vector<std::string>* names) const {
    std::vector<NodeEntry> entries;
    for (const auto& [name, entry] : graph_.gradients) {
      if (!entry) continue;
      entries.push_back(*entry);
      names->push_back(name);
    }
    return Symbol(std::move(entries));
  }

  // "" where the gradient of every variable agrees with differences along a random direction. Counts comparisons; those
  // beside a kink say nothing.
  std::string Problem(Random& random, int* compared) const {
    std::vector<std::string> names;
    const Symbol gradients = Gradients(&names);
    std::map<std::string, NDArray> found;
    if (!names.empty()) {
      const std::vector<NDArray> values = GraphFunction(gradients, arrays_)(arrays_);
      for (std::size_t i = 0; i < names.size(); ++i) found[names[i]] = values[i];
    }
    GraphFunction forward(symbol_, arrays_);
    for (const std::string& name : variables_) {
      const std::string problem = Compare(random, name, found, forward, compared);
      if (!problem.empty()) return problem;
    }
    return "";
  }

 private:
  double Total(GraphFunction& forward, const Arrays& arrays) const {
    const std::vector<NDArray> outputs = forward(arrays);
    double total = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) total += InnerProduct(outputs[i], weights_[i]);
    return total;
  }

  std::string Compare(Random& random, const std::string& name, const Arrays& found, GraphFunction& forward,
                      int* compared) const {
    const double step = step_;
    const NDArray& x = arrays_.at(name);
    const NDArray direction = Direction(random, x);
    const auto at = [&](double distance) {
      Arrays moved = arrays_;
      moved[name] = Moved(x, direction, distance);
      return Total(forward, moved);
    };
    const double here = at(0), above = at(step), below = at(-step);
    const auto gradient = found.find(name);
    double predicted = 0, scale = 1;
    if (gradient != found.end()) {
      if (gradient->second.type() != x.type()) {
        return fmt::format("the gradient of {} is {}", name, gradient->second.type().ToString());
      }
      predicted = InnerProduct(gradient->second, direction);
      scale += InnerProduct(gradient->second, direction, true);
    }
    const double slope = (above - below) / (2 * step), bend = std::abs(above - 2 * here + below) / step;
    const bool is_steep = !std::isfinite(slope) || std::abs(slope) > 1e4 || !std::isfinite(scale) || scale > 1e6;
    if (is_steep || bend > 1e-3 * scale) return "";
    ++*compared;
    const double error = std::abs(slope - predicted);
    if (error <= (step_ == 0.5 ? 1e-4 : 1e-5) * scale + 1e-14 / step * std::abs(here)) return "";
    return fmt::format("the derivative by {} is {:.9g}, the gradient gives {:.9g}", name, slope, predicted);
  }

  Symbol symbol_;
  Arrays arrays_;
  std::vector<std::string> variables_;
  double step_;
  std::vector<NDArray> weights_;
  GradientGraph graph_;
  bool is_smooth_ = true;
};

// One use in float64; labels and indices are no variables.
struct Float64Use {
  Symbol symbol;
  Arrays arrays;
  std::vector<std::string> variables;
  std::string text;
};

Float64Use DrawUse(Random& random, const OpRow& row, const OpCase& c) {
  Float64Use use{{}, {}, {}, row.op};
  std::vector<Symbol> variables;
  for (InputCase input : c.inputs) {
    const std::string name = fmt::format("in{}", variables.size());
    if (input.values == Values::kWide) input.values = Values::kPlain;
    variables.push_back(Var(name));
    use.arrays[name] = DrawArray(random, input);
  }
  use.symbol = Symbol::Apply(row.op, "node", c.attrs, variables, {});
  const Node& node = *use.symbol.outputs()[0].node;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const SlotRole role = FactsOf(node).RoleOf(i);
    const bool is_number = role == SlotRole::kData || role == SlotRole::kStatistic;
    const std::string name = fmt::format("in{}", i);
    if (is_number && !node.IsMutable(i) && use.arrays[name].dtype() == DType::kFloat64) use.variables.push_back(name);
  }
  use.arrays[kRandomKey] = RandomKey();
  for (const auto& [key, value] : c.attrs) use.text += fmt::format(" {}={}", key, value);
  for (const auto& [name, array] : use.arrays) use.text += " " + array.type().ToString();
  return use;
}

struct Counts {
  int first = 0, second = 0;
};

std::string SecondProblem(Random& random, const Differentiable& first, const Float64Use& use, int* compared) {
  std::vector<std::string> names;
  const Symbol gradients = first.Gradients(&names);
  if (names.empty()) return "";
  try {
    const Differentiable second(random, gradients, first.arrays(), use.variables, "");
    const std::string problem = second.is_smooth() ? second.Problem(random, compared) : "";
    return problem.empty() ? "" : "second derivative: " + problem;
  } catch (const UnsupportedError&) {  // the rule uses a backward operator without a gradient
    return "";
  } catch (const ArgumentError&) {  // the gradient does not depend on all of the inputs
    return "";
  }
}

std::string GradientProblem(const OpRow& row, std::uint64_t seed, Counts* counts) {
  Random random(seed, DType::kFloat64);
  const OpCase c = row.draw(random);
  if (IsOdd(row.op, c)) return "";
  std::string text = row.op;
  try {
    const Float64Use use = DrawUse(random, row, c);
    text = use.text;
    if (use.variables.empty()) return "";
    const Differentiable first(random, use.symbol, use.arrays, use.variables, row.op);
    if (!first.is_smooth()) return "";
    std::string problem = first.Problem(random, &counts->first);
    if (problem.empty()) problem = SecondProblem(random, first, use, &counts->second);
    return problem.empty() ? "" : fmt::format("AMP_TEST_SEED={}: {}\n  {}", seed, text, problem);
  } catch (const UnsupportedError&) {  // a refusal of some attribute, see op_refusals_gradients.cc
    return "";
  } catch (const std::exception& error) {
    return fmt::format("AMP_TEST_SEED={}: {}\n  threw: {}", seed, text, error.what());
  }
}

std::vector<OpRow> DifferentiableRows() {
  std::vector<OpRow> rows;
  for (const OpRow& row : OpRows()) {
    const amp::Op& op = OpRegistry::Get().Require(kMXNetDomain, row.op);
    if (op.Find<NoGradient>() == nullptr && !kNoDerivatives.contains(row.op)) rows.push_back(row);
  }
  return rows;
}

class OpGradient : public ::testing::TestWithParam<OpRow> {};

TEST_P(OpGradient, AgreesWithDifferences) {
  int failures = 0;
  Counts counts;
  for (int i = 0; i < NumCases(40); ++i) {
    const std::string problem = GradientProblem(GetParam(), FirstSeed(31415) + static_cast<std::uint64_t>(i), &counts);
    if (problem.empty()) continue;
    ADD_FAILURE() << problem;
    if (++failures == 3) FAIL() << "and perhaps more";
  }
  const bool has_rule = OpRegistry::Get().Require(kMXNetDomain, GetParam().op).Find<GradientRule>() != nullptr;
  EXPECT_TRUE(!has_rule || counts.first > 0) << "no case could be compared";
  RecordProperty("compared", counts.first);
  RecordProperty("second_derivatives", counts.second);
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradient, ::testing::ValuesIn(DifferentiableRows()),
                         [](const auto& row) { return row.param.op; });

// Without inputs there is nothing to differentiate; fused nodes are opened before.
bool MayHaveGradient(const amp::Op& op) {
  if (op.Find<FusedFact>() != nullptr) return false;
  if (!op.variadic_attr.empty() || op.bind_subgraphs != nullptr) return true;
  for (const OpRow& row : OpRows()) {
    if (row.op != op.name) continue;
    Random random(1);
    return !row.draw(random).inputs.empty();
  }
  return true;
}

TEST(OpGradients, EveryOperatorHasARuleOrAReason) {
  for (const amp::Op* op : OpRegistry::Get().All()) {
    if (!MayHaveGradient(*op)) continue;
    const auto* zero = op->Find<ZeroGradient>();
    const auto* none = op->Find<NoGradient>();
    const int facts = (op->Find<GradientRule>() != nullptr) + (zero != nullptr) + (none != nullptr);
    EXPECT_EQ(facts, 1) << op->name << ": state one of GradientRule, ZeroGradient and NoGradient";
    EXPECT_TRUE(zero == nullptr || !zero->reason.empty()) << op->name;
    EXPECT_TRUE(none == nullptr || !none->reason.empty()) << op->name;
  }
}

}  // namespace
}  // namespace amp::testing
