#include "passes/precision/decide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "nnvm/symbol_json.h"
#include "passes/decided.h"
#include "passes/fake_rules.h"
#include "passes/precision/apply_decision.h"
#include "passes/typed.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

using Params = std::set<std::string>;

RewriteResult Rewritten(const Model& t) {
  RewriteResult result = ApplyDecision(t.graph(), Decide(t, {}));
  EXPECT_EQ(FindViolations(result.graph), "");
  return result;
}
std::string PrintConverted(const Symbol& symbol, const Params& parameters = {}, const TypeMap& known = {}) {
  return PrintGraph(Rewritten(MakeTyped(symbol, parameters, known)).graph);
}

const std::string kGains = "accumulates";

// Something low in front of an operator, and something behind it that wants it low.
Symbol Between(std::string_view op, const Symbol& data) { return Gemm("after", RuleOp(op, "m", {Gemm("fc", data)})); }

TEST(Decide, AccumulatingOperatorsGoLow) {
  const Symbol two = Gemm("after", Gemm("fc", Var("x")));
  EXPECT_CONTAINS(Decided(two), "fc.data <- bfloat16: " + kGains + "\nfc.weight <- bfloat16: " + kGains +
                                    "\nfc.output -> bfloat16: " + kGains + "\n");
  // Sums may be larger than the largest number in float16.
  EXPECT_CONTAINS(Decided(two, {.target = DType::kFloat16}), "fc.data <- float16: " + kGains +
                                                                 "\nfc.weight <- float16: " + kGains +
                                                                 "\nfc.output -> float32: " + kGains + "\n");
}

TEST(Decide, WhatIsReadInFloat32IsWrittenInFloat32) {
  const Symbol fc = Gemm("fc", Var("x"));
  EXPECT_CONTAINS(Decided(fc), "fc.weight <- bfloat16: " + kGains + "\nfc.output -> float32: " + kGains + "\n");
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {fc})), "fc.output -> float32");
  // Where readers disagree, the accurate one is written and the other one cast.
  EXPECT_CONTAINS(Decided(Symbol::Group({RuleOp("_rule_exp", "e", {fc}), Gemm("after", fc)})), "fc.output -> float32");
}

TEST(Decide, NeutralOperatorsGoLowWhereThatSavesWork) {
  const std::string nothing = "none_low";
  EXPECT_EQ(Decided(RuleOp("_rule_move", "m", {Var("x")})),
            "m.data <- float32: " + nothing + "\nm.output -> float32: " + nothing + "\n");
  EXPECT_CONTAINS(Decided(Between("_rule_move", Var("x"))), "m.data <- bfloat16: reads_low fc_output\n");
  // Nobody gains from that: no.
  EXPECT_CONTAINS(Decided(RuleOp("_rule_move", "m", {Gemm("fc", Var("x"))})), "m.data <- float32: not_wanted\n");
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {RuleOp("_rule_move", "m", {Gemm("fc", Var("x"))})})),
                  "m.data <- float32: not_wanted e_output\n");
}

TEST(Decide, ASumOfLowAndFloat32StaysFloat32) {
  const auto sum = [](const Symbol& a, const Symbol& b) { return Gemm("after", RuleOp("_rule_add", "s", {a, b})); };
  const std::string mixed = Decided(sum(Gemm("fc", Var("x")), Var("y")));
  EXPECT_CONTAINS(mixed,
                  "s.lhs <- float32: reads_high y\ns.rhs <- float32: reads_high y\n"
                  "s.output -> float32: reads_high y\n");
  EXPECT_CONTAINS(mixed, "fc.output -> float32");
  EXPECT_CONTAINS(Decided(sum(Gemm("a", Var("x")), Gemm("b", Var("x")))), "s.output -> bfloat16");
}

