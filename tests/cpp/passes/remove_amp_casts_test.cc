#include "passes/precision/remove_amp_casts.h"

#include <gtest/gtest.h>

#include "passes/fake_rules.h"
#include "passes/typed.h"

namespace amp::testing {
namespace {

std::string Removed(const Symbol& symbol, const std::map<std::string, DType>& dtypes = {}) {
  return PrintGraph(RemoveAmpCasts(symbol.ToGraph(), dtypes).graph);
}

TEST(RemoveAmpCasts, HeadsMarksAndOutDTypesGo) {
  const Symbol w = Var("w", {{"__amp_dtype__", "bfloat16"}, {"__dtype__", "12"}, {"__lr_mult__", "2"}});
  const Symbol low =
      RuleOp("_rule_gemm", "fc", {AmpCast("cx", Var("x"), "bfloat16"), w}, {{"__out_dtype__", "float32"}});
  const Symbol second = RuleOp("_rule_gemm", "fc2", {AmpCast("c2", low, "bfloat16"), w});
  EXPECT_EQ(Removed(AmpCast("head", second, "float32", {{"__output_name__", "fc2_output"}})),
            "%0 x = null()\n"
            "%1 w = null() __lr_mult__=2\n"
            "%2 fc = _rule_gemm(%0, %1)\n"
            "%3 fc2 = _rule_gemm(%2, %1)\n"
            "outputs: %3\n");
}

TEST(RemoveAmpCasts, MulticastsAreTheirInputs) {
  const Symbol both =
      Op("amp_multicast", "a_amp_multicast", {AmpCast("c", Var("a"), "float16"), Var("b")}, {{"num_outputs", "2"}});
  EXPECT_EQ(Removed(RuleOp("_rule_add", "s", {both.At(1), both.At(0)})),
            "%0 b = null()\n"
            "%1 a = null()\n"
            "%2 s = _rule_add(%0, %1)\n"
            "outputs: %2\n");
}

TEST(RemoveAmpCasts, AnotherNameOfAHeadStays) {
  const Symbol net = AmpCast("head", RuleOp("_rule_move", "m", {Var("x")}), "float32", {{"__output_name__", "last"}});
  const RewriteResult result = RemoveAmpCasts(net.ToGraph(), {});
  EXPECT_EQ(OutputName(result.graph.outputs()[0]), "last");
  EXPECT_EQ(result.graph.outputs()[0].node->op_name(), "_copy");
}

TEST(RemoveAmpCasts, WhatIsLowByItselfIsCastWhereThatIsNeeded) {
  const Symbol x = Var("x"), w = Var("w", {{"__amp_dtype__", "bfloat16"}, {"__dtype__", "12"}});
  const std::map<std::string, DType> low{{"x", DType::kBFloat16}, {"w", DType::kBFloat16}};
  EXPECT_EQ(Removed(RuleOp("_rule_exp", "e", {AmpCast("c", x, "float32")}), low),
            "%0 x = null()\n"
            "%1 x_0_amp_cast_float32 = amp_cast(%0) dtype=float32\n"
            "%2 e = _rule_exp(%1)\n"
            "outputs: %2\n");
  EXPECT_EQ(Removed(RuleOp("_rule_gemm", "fc", {x, w}), low),
            "%0 x = null()\n"
            "%1 x_0_amp_cast_float32 = amp_cast(%0) dtype=float32\n"
            "%2 w = null()\n"
            "%3 fc = _rule_gemm(%1, %2)\n"
            "outputs: %3\n");
  const Symbol all_low = RuleOp("_rule_gemm", "fc", {x, Var("v", {{"__dtype__", "12"}})});
  EXPECT_EQ(Removed(all_low, low), Text(all_low));
}

TEST(RemoveAmpCasts, AGraphWithoutCastsStaysTheSameObject) {
  const Symbol net = RuleOp("_rule_gemm", "fc", {Var("x"), Var("w")});
  EXPECT_FALSE(RemoveAmpCasts(net.ToGraph(), {}).changed);
}

}  // namespace
}  // namespace amp::testing
