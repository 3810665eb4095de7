#include "passes/cast_params_offline.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/float_bits.h"
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
  return CastParamsOffline(symbol.ToGraph(), parameters);
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

// Every float32 whose low half is a corner case, NaN and denormals among them.
NDArray Corners() {
  NDArray array(DType::kFloat32, {256, 16});
  std::size_t i = 0;
  for (std::uint32_t high = 0; high < 256; ++high) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      array.As<std::uint32_t>()[i++ % 4096] = (high * 0x0101u) << 16 | low;
    }
  }
  for (; i < 4096; ++i) array.As<std::uint32_t>()[i] = static_cast<std::uint32_t>(i * 0x9E3779B9u);
  return array;
}

TEST(CastArray, EqualsTheScalarDefinitionBitForBit) {
  const NDArray from = Corners();
  const NDArray to = CastArray(from, DType::kBFloat16);
  EXPECT_EQ(to.type().ToString(), "bfloat16[256,16]");
  for (std::int64_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(to.As<std::uint16_t>()[i], kernels::FloatToBF16(from.As<float>()[i])) << from.As<std::uint32_t>()[i];
  }
}

TEST(CastArray, TheSameDTypeSharesMemory) {
  const NDArray array = NDArray::Zeros(DType::kBFloat16, {2});
  EXPECT_EQ(CastArray(array, DType::kBFloat16).data(), array.data());
}

TEST(CastArrays, ReplacesWhatIsNamedInEitherGroup) {
  ModelParams params;
  params.args["a"] = params.args["b"] = NDArray::Zeros(DType::kFloat32, {2});
  params.aux["m"] = NDArray::Zeros(DType::kFloat32, {2});
  CastArrays({{"a", DType::kBFloat16}, {"m", DType::kFloat16}}, &params);
  EXPECT_EQ(params.args["a"].dtype(), DType::kBFloat16);
  EXPECT_EQ(params.args["b"].dtype(), DType::kFloat32);
  EXPECT_EQ(params.aux["m"].dtype(), DType::kFloat16);
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              CastArrays({{"z", DType::kBFloat16}}, &params);
            }),
            "there is no array for the parameter 'z'");
}

}  // namespace
}  // namespace amp