TEST(Decide, AParameterBesideALowTensorIsPulledDown) {
  const Symbol s = Gemm("after", RuleOp("_rule_add", "s", {Gemm("fc", Var("x")), Var("bias")}));
  EXPECT_CONTAINS(Decided(s, {}, {"bias"}), "s.rhs <- bfloat16: reads_low fc_output");
  EXPECT_CONTAINS(Decided(s), "s.rhs <- float32: reads_high bias");
  // But parameters alone do not pull anything.
  EXPECT_CONTAINS(Decided(RuleOp("_rule_add", "s", {Var("x"), Var("bias")}), {}, {"bias"}),
                  "s.output -> float32: none_low");
}

// A sibling's cast is no reason (W5); saving a cast behind the operator is one.
TEST(Decide, ASiblingsCastCountsWhereItSavesOne) {
  const Symbol x = Var("x"), fc = Gemm("fc", x);
  EXPECT_CONTAINS(Decided(Symbol::Group({fc, RuleOp("_rule_add", "s", {x, x})})), "s.output -> float32");
  EXPECT_CONTAINS(Decided(Symbol::Group({fc, RuleOp("_rule_exp", "e", {RuleOp("_rule_add", "s", {x, x})})})),
                  "s.output -> float32");
  EXPECT_CONTAINS(Decided(Symbol::Group({fc, Gemm("after", RuleOp("_rule_add", "s", {x, x}))})),
                  "s.output -> bfloat16: shares_cast x");
}

// In training a rounding counts forwards and backwards: only the one for a product is made, and it may move.
TEST(Decide, InTrainingOnlyWhatCommutesWithRoundingFollows) {
  const auto decided = [](const std::string& op, PrecisionPolicy policy, bool training) {
    const Symbol middle = Op(op, "m", {Gemm("fc", Var("x"))});
    const Model t = MakeTyped(Gemm("after", middle.At(0)));
    ConvertOptions options{.policy = policy, .training = training};
    if (policy == PrecisionPolicy::kOptimal) options.minimize = Minimize::kCasts;
    if (policy == PrecisionPolicy::kGraphAmp) options.preset = PresetFromName("mp2");
    return PrintKinds(t.graph(), Decide(t, options));
  };
  for (const PrecisionPolicy policy : {PrecisionPolicy::kDefault, PrecisionPolicy::kOptimal}) {
    EXPECT_CONTAINS(decided("sigmoid", policy, false), "m.output -> bfloat16");
    EXPECT_CONTAINS(decided("sigmoid", policy, true), "m.data <- float32: training\nm.output -> float32: training\n");
    EXPECT_CONTAINS(decided("sigmoid", policy, true), "fc.output -> float32");
    EXPECT_CONTAINS(decided("relu", policy, true), "m.output -> bfloat16");
    EXPECT_CONTAINS(decided("Dropout", policy, false), "m.output -> bfloat16");
    EXPECT_CONTAINS(decided("Dropout", policy, true), "m.output -> float32: training");
  }
  EXPECT_CONTAINS(decided("Dropout", PrecisionPolicy::kGraphAmp, false), "m.output -> bfloat16");
  EXPECT_CONTAINS(decided("Dropout", PrecisionPolicy::kGraphAmp, true), "m.output -> float32");
  EXPECT_EQ(decided("sigmoid", PrecisionPolicy::kMXNet, true), decided("sigmoid", PrecisionPolicy::kMXNet, false));
}

TEST(Decide, InTrainingBatchNormsFollowAndCallersDecide) {
  const Symbol conv =
      Op("Convolution", "conv", {Var("x")}, {{"kernel", "(1, 1)"}, {"num_filter", "2"}, {"no_bias", "1"}});
  const Symbol norm = Op("sigmoid", "s", {Op("BatchNorm", "bn", {conv}).At(0)});
  const Symbol after =
      Op("Convolution", "after", {norm}, {{"kernel", "(1, 1)"}, {"num_filter", "2"}, {"no_bias", "1"}});
  TypeMap types{{"x", {DType::kFloat32, {2, 2, 3, 3}}}};
  for (const char* name : {"conv_weight", "after_weight"}) types[name] = {DType::kFloat32, {2, 2, 1, 1}};
  for (const char* name : {"bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"}) {
    types[name] = {DType::kFloat32, {2}};
  }
  const Model t = MakeTyped(after, {}, types);
  ConvertOptions options{.training = true};
  EXPECT_CONTAINS(PrintKinds(t.graph(), Decide(t, options)), "bn.output -> float32: not_wanted s_output\n");
  options.force["s"] = DType::kBFloat16;
  const std::string forced = PrintKinds(t.graph(), Decide(t, options));
  EXPECT_CONTAINS(forced, "s.output -> bfloat16: user");
  EXPECT_CONTAINS(forced, "bn.output -> bfloat16: reads_low conv_output\n");
}

