#include "passes/precision/cast_params_offline.h"

#include <gtest/gtest.h>

#include "passes/fake_rules.h"
#include "passes/typed.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::Var;

Symbol Op(std::string_view op, std::string name, const std::vector<Symbol>& inputs, AttrMap attrs = {}) {
  testing::RegisterRuleOps();
  return testing::Op(op, std::move(name), inputs, std::move(attrs));
}
Symbol Cast(const std::string& name, const Symbol& data, const char* dtype = "bfloat16") {
  return Op("amp_cast", name, {data}, {{"dtype", dtype}});
}
OfflineCasts Offline(const Symbol& symbol, const std::set<std::string>& parameters) {
  return CastParamsOffline(Model(symbol.ToGraph(), {}, parameters));
}

TEST(CastParamsOffline, ACastParameterTakesTheDTypeItself) {
  const Symbol w = Var("w", {{"__dtype__", "0"}, {"__lr_mult__", "2"}});
  const OfflineCasts result = Offline(Op("_rule_gemm", "fc", {Cast("cx", Var("x")), Cast("cw", w)}), {"w"});
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 x = null()\n"
            "%1 cx = amp_cast(%0) dtype=bfloat16\n"
            "%2 w = null() __amp_dtype__=bfloat16 __dtype__=12 __lr_mult__=2\n"
            "%3 fc = _rule_gemm(%1, %2)\n"
            "outputs: %3\n");
  EXPECT_EQ(result.casts, (std::map<std::string, DType>{{"w", DType::kBFloat16}}));
  EXPECT_TRUE(result.rewrite.changed);
}

TEST(CastParamsOffline, SharedByReadersThatAgree) {
  const Symbol w = Var("w");
  const OfflineCasts result = Offline(
      Op("_rule_add", "s", {Op("_rule_move", "a", {Cast("c1", w)}), Op("_rule_move", "b", {Cast("c2", w)})}), {"w"});
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 w = null() __amp_dtype__=bfloat16 __dtype__=12\n"
            "%1 a = _rule_move(%0)\n"
            "%2 b = _rule_move(%0)\n"
            "%3 s = _rule_add(%1, %2)\n"
            "outputs: %3\n");
}

TEST(CastParamsOffline, ThreeReasonsToLeaveAParameterAlone) {
  const Symbol w = Var("w");
  const Symbol low = Op("_rule_move", "low", {Cast("c", w)});
  const Symbol direct = Op("_rule_add", "s", {Cast("u", low, "float32"), w});
  const Symbol disagree =
      Op("_rule_add", "s", {Cast("u", low, "float32"), Cast("v", Cast("h", w, "float16"), "float32")});
  const Symbol head = Symbol::Group({low, w});
  const Symbol cast_head = Symbol::Group({low, Cast("c2", w)});
  for (const Symbol& symbol : {direct, disagree, head, cast_head}) {
    const OfflineCasts result = Offline(symbol, {"w"});
    EXPECT_TRUE(result.casts.empty()) << testing::Text(symbol);
    EXPECT_FALSE(result.rewrite.changed);
  }
  EXPECT_TRUE(Offline(low, {}).casts.empty());  // an input is no parameter
  EXPECT_TRUE(Offline(Op("_rule_move", "m", {Cast("c", w, "float64")}), {"w"}).casts.empty());  // not to a low dtype
  EXPECT_TRUE(Offline(w, {"w"}).casts.empty());                                                 // nobody reads it
}

TEST(CastParamsOffline, OnlyTheParameterThatQualifiesMoves) {
  const Symbol a = Var("a"), b = Var("b");
  const OfflineCasts result = Offline(
      Symbol::Group({Op("_rule_gemm", "fc", {Cast("ca", a), Cast("cb", b)}), Op("_rule_move", "m", {b})}), {"a", "b"});
  EXPECT_EQ(result.casts.size(), 1u);
  EXPECT_TRUE(result.casts.contains("a"));
}

}  // namespace
}  // namespace amp
