// What callers say about single nodes and operators, and how strong that is.
#include "passes/precision/precision_categories.h"

#include <gtest/gtest.h>

#include "passes/decided.h"
#include "passes/fake_rules.h"

namespace amp::testing {
namespace {

// Three products in a row.
Symbol ThreeProducts(AttrMap attrs = {}) { return Gemm("fc3", Gemm("fc2", Gemm("fc1", Var("x")), std::move(attrs))); }

std::string Problem(const ConvertOptions& options) {
  return ErrorOf<ArgumentError>([&] { Decided(ThreeProducts(), options); });
}
ConvertOptions Excluding(std::vector<std::string> names) {
  ConvertOptions options;
  options.excluded = std::move(names);
  return options;
}

TEST(Choices, ANameMeansItsNodeOtherwiseItIsAPattern) {
  EXPECT_CONTAINS(Decided(ThreeProducts(), Excluding({"fc2"})), "fc2.data <- float32: user (excluded by 'fc2'");
  EXPECT_CONTAINS(Decided(ThreeProducts(), Excluding({"fc2"})), "fc3.data <- bfloat16");
  const std::string both = Decided(ThreeProducts(), Excluding({"fc[12]"}));
  EXPECT_CONTAINS(both, "fc1.data <- float32: user (excluded by 'fc[12]'");
  EXPECT_CONTAINS(both, "fc2.data <- float32: user (excluded by 'fc[12]'");
  EXPECT_CONTAINS(both, "fc3.data <- bfloat16");
  // A node whose name looks like a pattern is meant alone.
  const Symbol odd = Gemm("fc1", Gemm("fc*", Var("x")));
  EXPECT_CONTAINS(Decided(odd, Excluding({"fc*"})), "fc1.data <- bfloat16");
}

TEST(Choices, UnknownNamesAreErrorsWithNearMatchesOrComeBack) {
  EXPECT_EQ(Problem(Excluding({"fc22"})),
            "excluded_sym_names: the model has no operator node 'fc22'; did you mean 'fc2', 'fc1', 'fc3'?");
  EXPECT_CONTAINS(Problem(Excluding({"nothing*", "x"})), "2 problems: ");
  ConvertOptions options = Excluding({"fc22", "fc2"});
  options.ignore_unknown_names = true;
  const Model t = MakeTyped(ThreeProducts());
  EXPECT_EQ(Decide(t, options).unknown_names, std::vector<std::string>{"fc22"});
}

TEST(Choices, DisabledNodesStay) {
  EXPECT_CONTAINS(Decided(ThreeProducts({{"__opt_constraint__", "1"}}), {}),
                  "fc2.data <- float32: user (AMP is disabled for it (__opt_constraint__)");
  EXPECT_CONTAINS(Decided(ThreeProducts({{"__opt_constraint__", "3"}}), {}), "fc2.data <- float32");
  EXPECT_CONTAINS(Decided(ThreeProducts({{"__opt_constraint__", "2"}}), {}), "fc2.data <- bfloat16");
  EXPECT_CONTAINS(Decided(ThreeProducts({{"__opt_constraint__", "one"}}), {}), "fc2.data <- bfloat16");
}

TEST(Choices, ForceIsStrongerThanExclusion) {
  ConvertOptions options = Excluding({"fc*"});
  options.force = {{"fc2", DType::kBFloat16}};
  EXPECT_CONTAINS(Decided(ThreeProducts({{"__opt_constraint__", "1"}}), options),
                  "fc2.data <- bfloat16: user (forced to bfloat16 by 'fc2'");
  options = {};
  options.force = {{"fc2", DType::kFloat32}};
  EXPECT_CONTAINS(Decided(ThreeProducts(), options), "fc2.data <- float32: user (forced to float32 by 'fc2'");
  // Even an operator that would not go by itself.
  options.force = {{"e", DType::kBFloat16}};
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {Var("x")}), options), "e.data <- bfloat16: user (forced");
}

TEST(Choices, WhatAnOperatorRefusesCannotBeForced) {
  ConvertOptions options;
  options.force = {{"o", DType::kBFloat16}};
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decided(RuleOp("_rule_only32", "o", {Var("x")}), options); }),
                  "force: 'o' cannot be bfloat16: the operator refuses");
  // A pattern means those that can.
  options.force = {{"o*", DType::kBFloat16}};
  EXPECT_CONTAINS(Decided(RuleOp("_rule_only32", "o", {Var("x")}), options), "o.data <- float32: refused");
}

TEST(Choices, PositionsCannotBeForced) {
  ConvertOptions options;
  options.force = {{"a", DType::kBFloat16}};
  const Symbol positions = Op("argmax", "a", {Var("x")}, {{"axis", "1"}});
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decided(positions, options); }),
                  "force: 'a' cannot be bfloat16: counts as integers, which are never rounded");
}

TEST(Choices, ExclusionIsStrongerThanLists) {
  ConvertOptions options = Excluding({"fc1"});
  options.target_ops = {{"_rule_gemm"}};
  EXPECT_CONTAINS(Decided(ThreeProducts(), options), "fc1.data <- float32: user (excluded");
}

TEST(Choices, ListsOfTheCallAreStrongerThanFactsAndConditions) {
  ConvertOptions options;
  options.float32_ops = {{"_rule_gemm"}};
  EXPECT_CONTAINS(Decided(ThreeProducts(), options), "fc1.data <- float32: user (_rule_gemm is in the call's fp32_ops");
  options = {};
  options.target_ops = {{"_rule_exp"}};
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {Var("x")}), options),
                  "e.data <- bfloat16: user (_rule_exp is in the call's");
  EXPECT_CONTAINS(Decided(ThreeProducts(), options), "fc1.data <- bfloat16: accumulates");  // others follow the policy
  options.conditional = {{{"_rule_exp", "scale", {"1"}}}};
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decided(ThreeProducts(), options); }),
                  "_rule_exp has no attribute 'scale'");
}