TEST(Decide, WhatTrainingExcludesIsRefused) {
  const Model t = MakeTyped(Gemm("fc", Var("x")));
  const auto error_of = [&](const ConvertOptions& options) {
    return ErrorOf<ArgumentError>([&] { Decide(t, options); });
  };
  EXPECT_CONTAINS(error_of({.cast_params_offline = true, .training = true}), "cast_params_offline: the parameters");
  EXPECT_CONTAINS(error_of({.fold_batch_norm = true, .training = true}), "fold_batch_norm: a model for training");
}

// `wide` has more elements than x: rounding commutes with it, so the cast stands in front of it.
TEST(Decide, CastsStandWhereTheTensorIsSmallest) {
  const TypeMap small{{"x", {DType::kFloat32, {2, 2}}}};
  const Symbol tiled = Op("tile", "wide", {Var("x")}, {{"reps", "(1, 3)"}});
  const auto after = [](const Symbol& data) {
    return Op("FullyConnected", "after", {data, Var("w")}, {{"num_hidden", "2"}, {"no_bias", "True"}});
  };
  const TypeMap known{{"x", {DType::kFloat32, {2, 2}}}, {"w", {DType::kFloat32, {2, 6}}}};
  EXPECT_CONTAINS(Decided(after(tiled), {}, {"w"}, known), "wide.output -> bfloat16: casts_less x");
  const Symbol sliced = Op("slice_axis", "part", {Var("x")}, {{"axis", "1"}, {"begin", "0"}, {"end", "1"}});
  const TypeMap narrow{{"x", {DType::kFloat32, {2, 2}}}, {"w", {DType::kFloat32, {2, 1}}}};
  EXPECT_CONTAINS(Decided(after(sliced), {}, {"w"}, narrow), "part.output -> float32");
}

TEST(Decide, StatisticsStayFloat32) {
  const auto norm = [](const Symbol& scale) {
    return Gemm("after", RuleOp("_rule_norm", "n", {Gemm("fc", Var("x")), scale}));
  };
  const std::string text = Decided(norm(Var("scale")), {}, {"scale"});
  EXPECT_CONTAINS(text, "n.data <- bfloat16: reads_low fc_output");
  EXPECT_CONTAINS(text, "n.scale <- float32: statistic");
  EXPECT_CONTAINS(text, "n.output -> bfloat16");
  // Even where the scale is computed by something that goes low.
  EXPECT_CONTAINS(Decided(norm(Gemm("g", Var("x")))), "n.scale <- float32");
}

TEST(Decide, HiddenOutputsAreDecidedToo) {
  const std::string text = Decided(Gemm("after", RuleOp("_rule_bn", "b", {Gemm("fc", Var("x"))})));
  EXPECT_CONTAINS(text, "b.output -> bfloat16");
  EXPECT_CONTAINS(text, "b.saved -> float32");
}

TEST(Decide, ExponentialsStayFloat32) {
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {Gemm("fc", Var("x"))})), "e.data <- float32: needs_float32");
}

TEST(Decide, IntegersAreNotTouched) {
  const TypeMap ints{{"i", {DType::kInt32, Shape()}}};
  const std::string picked = Decided(RuleOp("_rule_pick", "p", {Var("x"), Var("i")}), {}, {}, ints);
  EXPECT_CONTAINS(picked, "p.data <- bfloat16");
  EXPECT_CONTAINS(picked, "p.index <- int32: index");
  const TypeMap both{{"i", {DType::kInt32, Shape()}}, {"j", {DType::kInt32, Shape()}}};
  EXPECT_CONTAINS(Decided(RuleOp("_rule_add", "s", {Var("i"), Var("j")}), {}, {}, both), "s.output -> int32");
}

