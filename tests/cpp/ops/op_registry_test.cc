// Every operator has all that an operator definition owes, and a row in op_cases.cc; every operator definition has an
// operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "nnvm/file_io.h"
#include "op_cases.h"
#include "passes/fusion_mxnet/chain_patterns.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::testing {
namespace {

std::ptrdiff_t CountMatches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator());
}

// Registrations in one source file: those with a literal or constant name, directly or through a function of the
// definition's, and the rows of the table that a family registers as `row.name`.
std::ptrdiff_t CountRegistrations(const std::string& text) {
  const auto literal = CountMatches(text, "Register\\w*(<\\w+>)?\\(\\s*(\"|k[A-Z]\\w*,)");
  const auto direct = CountMatches(text, "RegisterOp<\\w+>\\(\\s*\"");
  const auto through_function = CountMatches(text, "RegisterOp<\\w+>\\(name\\)");
  const auto families = CountMatches(text, "RegisterOp<\\w+>\\(row\\.name\\)");
  EXPECT_EQ(CountMatches(text, "RegisterOp<"), direct + through_function + families)
      << "a form of registration that this test cannot count";
  if (families == 0) return literal;
  // Rows are found by position: std::regex takes a stack frame for each character of a long table.
  const std::size_t begin = text.find("kRows[] = {");
  const std::size_t end = text.find("\n};", begin);
  EXPECT_TRUE(begin != std::string::npos && end != std::string::npos);
  std::string table = text.substr(begin, end - begin);
  table.erase(0, table.find('{') + 1);
  return literal + families * CountMatches(table, "\\{\"");
}

TEST(OpRegistry, HasAsManyOperatorsAsTheCardsRegister) {
  std::ptrdiff_t registrations = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(AMP_TEST_DATA_DIR "/../../src/ops")) {
    if (file.path().filename() == "custom.cc") continue;  // which programs call
    if (file.path().extension() == ".cc") registrations += CountRegistrations(ReadFile(file.path().string()));
  }
  std::set<std::string> fused;  // those of the table of MXNet's chains (ops/elementwise/fused.cc)
  for (const FusionDialect dialect : {FusionDialect::kOneDnn, FusionDialect::kMklDnn}) {
    for (const FusionChain& chain : FusionChains(dialect)) {
      if (chain.doc != nullptr) fused.insert(chain.op);
    }
  }
  registrations += std::ssize(fused);
  EXPECT_GT(registrations, 0);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(OpRegistry::Get().All().size()), registrations);
}

// A fused node has no kernel, it is opened before it runs.
bool Runs(const amp::Op& op) { return op.Find<FusedFact>() == nullptr; }

// Operators that are nothing without subgraphs have their cases in tests/cpp/passes/unfuse_test.cc and
// tests/python/operators/test_control_flow.py.
bool NeedsSubgraphs(const amp::Op& op) { return op.bind_subgraphs != nullptr; }

TEST(OpRegistry, EveryOperatorHasARowOfCases) {
  std::vector<std::string> registered, rows;
  for (const amp::Op* op : OpRegistry::Get().All()) {
    if (!NeedsSubgraphs(*op)) registered.push_back(op->name);
  }
  for (const OpRow& row : OpRows()) rows.push_back(row.op);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(registered, rows);
}

TEST(OpRegistry, EveryCardIsComplete) {
  for (const amp::Op* op : OpRegistry::Get().All()) {
    SCOPED_TRACE(op->name);
    EXPECT_NE(op->Find<AmpFacts>(), nullptr);
    EXPECT_NE(op->Find<ShapeRule>(), nullptr);
    EXPECT_NE(op->Find<DTypeRule>(), nullptr);
    EXPECT_EQ(op->Find<ReferenceKernel>() != nullptr, Runs(*op));
    EXPECT_FALSE(op->doc.empty());
    for (const FieldInfo& field : op->fields) EXPECT_FALSE(field.doc.empty()) << field.name;
  }
}

TEST(OpRegistry, RolesFitTheInputs) {
  for (const OpRow& row : OpRows()) {
    const amp::Op& op = OpRegistry::Get().Require(kMXNetDomain, row.op);
    std::size_t most_inputs = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      const OpCase c = row.draw(random);
      const auto names = op.input_names(op.parse(c.attrs).get());
      EXPECT_EQ(names.size(), c.inputs.size()) << row.op;
      most_inputs = std::max(most_inputs, names.size());
    }
    EXPECT_LE(op.Find<AmpFacts>()->roles.size(), most_inputs) << row.op;
  }
}

}  // namespace
}  // namespace amp::testing
