#include "program/convert_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/fake_rules.h"
#include "passes/model.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::RuleOp;
using testing::Text;
using testing::Var;

NDArray Array(DType dtype, Shape shape, float value = 1.00390625f) {
  NDArray array = NDArray::Zeros(dtype, std::move(shape));
  if (dtype == DType::kFloat32) {
    for (std::int64_t i = 0; i < array.size(); ++i) array.As<float>()[i] = value;
  }
  return array;
}

Symbol RuleNetwork() {
  return RuleOp("_rule_exp", "e",
                {RuleOp("_rule_bn", "b", {RuleOp("_rule_gemm", "fc", {Var("x"), Var("w")}), Var("m")})});
}
ModelParams Params() {
  ModelParams params;
  params.args["w"] = Array(DType::kFloat32, {2});
  params.aux["m"] = Array(DType::kFloat32, {2});
  return params;
}

TEST(ConvertModel, RunTimeCasts) {
  const ModelParams params = Params();
  const ConvertedModel result = ConvertModel(RuleNetwork(), params, {}, {});
  EXPECT_EQ(Text(result.symbol),
            "%0 x = null()\n"
            "%1 x_0_amp_cast_bfloat16 = amp_cast(%0) dtype=bfloat16\n"
            "%2 w = null()\n"
            "%3 w_0_amp_cast_bfloat16 = amp_cast(%2) dtype=bfloat16\n"
            "%4 fc = _rule_gemm(%1, %3) __out_dtype__=float32\n"
            "%5 m = null()\n"
            "%6 b = _rule_bn(%4, %5)\n"
            "%7 e = _rule_exp(%6)\n"
            "outputs: %7\n");
  EXPECT_EQ(result.num_casts, 2u);
  EXPECT_TRUE(result.casts.empty());
  EXPECT_EQ(result.params.args.at("w").data(), params.args.at("w").data());
}

TEST(ConvertModel, OfflineCasts) {
  const ModelParams params = Params();
  const ConvertedModel result = ConvertModel(RuleNetwork(), params, {}, {DType::kBFloat16, true});
  EXPECT_EQ(result.num_casts, 1u);
  EXPECT_EQ(result.casts, (std::map<std::string, DType>{{"w", DType::kBFloat16}}));
  EXPECT_EQ(result.params.args.at("w").type().ToString(), "bfloat16[2]");
  EXPECT_EQ(result.params.args.at("w").As<std::uint16_t>()[0], 0x3F80);  // a tie, to even
  EXPECT_EQ(result.params.aux.at("m").dtype(), DType::kFloat32);
  EXPECT_EQ(params.args.at("w").dtype(), DType::kFloat32);  // the argument is as it was
  EXPECT_CONTAINS(Text(result.symbol), "w = null() __amp_dtype__=bfloat16 __dtype__=12\n");
}

TEST(ConvertModel, ToFloat16) {
  const ConvertedModel result = ConvertModel(RuleNetwork(), Params(), {}, {DType::kFloat16, true});
  EXPECT_EQ(result.params.args.at("w").dtype(), DType::kFloat16);
  EXPECT_CONTAINS(Text(result.symbol), "x_0_amp_cast_float16");
}

TEST(ConvertModel, AgainChangesNothing) {
  for (const bool offline : {false, true}) {
    const ConvertedModel once = ConvertModel(RuleNetwork(), Params(), {}, {DType::kBFloat16, offline});
    const ConvertedModel twice = ConvertModel(once.symbol, once.params, {}, {DType::kBFloat16, offline});
    EXPECT_EQ(ToSymbolJson(twice.symbol), ToSymbolJson(once.symbol));
    EXPECT_EQ(twice.params.args.at("w").data(), once.params.args.at("w").data());
    EXPECT_TRUE(twice.casts.empty());
  }
}

TEST(ConvertModel, ShapesNeedNotBeKnown) {
  ModelParams none;
  EXPECT_EQ(ConvertModel(RuleNetwork(), none, {}, {}).num_casts, 2u);
}