TEST(Decide, FloatsThatCountAreNotRounded) {
  // An index, even through data movement, and whatever else reads it.
  const Symbol ids = Var("ids"), moved = RuleOp("_rule_move", "m", {ids});
  const Symbol picked = RuleOp("_rule_pick", "p", {Var("x"), moved});
  EXPECT_CONTAINS(Decided(picked), "p.index <- float32");
  EXPECT_CONTAINS(Decided(Symbol::Group({picked, Gemm("fc", ids)})), "fc.data <- float32: integers ids");
  // What is computed from positions.
  const Symbol positions = Op("_arange", "positions", {}, {{"start", "0"}, {"stop", "300"}});
  const Symbol shifted = Op("_plus_scalar", "shifted", {positions}, {{"scalar", "1"}});
  const Symbol row = Op("Reshape", "row", {shifted}, {{"shape", "(1, 300)"}});
  const Symbol fc = Op("FullyConnected", "fc", {row, Var("w")}, {{"num_hidden", "2"}, {"no_bias", "True"}});
  EXPECT_CONTAINS(Decided(fc, {}, {"w"}, {{"w", {DType::kFloat32, {2, 300}}}}),
                  "fc.data <- float32: integers row_output");
}

TEST(Decide, OtherDTypesAreExcluded) {
  const TypeMap doubles{{"x", {DType::kFloat64, Shape()}}};
  EXPECT_CONTAINS(
      Decided(Gemm("fc", Var("x")), {}, {}, {{"x", {DType::kFloat64, Shape()}}, {"fc_w", {DType::kFloat64, Shape()}}}),
      "fc.data <- float64: wrong_dtype x\n");
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {Var("x")}), {}, {}, doubles), "e.output -> float64");
  const TypeMap halves{{"x", {DType::kFloat16, Shape()}}, {"fc_w", {DType::kFloat16, Shape()}}};
  EXPECT_CONTAINS(Decided(Gemm("fc", Var("x")), {}, {}, halves), "fc.output -> float16: wrong_dtype x");
  EXPECT_CONTAINS(Decided(Gemm("fc", Var("x")), {.target = DType::kFloat16}, {}, halves),
                  "fc.output -> float16: " + kGains);
}

TEST(Decide, WhatTheOperatorRefusesStays) {
  EXPECT_CONTAINS(Decided(RuleOp("_rule_only32", "o", {Var("x")})),
                  "o.data <- float32: refused (_rule_only32 'o': expected data of dtype "
                  "float32, got bfloat16)\n");
}

TEST(Decide, IgnoredInputsAreTakenAsTheyCome) {
  EXPECT_CONTAINS(Decided(Gemm("after", RuleOp("_rule_loss", "l", {Gemm("fc", Var("x")), Var("label")}))),
                  "l.label <- float32: not_read\nl.output -> bfloat16");
}

TEST(Decide, CastsOfAnEarlierConversionKeepTheirMeaning) {
  const Symbol low = AmpCast("c", Var("x"));
  EXPECT_CONTAINS(Decided(RuleOp("_rule_move", "m", {low})), "m.output -> bfloat16");
  const Symbol up = AmpCast("c", Gemm("fc", low), "float32");
  EXPECT_CONTAINS(Decided(up, {}, {}, {{"fc_w", {DType::kBFloat16, Shape()}}}),
                  "c.data <- bfloat16: casts\nc.output -> float32");
  EXPECT_CONTAINS(Decided(Op("Cast", "c", {Gemm("fc", Var("x"))}, {{"dtype", "int32"}})), "c.output -> int32");
  // A cast to the target is as good as a reader that gains.
  const Symbol asked = AmpCast("c", RuleOp("_rule_move", "m", {Gemm("fc", Var("x"))}));
  EXPECT_CONTAINS(Decided(asked), "m.output -> bfloat16");
}

