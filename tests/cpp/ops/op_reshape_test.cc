// Every operator in an executor that is given other shapes, and then the first ones again. Constants of a plan that
// know a shape without saying so show here.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>

#include "op_harness.h"
#include "passes/gradient/use_training_forms.h"

namespace amp::testing {
namespace {

constexpr int kPairs = 10, kMaxDraws = 1000;

std::string NameOfInput(std::size_t i) { return fmt::format("in{}", i); }

// What two uses have to share for one executor to serve both.
std::string ModelKey(const OpCase& c) {
  std::string key;
  for (const auto& [name, value] : c.attrs) key += fmt::format("{}={};", name, value);
  for (const InputCase& input : c.inputs)
    key += fmt::format("{}/{} ", NameOf(input.type.dtype), input.type.shape.rank());
  return key;
}

bool HasShapesOf(const OpCase& a, const OpCase& b) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (a.inputs[i].type.shape != b.inputs[i].type.shape) return false;
  }
  return true;
}

// Uses of one operator that differ in nothing but sizes.
struct SizePair {
  OpCase first, second;

  std::string Describe() const {
    std::string text = ModelKey(first);
    for (std::size_t i = 0; i < first.inputs.size(); ++i) {
      const Shape &a = first.inputs[i].type.shape, &b = second.inputs[i].type.shape;
      text += fmt::format(" {} {} and {}", NameOfInput(i), a.ToString(), b.ToString());
    }
    return text;
  }

  // Equal in both, and so perhaps a weight.
  bool IsFixed(std::size_t i) const { return first.inputs[i].type.shape == second.inputs[i].type.shape; }
};

// Up to kPairs; few attributes of an operator are drawn twice alike where there are many.
std::vector<SizePair> DrawPairs(const OpRow& row) {
  std::map<std::string, OpCase> seen;
  std::vector<SizePair> pairs;
  for (int i = 0; i < kMaxDraws && pairs.size() < kPairs; ++i) {
    Random random(FirstSeed(777777) + static_cast<std::uint64_t>(i));
    OpCase c = row.draw(random);
    const auto [known, is_new] = seen.emplace(ModelKey(c), c);
    if (is_new || HasShapesOf(known->second, c)) continue;
    pairs.push_back({known->second, std::move(c)});
    seen.erase(known);
  }
  return pairs;
}

class OneOperator {
 public:
  // Inputs behind the first that are equal in both uses become parameters.
  OneOperator(const std::string& op, const SizePair& pair, bool has_parameters, Random& random) {
    std::vector<Symbol> variables;
    for (std::size_t i = 0; i < pair.first.inputs.size(); ++i) variables.push_back(Symbol::Variable(NameOfInput(i)));
    symbol_ = Symbol::Apply(op, "node", pair.first.attrs, variables, {});
    const Node& node = *symbol_.outputs()[0].node;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const bool is_parameter = has_parameters && i > 0 && pair.IsFixed(i);
      if (is_parameter) {
        (node.IsMutable(i) ? params_.aux : params_.args)[NameOfInput(i)] = DrawArray(random, pair.first.inputs[i]);
      } else {
        inputs_.push_back(i);
      }
    }
  }

  std::unique_ptr<Executor> Bind(const OpCase& c) const {
    TypeMap types;
    for (const std::size_t i : inputs_) types[NameOfInput(i)] = c.inputs[i].type;
    BindOptions options;
    options.num_threads = 1;
    return std::make_unique<Executor>(symbol_, params_, types, options);
  }

  std::map<std::string, Shape> Shapes(const OpCase& c) const {
    std::map<std::string, Shape> shapes;
    for (const std::size_t i : inputs_) shapes[NameOfInput(i)] = c.inputs[i].type.shape;
    return shapes;
  }

  std::map<std::string, NDArray> Draw(const OpCase& c, Random& random) const {
    std::map<std::string, NDArray> arrays;
    for (const std::size_t i : inputs_) arrays[NameOfInput(i)] = DrawArray(random, c.inputs[i]);
    return arrays;
  }

 private:
  Symbol symbol_;
  ModelParams params_;
  std::vector<std::size_t> inputs_;
};

std::vector<NDArray> RunOn(Executor& executor, const std::map<std::string, NDArray>& arrays) {
  std::vector<NDArray> inputs;
  for (const std::string& name : executor.input_names()) {
    inputs.push_back(name == kRandomKey ? RandomKey() : arrays.at(name));
  }
  return executor.Run(inputs);
}

bool AreSameArrays(const std::vector<NDArray>& a, const std::vector<NDArray>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type() != b[i].type()) return false;
    if (a[i].bytes() != 0 && std::memcmp(a[i].data(), b[i].data(), a[i].bytes()) != 0) return false;
  }
  return true;
}

// What is wrong, "" where nothing is.
std::string ReshapeProblem(const std::string& op, const SizePair& pair, bool has_parameters) try {
  Random random(1);
  const OneOperator model(op, pair, has_parameters, random);
  const auto first_arrays = model.Draw(pair.first, random), second_arrays = model.Draw(pair.second, random);
  const auto first = model.Bind(pair.first), second = model.Bind(pair.second);
  const auto expected_first = RunOn(*first, first_arrays), expected_second = RunOn(*second, second_arrays);
  const auto there = first->Reshape(model.Shapes(pair.second));
  if (!AreSameArrays(RunOn(*there, second_arrays), expected_second)) return "other results for other shapes";
  const auto back = there->Reshape(model.Shapes(pair.first));
  if (!AreSameArrays(RunOn(*back, first_arrays), expected_first)) return "other results for the first shapes, again";
  return AreSameArrays(RunOn(*first, first_arrays), expected_first) ? "" : "the first executor has changed";
} catch (const std::exception& error) {
  return std::string("threw: ") + error.what();
}

class OpReshape : public ::testing::TestWithParam<OpRow> {};

TEST_P(OpReshape, ResultsAreThoseOfAFreshExecutor) {
  for (const SizePair& pair : DrawPairs(GetParam())) {
    for (const bool has_parameters : {false, true}) {
      EXPECT_EQ(ReshapeProblem(GetParam().op, pair, has_parameters), "")
          << pair.Describe() << (has_parameters ? ", with parameters" : "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpReshape, ::testing::ValuesIn(OpRows()), [](const auto& row) { return row.param.op; });

TEST(OpReshapeCases, MostOperatorsHavePairs) {
  int with_pairs = 0;
  for (const OpRow& row : OpRows()) with_pairs += DrawPairs(row).empty() ? 0 : 1;
  EXPECT_GT(with_pairs, static_cast<int>(OpRows().size()) * 9 / 10);
}

}  // namespace
}  // namespace amp::testing
