// Every operator, in random uses, on every backend, against the truth in float64.
//
// AMP_TEST_SEED=<n> starts from another case; a failure prints the seed under which it comes first.
// AMP_TEST_ITERATIONS=<n> draws n times as many.
#include <gtest/gtest.h>

#include "op_harness.h"
#include "passes/op_facts.h"
#include "passes/out_dtype.h"

namespace amp::testing {
namespace {

const char* BackendName(Backend backend) { return backend == Backend::kReference ? "reference" : "onednn"; }

// Results in a dtype of their own, now and then, of the operators that can have them.
void MaybeDeclareOutput(Random& random, const std::string& op, OpCase* c) {
  const amp::Op& definition = OpRegistry::Get().Require(kMXNetDomain, op);
  const bool accumulates = definition.Find<AmpFacts>()->arithmetic == Arithmetic::kAccumulates;
  if ((!accumulates && definition.Find<DeclaresOutDType>() == nullptr) || !random.Chance(0.4)) return;
  c->attrs[kOutDTypeAttr] = amp::NameOf(random.Of(FloatTypes()));
}

// The case of one seed in all ways of binding it. Returns what is wrong, "" where nothing is.
std::string Problems(const OpRow& row, std::uint64_t seed) {
  Random random(seed);
  OpCase c = row.draw(random);
  MaybeDeclareOutput(random, row.op, &c);
  std::vector<NDArray> inputs;
  for (const InputCase& input : c.inputs) inputs.push_back(DrawArray(random, input));
  std::string problems;
  std::string description = row.op;
  try {
    const OneNode one(row.op, c, inputs, random.Chance(0.2));
    description = one.Describe();
    const int num_threads = random.Chance(0.2) ? 2 : 1;
    // All inputs from outside; weights as parameters, which are folded and packed; now and then nothing but parameters.
    std::vector<std::size_t> bindings{inputs.size()};
    if (inputs.size() > 1) bindings.push_back(1);
    if (random.Chance(0.2)) bindings.push_back(0);
    for (const std::size_t first_parameter : bindings) {
      for (const auto backend : {Backend::kReference, Backend::kOneDnn}) {
        const std::string problem = one.Judge(backend, one.Execute(backend, first_parameter, num_threads));
        if (problem.empty()) continue;
        problems += fmt::format("\n  {} with {} threads, parameters from input {}: {}", BackendName(backend),
                                num_threads, first_parameter, problem);
      }
    }
  } catch (const std::exception& error) {
    problems += fmt::format("\n  threw: {}", error.what());
  }
  return problems.empty() ? "" : fmt::format("AMP_TEST_SEED={}: {}{}", seed, description, problems);
}

class OpAgreement : public ::testing::TestWithParam<OpRow> {};

TEST_P(OpAgreement, BackendsStayWithinTheBounds) {
  int failures = 0;
  for (int i = 0; i < NumCases(250); ++i) {
    const std::string problems = Problems(GetParam(), FirstSeed(20240) + static_cast<std::uint64_t>(i));
    if (problems.empty()) continue;
    ADD_FAILURE() << problems;
    if (++failures == 5) FAIL() << "and perhaps more";
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpAgreement, ::testing::ValuesIn(OpRows()), [](const auto& row) { return row.param.op; });

}  // namespace
}  // namespace amp::testing