// What MXNet 1.9.1 writes around operators that it keeps in float32. Between two of them a rounding would be new.
TEST(Decide, AnOperatorBetweenCastsNeedsThemNot) {
  const TypeMap known{{"x", {DType::kBFloat16, Shape()}}};
  const Symbol up = AmpCast("up", Var("x"), "float32");
  const auto down = [](const Symbol& data) { return AmpCast("down", data); };
  const auto end = [](const Symbol& data) { return RuleOp("_rule_move", "end", {data}); };
  EXPECT_EQ(PrintConverted(end(down(RuleOp("_rule_move", "m", {up}))), {}, known),
            "%0 x = null()\n%1 m = _rule_move(%0)\n%2 end = _rule_move(%1)\noutputs: %2\n");
  const std::string two =
      PrintConverted(end(down(RuleOp("_rule_move", "n", {RuleOp("_rule_move", "m", {up})}))), {}, known);
  EXPECT_CONTAINS(two, "up = amp_cast");
  EXPECT_CONTAINS(two, "down = amp_cast");
}

TEST(Decide, RefusesTargetsThatAreNotLow) {
  for (const DType target : {DType::kFloat32, DType::kInt8, DType::kUnknown}) {
    EXPECT_EQ(ErrorOf<ArgumentError>([&] { Decided(Var("x"), {.target = target}); }),
              "target dtype: expected bfloat16 or float16, got " + NameOf(target));
  }
}

// A random symbol of made-up operators; all its nodes by name.
std::map<std::string, Symbol> RandomNodes(std::mt19937& random) {
  std::map<std::string, Symbol> nodes{{"v0", Var("v0")}, {"v1", Var("v1")}};
  std::vector<std::string> names{"v0", "v1"};
  const char* const ops[] = {"_rule_gemm", "_rule_add",  "_rule_norm",  "_rule_exp",
                             "_rule_move", "_rule_pick", "_rule_only32"};
  for (int i = 0; i < 14; ++i) {
    const std::string name = "n" + std::to_string(i);
    const auto any = [&] { return nodes.at(names[random() % names.size()]); };
    std::vector<Symbol> inputs{any()};
    const amp::Op& op = OpRegistry::Get().Require(kMXNetDomain, ops[random() % std::size(ops)]);
    if (op.input_names(op.parse({}).get()).size() == 2 && random() % 2) inputs.push_back(any());
    nodes.emplace(name, RuleOp(op.name, name, inputs));
    names.push_back(name);
  }
  return nodes;
}

TEST(Decide, DoesNotDependOnTheOrderOfNodes) {
  RegisterRuleOps();
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const std::map<std::string, Symbol> nodes = RandomNodes(random);
    std::vector<Symbol> heads;
    for (const auto& [name, symbol] : nodes) heads.push_back(symbol);
    const Params parameters{"n3_weight", "n5_rhs", "n7_weight"};
    std::vector<std::string> first;
    for (int order = 0; order < 5; ++order) {
      std::shuffle(heads.begin(), heads.end(), random);  // another depth-first order
      const std::vector<std::string> lines = SortedLines(Decided(Symbol::Group(heads), {}, parameters));
      if (order == 0) first = lines;
      EXPECT_EQ(lines, first) << "round " << round;
    }
  }
}

TEST(Decide, IsPure) {
  std::mt19937 random(12);
  RegisterRuleOps();
  const Model t = MakeTyped(RandomNodes(random).at("n13"));
  const std::string before = PrintGraph(t.graph());
  const std::string once = PrintKinds(t.graph(), Decide(t, {}));
  EXPECT_EQ(PrintKinds(t.graph(), Decide(t, {})), once);
  EXPECT_EQ(PrintGraph(t.graph()), before);
}

TEST(ApplyDecision, OneProduct) {
  EXPECT_EQ(PrintConverted(Gemm("fc", Var("x"))),
            "%0 x = null()\n"
            "%1 x_0_amp_cast_bfloat16 = amp_cast(%0) dtype=bfloat16\n"
            "%2 fc_w = null()\n"
            "%3 fc_w_0_amp_cast_bfloat16 = amp_cast(%2) dtype=bfloat16\n"
            "%4 fc = _rule_gemm(%1, %3) __out_dtype__=float32\n"
            "outputs: %4\n");
}