std::string Refusal(const ModelParams& params, const TypeMap& inputs, const ConvertOptions& options = {}) {
  return ErrorOf<ArgumentError>([&] { ConvertModel(RuleNetwork(), params, inputs, options); });
}

TEST(ConvertModel, RefusesWhatTheCallerGotWrong) {
  EXPECT_EQ(Refusal(Params(), {{"data", {DType::kFloat32, Shape()}}}), "the symbol has no input 'data'");
  EXPECT_EQ(Refusal(Params(), {}, {DType::kInt8, false}), "target dtype: expected bfloat16 or float16, got int8");
  EXPECT_EQ(Refusal(Params(), {{"w", {DType::kFloat64, Shape()}}}),
            "'w' is given as float64?, but its parameter array is float32[2]");
  EXPECT_EQ(Refusal(Params(), {{"w", {DType::kFloat32, Shape{3}}}}),
            "'w' is given as float32[3], but its parameter array is float32[2]");
  ModelParams undefined = Params();
  undefined.args["w"] = NDArray();
  EXPECT_EQ(Refusal(undefined, {}), "the array of the parameter 'w' has no value");
  ModelParams twice = Params();
  twice.args["m"] = twice.aux["m"];
  EXPECT_EQ(Refusal(twice, {}), "'m' is given both as argument and as auxiliary state");
}

TEST(ConvertModel, RefusesWhatTheModelHasWrong) {
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] {
                    ConvertModel(RuleNetwork(), Params(), {{"x", {DType::kInt32, Shape()}}}, {});
                  }),
                  "_rule_gemm 'fc'");
}

TEST(ConvertModel, VariablesOfOneNameAreOne) {
  const Symbol duplicate = RuleOp("_rule_gemm", "fc", {Var("x"), RuleOp("_rule_add", "s", {Var("x"), Var("y")})});
  const Symbol converted = ConvertModel(duplicate, {}, {}, {}).symbol;
  EXPECT_EQ(converted.ListArguments(), (std::vector<std::string>{"x", "y"}));
}

TEST(ConvertModel, WhatCannotBeTypedStays) {
  const Symbol untyped = RuleOp("_rule_halves", "h", {Var("x"), RuleOp("_rule_gemm", "fc", {Var("z"), Var("w")})});
  const ConvertedModel converted =
      ConvertModel(Symbol::Group({untyped, RuleOp("_rule_move", "m", {untyped})}), {}, {}, {});
  EXPECT_CONTAINS(Text(converted.symbol), "fc = _rule_gemm(%2, %4) __out_dtype__=float32\n");
  EXPECT_CONTAINS(Text(converted.symbol), "h = _rule_halves(%0, %5)\n");
}

TEST(VariableTypes, ArraysThenCallerThenAttributeThenFloat32) {
  const Symbol symbol =
      Symbol::Group({Var("w", {{"__dtype__", "1"}}), Var("given", {{"__dtype__", "1"}}),
                     Var("marked", {{"__dtype__", "4"}}), Var("unknown", {{"__dtype__", "-1"}}), Var("plain")});
  const TypeMap types =
      VariableTypes(symbol.ToGraph(), Params(), {{"given", {DType::kInt64, Shape{1}}}, {"plain", {}}});
  EXPECT_EQ(types.at("w").ToString(), "float32[2]");
  EXPECT_EQ(types.at("given").ToString(), "int64[1]");
  EXPECT_EQ(types.at("marked").ToString(), "int32?");
  EXPECT_EQ(types.at("unknown").ToString(), "float32?");
  EXPECT_EQ(types.at("plain").ToString(), "float32?");
}

TEST(VariableTypes, AParameterInTheOtherGroupIsFound) {
  ModelParams params;
  params.args["w"] = params.args["m"] = Array(DType::kFloat32, {2});  // all in one map, as some callers do
  EXPECT_EQ(VariableTypes(RuleNetwork().ToGraph(), params, {}).at("m").ToString(), "float32[2]");
}

}  // namespace
}  // namespace amp
