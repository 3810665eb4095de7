#include "passes/precision/cast_params_offline.h"

#include <gtest/gtest.h>

#include "passes/fake_rules.h"
#include "passes/typed.h"

namespace amp {
namespace {

using testing::AmpCast;
using testing::ErrorOf;
using testing::RuleOp;
using testing::Var;

OfflineCasts Offline(const Symbol& symbol, const std::set<std::string>& parameters) {
  return CastParamsOffline(Model(symbol.ToGraph(), {}, parameters));
}

TEST(CastParamsOffline, ACastParameterTakesTheDTypeItself) {
  const Symbol w = Var("w", {{"__dtype__", "0"}, {"__lr_mult__", "2"}});
  const OfflineCasts result = Offline(RuleOp("_rule_gemm", "fc", {AmpCast("cx", Var("x")), AmpCast("cw", w)}), {"w"});
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 x = null()\n"
            "%1 cx = amp_cast(%0) __amp_cast__=1 dtype=bfloat16\n"
            "%2 w = null() __amp_dtype__=bfloat16 __dtype__=12 __lr_mult__=2\n"
            "%3 fc = _rule_gemm(%1, %2)\n"
            "outputs: %3\n");
  EXPECT_EQ(result.casts, (std::map<std::string, DType>{{"w", DType::kBFloat16}}));
  EXPECT_TRUE(result.rewrite.changed);
}

TEST(CastParamsOffline, SharedByReadersThatAgree) {
  const Symbol w = Var("w");
  const OfflineCasts result =
      Offline(RuleOp("_rule_add", "s",
                     {RuleOp("_rule_move", "a", {AmpCast("c1", w)}), RuleOp("_rule_move", "b", {AmpCast("c2", w)})}),
              {"w"});
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 w = null() __amp_dtype__=bfloat16 __dtype__=12\n"
            "%1 a = _rule_move(%0)\n"
            "%2 b = _rule_move(%0)\n"
            "%3 s = _rule_add(%1, %2)\n"
            "outputs: %3\n");
}

TEST(CastParamsOffline, ThreeReasonsToLeaveAParameterAlone) {
  const Symbol w = Var("w");
  const Symbol low = RuleOp("_rule_move", "low", {AmpCast("c", w)});
  const Symbol direct = RuleOp("_rule_add", "s", {AmpCast("u", low, "float32"), w});
  const Symbol disagree =
      RuleOp("_rule_add", "s", {AmpCast("u", low, "float32"), AmpCast("v", AmpCast("h", w, "float16"), "float32")});
  const Symbol head = Symbol::Group({low, w});
  const Symbol cast_head = Symbol::Group({low, AmpCast("c2", w)});
  for (const Symbol& symbol : {direct, disagree, head, cast_head}) {
    const OfflineCasts result = Offline(symbol, {"w"});
    EXPECT_TRUE(result.casts.empty()) << testing::Text(symbol);
    EXPECT_FALSE(result.rewrite.changed);
  }
  EXPECT_TRUE(Offline(low, {}).casts.empty());  // an input is no parameter
  EXPECT_TRUE(
      Offline(RuleOp("_rule_move", "m", {AmpCast("c", w, "float64")}), {"w"}).casts.empty());  // not to a low dtype
  EXPECT_TRUE(Offline(w, {"w"}).casts.empty());                                                // nobody reads it
}

TEST(CastParamsOffline, OnlyTheParameterThatQualifiesMoves) {
  const Symbol a = Var("a"), b = Var("b");
  const OfflineCasts result = Offline(
      Symbol::Group({RuleOp("_rule_gemm", "fc", {AmpCast("ca", a), AmpCast("cb", b)}), RuleOp("_rule_move", "m", {b})}),
      {"a", "b"});
  EXPECT_EQ(result.casts.size(), 1u);
  EXPECT_TRUE(result.casts.contains("a"));
}

}  // namespace
}  // namespace amp