TEST(ApplyDecision, ReadersShareOneCast) {
  const Symbol x = Var("x");
  const Symbol s = RuleOp("_rule_add", "s", {Gemm("a", x), RuleOp("_rule_gemm", "b", {x, x})});
  EXPECT_EQ(PrintConverted(Symbol::Group({RuleOp("_rule_gemm", "c", {s, x}), RuleOp("_rule_exp", "e", {s})})),
            "%0 x = null()\n"
            "%1 x_0_amp_cast_bfloat16 = amp_cast(%0) dtype=bfloat16\n"
            "%2 a_w = null()\n"
            "%3 a_w_0_amp_cast_bfloat16 = amp_cast(%2) dtype=bfloat16\n"
            "%4 a = _rule_gemm(%1, %3)\n"
            "%5 b = _rule_gemm(%1, %1)\n"
            "%6 s = _rule_add(%4, %5)\n"
            "%7 c = _rule_gemm(%6, %1) __out_dtype__=float32\n"
            "%8 s_0_amp_cast_float32 = amp_cast(%6) dtype=float32\n"
            "%9 e = _rule_exp(%8)\n"
            "outputs: %7 %9\n");
}

TEST(ApplyDecision, NothingToDoChangesNothing) {
  const Model t = MakeTyped(RuleOp("_rule_exp", "e", {Var("x")}));
  const RewriteResult result = Rewritten(t);
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(result.graph.nodes(), t.graph().nodes());
}

TEST(ApplyDecision, AHeadThatIsReadInFloat32SharesItsCast) {
  const Symbol m = RuleOp("_rule_move", "m", {Gemm("fc", Var("x"))});
  const std::string text = PrintConverted(Symbol::Group({m, RuleOp("_rule_exp", "e", {m}), Gemm("after", m)}));
  EXPECT_CONTAINS(text, "m_0_amp_cast_float32 = amp_cast(%5) __output_name__=m_output dtype=float32\n");
  EXPECT_CONTAINS(text, "e = _rule_exp(%6)\n");
}

TEST(ApplyDecision, LosslessChainsOfCastsCollapse) {
  // low -> float32 -> low is nothing; float32 -> low -> float32 is something.
  const Symbol low = RuleOp("_rule_move", "m", {Var("x")});
  const TypeMap known{{"x", {DType::kBFloat16, Shape()}}};
  const Symbol up = AmpCast("up", low, "float32");
  const Symbol down = AmpCast("down", up);
  EXPECT_EQ(PrintConverted(RuleOp("_rule_move", "end", {down}), {}, known),
            "%0 x = null()\n%1 m = _rule_move(%0)\n%2 end = _rule_move(%1)\noutputs: %2\n");
  const Symbol rounded = AmpCast("up", AmpCast("down", Var("x")), "float32");
  EXPECT_EQ(PrintConverted(RuleOp("_rule_exp", "e", {rounded})),
            "%0 x = null()\n%1 down = amp_cast(%0) __amp_cast__=1 dtype=bfloat16\n"
            "%2 up = amp_cast(%1) __amp_cast__=1 dtype=float32\n"
            "%3 e = _rule_exp(%2)\noutputs: %3\n");
}

TEST(ApplyDecision, ACastThatIsThereAlreadyIsUsed) {
  const Symbol x = Var("x");
  const Symbol cast = AmpCast("mine", x);
  const std::string first = PrintConverted(Symbol::Group({Gemm("fc", x), cast}));
  EXPECT_CONTAINS(first, "mine = amp_cast(%0)");  // an output of the graph keeps its name, whoever comes first
  EXPECT_FALSE(Contains(first, "x_0_amp_cast"));
  const std::string twice = PrintConverted(RuleOp("_rule_gemm", "fc", {cast, AmpCast("other", x)}));
  EXPECT_CONTAINS(twice, "fc = _rule_gemm(%1, %1)");
}