TEST(Choices, MistakesInListsAreGathered) {
  ConvertOptions options;
  options.target_ops = {{"FullyConected", "_rule_gemm"}};
  options.float32_ops = {{"_rule_gemm"}};
  const std::string problem = Problem(options);
  EXPECT_CONTAINS(problem, "2 problems: ");
  EXPECT_CONTAINS(problem, "there is no operator 'FullyConected'; did you mean 'FullyConnected'");
  EXPECT_CONTAINS(problem, "_rule_gemm is both in target_dtype_ops and in fp32_ops");
}

// What the decision says of the node's input `data`, without the reason's text.
std::string SaidOf(const std::string& node, const Symbol& symbol, const ConvertOptions& options) {
  for (const std::string& line : SortedLines(Decided(symbol, options))) {
    if (line.starts_with(node + ".data <- ")) return line.substr(node.size() + 9, line.find('(') - node.size() - 9);
  }
  return "";
}

TEST(Choices, NeutralOperatorsFollowTheirNeighbours) {
  ConvertOptions options;
  options.neutral_ops = {"_rule_gemm"};
  EXPECT_EQ(Produced(ThreeProducts(), options)["fc2"], "float32");
  options.target_ops = {{"_rule_gemm"}};
  EXPECT_EQ(Problem(options), "_rule_gemm is both in target_dtype_ops and in neutral_ops");
  // Between low neighbours it is low, although it needs float32 by itself.
  const Symbol between = Gemm("b", RuleOp("_rule_exp", "e", {Gemm("a", Var("x"))}));
  for (const PrecisionPolicy policy :
       {PrecisionPolicy::kDefault, PrecisionPolicy::kMXNet, PrecisionPolicy::kGraphAmp, PrecisionPolicy::kOptimal}) {
    ConvertOptions lists{.policy = policy, .target_ops = {{"_rule_gemm"}}, .neutral_ops = {"_rule_exp"}};
    EXPECT_EQ(Produced(between, lists)["e"], "bfloat16");
    lists.excluded = {"e"};
    EXPECT_EQ(SaidOf("e", between, lists), "float32: user ");
  }
}

TEST(Choices, WhatExceedsALimitStays) {
  ConvertOptions options;
  options.over_limit.emplace()["fc2"] = "it is too long";
  options.target_ops = {{"_rule_gemm"}};  // weaker
  EXPECT_EQ(SaidOf("fc2", ThreeProducts(), options), "float32: over_limit ");
  EXPECT_EQ(SaidOf("fc3", ThreeProducts(), options), "bfloat16: user ");
  options.excluded = {"fc2"};
  EXPECT_EQ(SaidOf("fc2", ThreeProducts(), options), "float32: user ");
  options.force = {{"fc2", DType::kBFloat16}};
  EXPECT_EQ(SaidOf("fc2", ThreeProducts(), options), "bfloat16: user ");
}

TEST(Choices, AllProblemsOfADecisionAreGathered) {
  ConvertOptions options{.minimize = Minimize::kCasts};
  options.force = {{"o", DType::kBFloat16}};
  options.excluded = {"nothing"};
  const std::string problem =
      ErrorOf<ArgumentError>([&] { Decided(RuleOp("_rule_only32", "o", {Var("x")}), options); });
  const std::string first = "3 problems: excluded_sym_names: the model has no operator node 'nothing'";
  EXPECT_EQ(problem.substr(0, first.size()), first);
  for (const char* told : {"minimize: expected policy 'optimal', got 'default'", "force: 'o' cannot be bfloat16: "}) {
    EXPECT_NE(problem.find(told), std::string::npos) << problem;
  }
}

TEST(Choices, ForcesThatContradictEachOtherAreErrors) {
  ConvertOptions options;
  options.force = {{"fc2", DType::kBFloat16}, {"fc*", DType::kFloat32}};
  EXPECT_CONTAINS(Problem(options), "force: 'fc2' is forced both to");
  options.force = {{"fc2", DType::kInt8}};
  EXPECT_CONTAINS(Problem(options), "force: expected 'fc2' to be bfloat16 or float32, got int8");
}

TEST(Choices, OutputsHaveTheDTypesThatWereAskedFor) {
  ConvertOptions options;
  options.output_dtypes = {{"fc3_output", DType::kBFloat16}};
  EXPECT_CONTAINS(Decided(ThreeProducts(), options), "fc3.output -> bfloat16");
  const Model t = MakeTyped(ThreeProducts());
  EXPECT_EQ(Decide(t, options).output_dtypes[0], DType::kBFloat16);
  options.output_dtypes = {{"fc4_output", DType::kBFloat16}};
  EXPECT_CONTAINS(Problem(options), "the model has no output 'fc4_output'; did you mean 'fc3_output'?");
  options.output_dtypes = {{"fc3_output", DType::kInt8}};
  EXPECT_CONTAINS(Problem(options), "expected 'fc3_output' to be float32, float16 or bfloat16, got int8");
}

TEST(Choices, PolicyNames) {
  EXPECT_EQ(PolicyFromName("mxnet"), PrecisionPolicy::kMXNet);
  EXPECT_EQ(PolicyFromName("graphamp"), PrecisionPolicy::kGraphAmp);
  EXPECT_EQ(ErrorOf<ArgumentError>([] { PolicyFromName("speed"); }),
            "policy: expected 'default', 'mxnet', 'graphamp' or 'optimal', got 'speed'");
}

}  // namespace
}  // namespace amp::testing