TEST(ApplyDecision, HeadsKeepNamesDTypesAndNumber) {
  const Symbol x = Var("x");
  const Symbol fc = Gemm("fc", x), mid = RuleOp("_rule_move", "m", {fc});
  const Symbol heads = Symbol::Group({fc, x, mid, fc, RuleOp("_rule_exp", "e", {mid})});
  const Model t = MakeTyped(heads);
  const Symbol after(Rewritten(t).graph.outputs());
  EXPECT_EQ(after.ListOutputs(), heads.ListOutputs());
  EXPECT_EQ(after.outputs()[0], after.outputs()[3]);
  const Model again = MakeTyped(after);
  for (const NodeEntry& head : again.graph().outputs())
    EXPECT_EQ(again.types()[again.graph().EntryOf(head)].dtype, DType::kFloat32);
}

TEST(ApplyDecision, SeveralOutputsAreCastOneByOne) {
  const Symbol split = RuleOp("_rule_split", "s", {Gemm("fc", Var("x"))}, {{"num_outputs", "2"}});
  const Symbol symbol = Symbol::Group({RuleOp("_rule_exp", "e", {split.At(1)}), split});
  const std::string text = PrintConverted(Symbol::Group({symbol, Gemm("after", split.At(0))}));
  EXPECT_CONTAINS(text, "s_1_amp_cast_float32 = amp_cast(%5.1) __output_name__=s_output1 dtype=float32");
  EXPECT_CONTAINS(text, "s_0_amp_cast_float32 = amp_cast(%5) __output_name__=s_output0 dtype=float32");
}

TEST(ApplyDecision, MulticastBecomesCastsOfSingleTensors) {
  const Symbol both = Op("amp_multicast", "fc_amp_multicast", {Gemm("fc", Var("x")), Var("y")});
  EXPECT_EQ(PrintConverted(RuleOp("_rule_add", "s", {both.At(0), both.At(1)})),
            "%0 x = null()\n"
            "%1 x_0_amp_cast_bfloat16 = amp_cast(%0) dtype=bfloat16\n"
            "%2 fc_w = null()\n"
            "%3 fc_w_0_amp_cast_bfloat16 = amp_cast(%2) dtype=bfloat16\n"
            "%4 fc = _rule_gemm(%1, %3) __out_dtype__=float32\n"
            "%5 y = null()\n"
            "%6 s = _rule_add(%4, %5)\n"
            "outputs: %6\n");
  const Symbol narrow =
      Op("amp_multicast", "fc_amp_multicast", {Gemm("fc", Var("x")), Var("y")}, {{"cast_narrow", "True"}});
  const std::string text = PrintConverted(RuleOp("_rule_add", "s", {narrow.At(0), narrow.At(1)}));
  EXPECT_FALSE(Contains(text, "= amp_multicast"));
}

// No dead cast comes back to life: policy optimal counts none.
TEST(ApplyDecision, CastsThatOnlyAMulticastReadAreGone) {
  const Symbol wide = RuleOp("_rule_exp", "wide", {Var("x")});
  const Symbol rounded = Op("Cast", "rounded", {wide}, {{"dtype", "bfloat16"}});
  const std::string text = PrintConverted(Gemm("last", Op("amp_multicast", "fc_amp_multicast", {wide, rounded}).At(0)));
  EXPECT_FALSE(Contains(text, "rounded")) << text;
  EXPECT_TRUE(Contains(text, "wide_0_amp_cast_bfloat16 = amp_cast")) << text;
}

TEST(ApplyDecision, AMulticastThatIsAHeadKeepsItsNames) {
  const Symbol both = Op("amp_multicast", "fc_amp_multicast", {Gemm("fc", Var("x")), Var("y")});
  const Symbol heads = Symbol::Group({both, both.At(1)});
  const Symbol after(Rewritten(MakeTyped(heads)).graph.outputs());
  EXPECT_EQ(after.ListOutputs(), heads.ListOutputs());
  EXPECT_FALSE(Contains(Text(after), "amp_multicast("));
  EXPECT_EQ(after.outputs()[1], after.outputs()[2]);
}

TEST(ApplyDecision, CastsToTheDTypeThatIsThereAlreadyGo) {
  const Symbol same = AmpCast("c", Var("x"), "float32");
  EXPECT_EQ(PrintConverted(RuleOp("_rule_exp", "e", {same})), "%0 x = null()\n%1 e = _rule_exp(%0)\noutputs: %1\n");
  // An output of the graph stays: the name is somebody's.
  EXPECT_EQ(PrintConverted(same), "%0 x = null()\n%1 c = amp_cast(%0) __amp_cast__=1 dtype=float32\noutputs: %1\n");
  // amp_cast passes integers as they are.
  EXPECT_EQ(PrintConverted(RuleOp("_rule_move", "m", {AmpCast("c", Var("i"))}), {}, {{"i", {DType::kInt32, Shape()}}}),
            "%0 i = null()\n%1 m = _rule_move(%0)\noutputs: %1\n");
}

TEST(ApplyDecision, CastNamesAvoidTakenOnes) {
  const Symbol symbol = RuleOp("_rule_gemm", "fc", {Var("x"), Var("x_0_amp_cast_bfloat16")});
  EXPECT_CONTAINS(PrintConverted(symbol), "x_0_amp_cast_bfloat16_1 = amp_cast(%0)");
}

TEST(ApplyDecision, NewCastsStandForNoNode) {
  const RewriteResult result = Rewritten(MakeTyped(Gemm("fc", Var("x"))));
  for (const NodePtr& node : result.graph.nodes()) {
    const std::vector<NodePtr> origins = result.provenance.Of(node);
    if (node->IsOp("amp_cast")) {
      EXPECT_TRUE(origins.empty());
    } else {
      ASSERT_EQ(origins.size(), 1u);
      EXPECT_EQ(origins[0]->name(), node->name());
    }
  }
}

// Converted once, a graph stays as it is, and the same graph gives the same bytes.
TEST(ApplyDecision, IdempotentAndDeterministicOnRandomGraphs) {
  RegisterRuleOps();
  std::mt19937 random(13);
  for (int round = 0; round < 200; ++round) {
    const std::map<std::string, Symbol> nodes = RandomNodes(random);
    const Symbol symbol = Symbol::Group({nodes.at("n13"), nodes.at("n12"), nodes.at("n11"), nodes.at("n13")});
    const Params parameters{"n3_weight", "n5_rhs", "n7_weight"};
    const Symbol once(Rewritten(MakeTyped(symbol, parameters)).graph.outputs());
    EXPECT_EQ(ToSymbolJson(Symbol(Rewritten(MakeTyped(symbol, parameters)).graph.outputs())), ToSymbolJson(once));
    const RewriteResult twice = Rewritten(MakeTyped(once, parameters));
    EXPECT_FALSE(twice.changed) << "round " << round << "\n" << Text(once) << PrintGraph(twice.graph);
  }
}

// Inference alone reproduces the decision.
TEST(ApplyDecision, TheNewGraphTypesAsDecided) {
  RegisterRuleOps();
  std::mt19937 random(14);
  for (int round = 0; round < 200; ++round) {
    const Model t = MakeTyped(RandomNodes(random).at("n13"));
    const Decision decision = Decide(t, {});
    const Model after = MakeTyped(Symbol(ApplyDecision(t.graph(), decision).graph.outputs()));
    std::map<std::string, NodeId> by_name;
    for (NodeId id = 0; id < after.graph().num_nodes(); ++id) by_name[after.graph().node(id).name()] = id;
    for (NodeId id = 0; id < t.graph().num_nodes(); ++id) {
      const NodeId now = by_name.at(t.graph().node(id).name());
      EXPECT_EQ(after.types()[after.graph().EntryOf(now, 0)].dtype, decision.produced[t.graph().EntryOf(id, 0)]);
    }
  }
}

}  // namespace
}  // namespace amp::testing
