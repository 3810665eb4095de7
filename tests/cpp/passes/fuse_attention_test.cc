#include "passes/optimize/fuse_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nnvm/compose.h"
#include "passes/gradient/gradient.h"
#include "passes/typed.h"
#include "passes/verify.h"
#include "program/reference_runner.h"

namespace amp::testing {
namespace {

constexpr const char* kScores = "_contrib_interleaved_matmul_selfatt_qk";
constexpr const char* kValues = "_contrib_interleaved_matmul_selfatt_valatt";

// 5 tokens, batch 2, 4 outputs of size 16: scores (8, 5, 5). Separate: 2 batches of 3 outputs, 5 queries, 7 keys.
TypeMap Known(DType dtype = DType::kFloat32) {
  return {{"qkv", {dtype, Shape{5, 2, 192}}},          {"other", {dtype, Shape{5, 2, 192}}},
          {"lengths", {DType::kInt32, Shape{8, 5}}},   {"wide_lengths", {DType::kInt64, Shape{8, 5}}},
          {"q", {dtype, Shape{2, 3, 5, 4}}},           {"k", {dtype, Shape{2, 3, 7, 4}}},
          {"v", {dtype, Shape{2, 3, 7, 6}}},           {"square", {dtype, Shape{2, 3, 7, 7}}},
          {"mask", {DType::kBool, Shape{2, 1, 5, 7}}}, {"column", {DType::kBool, Shape{2, 1, 5, 1}}}};
}

RewriteResult CheckedFusion(const Symbol& symbol, DType dtype = DType::kFloat32) {
  TypeMap known;
  const Graph graph = symbol.ToGraph();
  for (const NodeId id : graph.variables()) known[graph.node(id).name()] = Known(dtype).at(graph.node(id).name());
  const auto typed = MakeTyped(symbol, {}, known);
  RewriteResult result = FuseAttention(typed.graph(), typed.types(), ReferenceRunner());
  EXPECT_EQ(FindViolations(result.graph), "");
  EXPECT_EQ(OutputNames(typed.graph().outputs()), OutputNames(result.graph.outputs()));
  const Types after = Infer(result.graph, known);
  for (std::size_t i = 0; i < typed.graph().outputs().size(); ++i) {
    EXPECT_EQ(typed.types()[typed.graph().EntryOf(typed.graph().outputs()[i])],
              after[result.graph.EntryOf(result.graph.outputs()[i])]);
  }
  return result;
}

std::string AfterFusing(const Symbol& symbol, DType dtype = DType::kFloat32) {
  return PrintGraph(CheckedFusion(symbol, dtype).graph);
}

void ExpectNotFused(const Symbol& symbol, DType dtype = DType::kFloat32) {
  EXPECT_FALSE(CheckedFusion(symbol, dtype).changed) << PrintGraph(symbol.ToGraph());
}

Symbol CastTo(const Symbol& data, const char* dtype) { return AmpCast(std::string("to_") + dtype, data, dtype); }
Symbol Scores(const Symbol& qkv) { return Op(kScores, "qk", {qkv}, {{"heads", "4"}}); }
Symbol Values(const Symbol& attention, const Symbol& qkv = Var("qkv")) {
  return Op(kValues, "out", {qkv, attention}, {{"heads", "4"}});
}
Symbol Softmax(const Symbol& data, AttrMap attrs = {}) { return Op("softmax", "p", {data}, std::move(attrs)); }
Symbol Within(const Symbol& data, const char* lengths = "lengths") {
  return Op("softmax", "p", {data, Var(lengths)}, {{"use_length", "True"}});
}

TEST(FuseAttention, Interleaved) {
  const Symbol qkv = Var("qkv");
  EXPECT_EQ(AfterFusing(Values(Softmax(Scores(qkv)), qkv)),
            "%0 qkv = null()\n"
            "%1 out = _amp_interleaved_attention(%0) heads=4 masking=none scale=0.25\n"
            "outputs: %1\n");
  EXPECT_EQ(AfterFusing(Values(Op("Dropout", "d", {Within(Scores(qkv))}), qkv)),
            "%0 qkv = null()\n"
            "%1 lengths = null()\n"
            "%2 out = _amp_interleaved_attention(%0, %1) heads=4 masking=length scale=0.25\n"
            "outputs: %2\n");
}

TEST(FuseAttention, CastsOfTheProgramStay) {
  const Symbol qkv = Var("qkv");
  const Symbol wide = Op("Cast", "wide", {Scores(qkv)}, {{"dtype", "float32"}});
  ExpectNotFused(Values(Op("Cast", "low", {Within(wide)}, {{"dtype", "bfloat16"}}), qkv), DType::kBFloat16);
}

TEST(FuseAttention, CastsBetweenAreLeftOut) {
  const Symbol qkv = Var("qkv");
  EXPECT_EQ(AfterFusing(Values(CastTo(Within(CastTo(Scores(qkv), "float32")), "bfloat16"), qkv), DType::kBFloat16),
            "%0 qkv = null()\n"
            "%1 lengths = null()\n"
            "%2 out = _amp_interleaved_attention(%0, %1) heads=4 masking=length scale=0.25\n"
            "outputs: %2\n");
  // The dtype of the result is what the last product says.
  const Symbol wide = Op(kValues, "out", {qkv, Softmax(Scores(qkv))}, {{"heads", "4"}, {"__out_dtype__", "float32"}});
  EXPECT_EQ(AfterFusing(wide, DType::kBFloat16),
            "%0 qkv = null()\n"
            "%1 out = _amp_interleaved_attention(%0) __out_dtype__=float32 heads=4 masking=none scale=0.25\n"
            "outputs: %1\n");
}

TEST(FuseAttention, TemperatureIsAScale) {
  const Symbol qkv = Var("qkv");
  EXPECT_EQ(AfterFusing(Values(Softmax(Scores(qkv), {{"temperature", "2"}, {"axis", "2"}}), qkv)),
            "%0 qkv = null()\n"
            "%1 out = _amp_interleaved_attention(%0) heads=4 masking=none scale=0.125\n"
            "outputs: %1\n");
}

Symbol Products(const Symbol& q = Var("q"), const Symbol& k = Var("k"), AttrMap attrs = {{"transpose_b", "True"}}) {
  return Op("batch_dot", "scores", {q, k}, std::move(attrs));
}
Symbol Weighted(const Symbol& attention, const char* v = "v") { return Op("batch_dot", "out", {attention, Var(v)}); }
Symbol Masked(const Symbol& data, const char* mask = "mask", AttrMap attrs = {}) {
  return Op("masked_softmax", "p", {data, Var(mask)}, std::move(attrs));
}

TEST(FuseAttention, Separate) {
  EXPECT_EQ(AfterFusing(Weighted(Softmax(Products()))),
            "%0 q = null()\n%1 k = null()\n%2 v = null()\n"
            "%3 out = _amp_attention(%0, %1, %2) masking=none scale=1.0\n"
            "outputs: %3\n");
  const Symbol scaled =
      Op("_mul_scalar", "s", {Op("_div_scalar", "d", {Products()}, {{"scalar", "4"}})}, {{"scalar", "2"}});
  EXPECT_EQ(AfterFusing(Weighted(Masked(scaled, "mask", {{"temperature", "2"}}))),
            "%0 q = null()\n%1 k = null()\n%2 v = null()\n%3 mask = null()\n"
            "%4 out = _amp_attention(%0, %1, %2, %3) masking=mask scale=0.25\n"
            "outputs: %4\n");
}

// The graph that gradients are taken of, and how many nodes of the joint graph are called so.
std::size_t CountInTraining(const Symbol& symbol, const std::string& op) {
  GradientOptions options;
  options.prepare = [](const Graph& graph) {
    TypeMap known = Known();
    known["__random_key__"] = {DType::kInt64, Shape{2}};
    TypeMap types;
    for (const NodeId id : graph.variables()) types[graph.node(id).name()] = known.at(graph.node(id).name());
    return FuseAttention(graph, Infer(graph, types), ReferenceRunner()).graph;
  };
  const GradientGraph parts = MakeGradientGraph(symbol, {"qkv"}, options);
  const Graph joint = JointGraph(parts);
  return static_cast<std::size_t>(std::count_if(joint.nodes().begin(), joint.nodes().end(), [&](const NodePtr& node) {
    return !node->is_variable() && node->op_name() == op;
  }));
}

TEST(FuseAttention, BothHalvesOfTrainingAreOneOperator) {
  const Symbol qkv = Var("qkv");
  const Symbol plain = Values(Op("Dropout", "d", {Softmax(Scores(qkv))}, {{"p", "0"}}), qkv);
  EXPECT_EQ(CountInTraining(plain, "_amp_interleaved_attention"), 1U);
  EXPECT_EQ(CountInTraining(plain, "_backward_amp_interleaved_attention"), 1U);
  EXPECT_EQ(CountInTraining(plain, "softmax"), 0U);
  const Symbol dropped = Values(Op("Dropout", "d", {Softmax(Scores(qkv))}, {{"p", "0.1"}}), qkv);
  EXPECT_EQ(CountInTraining(dropped, "_amp_interleaved_attention"), 0U);
  EXPECT_EQ(CountInTraining(dropped, "softmax"), 1U);
}

// ---- constant masks ----

Symbol ShapedPositions(const char* count, const char* shape, const char* start = "0") {
  const Symbol positions = Op("_arange", "_arange", {}, {{"start", start}, {"stop", count}});
  return Op("Reshape", "Reshape", {positions}, {{"shape", shape}});
}
// 1 where j <= i + 2, for 5 queries and 7 keys.
Symbol Causal() {
  return Op("broadcast_lesser_equal", "broadcast_lesser_equal",
            {ShapedPositions("7", "(1, 1, 1, 7)"), ShapedPositions("7", "(1, 1, 5, 1)", "2")});
}
// Causal with `change` added to its first element.
Symbol Changed(const char* change) {
  const Symbol bit = Op("_equal_scalar", "_equal_scalar", {ShapedPositions("35", "(1, 1, 5, 7)")}, {{"scalar", "0"}});
  return Op("elemwise_add", "elemwise_add", {Causal(), Op("_mul_scalar", "_mul_scalar", {bit}, {{"scalar", change}})});
}
Symbol ForAllHeads(const Symbol& mask) {
  return Op("broadcast_to", "broadcast_to", {mask}, {{"shape", "(2, 3, 5, 7)"}});
}
Symbol Times(const Symbol& data, const char* number) {
  return Op("_mul_scalar", "_mul_scalar", {data}, {{"scalar", number}});
}
Symbol Not(const Symbol& mask) { return Op("_rminus_scalar", "_rminus_scalar", {mask}, {{"scalar", "1"}}); }
// `number` where the mask is 0.
Symbol Additive(const Symbol& mask, const char* number = "-10000") { return Times(Not(mask), number); }
Symbol Selected(const Symbol& mask, const Symbol& scores, const char* number = "-10000") {
  return Op("where", "where", {ForAllHeads(mask), scores, Times(Op("ones_like", "ones_like", {scores}), number)});
}
Symbol MaskedBy(const Symbol& scores, const Symbol& mask) { return Op("masked_softmax", "p", {scores, mask}); }

std::string CausalAttention(const char* scale = "1.0") {
  return std::string("%0 q = null()\n%1 k = null()\n%2 v = null()\n") +
         "%3 out = _amp_attention(%0, %1, %2) causal=True masking=none row_offset=2 scale=" + scale + "\noutputs: %3\n";
}

TEST(FuseAttention, ConstantCausalMasks) {
  const Symbol scores = Products();
  const std::vector<Symbol> forms{
      MaskedBy(scores, Causal()),
      MaskedBy(scores, ForAllHeads(Op("Cast", "Cast", {Causal()}, {{"dtype", "bool"}}))),
      Softmax(Selected(Causal(), scores)),
      Softmax(Op("_npi_where", "_npi_where",
                 {Not(Causal()), Times(Op("_ones", "_ones", {}, {{"shape", "(1,)"}}), "-1e18"), scores})),
      Softmax(Op("_npi_where_rscalar", "_npi_where_rscalar", {Causal(), scores}, {{"scalar", "-65504"}})),
      Softmax(Op("_npi_where_lscalar", "_npi_where_lscalar", {Not(Causal()), scores}, {{"scalar", "-inf"}})),
      Softmax(Op("broadcast_add", "broadcast_add", {scores, Additive(Causal())})),
      Softmax(Op("_npi_add", "_npi_add", {Additive(Causal(), "-1e9"), scores})),
      Softmax(Op("broadcast_sub", "broadcast_sub", {scores, Additive(Causal(), "1e4")})),
      Op("broadcast_mul", "broadcast_mul", {Softmax(Selected(Causal(), scores)), Causal()}),
      Softmax(Op("broadcast_sub", "broadcast_sub",
                 {Op("broadcast_mul", "broadcast_mul", {scores, Causal()}), Additive(Causal(), "1e10")})),
  };
  for (const Symbol& form : forms)
    EXPECT_EQ(AfterFusing(Weighted(form)), CausalAttention()) << PrintGraph(form.ToGraph());
}

TEST(FuseAttention, WhatIsHiddenIsScaledLater) {
  EXPECT_EQ(AfterFusing(Weighted(Softmax(Times(Selected(Causal(), Products(), "-40000"), "0.25")))),
            CausalAttention("0.25"));
  ExpectNotFused(Weighted(Softmax(Times(Selected(Causal(), Products()), "0.25"))));
  EXPECT_EQ(AfterFusing(Weighted(Softmax(Selected(Causal(), Times(Products(), "0.25"))))), CausalAttention("0.25"));
  ExpectNotFused(Weighted(Softmax(Times(Selected(Causal(), Products()), "-1"))));
}

TEST(FuseAttention, ConstantLengths) {
  const Symbol lengths =
      Op("broadcast_to", "broadcast_to", {ShapedPositions("8", "(1, 1, 5)", "3")}, {{"shape", "(2, 3, 5)"}});
  const Symbol weights = Op("softmax", "p", {Products(), lengths}, {{"use_length", "True"}});
  EXPECT_EQ(AfterFusing(Weighted(weights)), CausalAttention());
}

TEST(FuseAttention, CausalMasksBesideLengths) {
  const Symbol qkv = Var("qkv");
  const Symbol mask = Op("broadcast_lesser_equal", "broadcast_lesser_equal",
                         {ShapedPositions("5", "(1, 1, 5)"), ShapedPositions("5", "(1, 5, 1)")});
  const Symbol masked = Op("broadcast_add", "broadcast_add", {Scores(qkv), Additive(mask)});
  EXPECT_EQ(AfterFusing(Values(Within(masked), qkv)),
            "%0 qkv = null()\n"
            "%1 lengths = null()\n"
            "%2 out = _amp_interleaved_attention(%0, %1) causal=True heads=4 masking=length row_offset=0 scale=0.25\n"
            "outputs: %2\n");
  // A row may see no key that both leave.
  ExpectNotFused(Weighted(Masked(Selected(Causal(), Products()))));
}

TEST(FuseAttention, MasksThatHideNothingAreLeftOut) {
  const Symbol all = Op("_ones", "_ones", {}, {{"shape", "(1, 1, 5, 7)"}});
  const std::string plain =
      "%0 q = null()\n%1 k = null()\n%2 v = null()\n"
      "%3 out = _amp_attention(%0, %1, %2) masking=none scale=1.0\n"
      "outputs: %3\n";
  EXPECT_EQ(AfterFusing(Weighted(MaskedBy(Products(), all))), plain);
  EXPECT_EQ(AfterFusing(Weighted(Op("broadcast_mul", "broadcast_mul", {Softmax(Products()), all}))), plain);
}

TEST(FuseAttention, OtherConstantMasksStay) {
  // The softmax with a mask is fused with whatever mask there is.
  EXPECT_CONTAINS(AfterFusing(Weighted(MaskedBy(Products(), Changed("-1")))), " masking=mask ");
  const Symbol scores = Products();
  ExpectNotFused(Weighted(Softmax(Selected(Changed("-1"), scores))));
  ExpectNotFused(Weighted(Softmax(Op("broadcast_add", "broadcast_add", {scores, Additive(Changed("-1"))}))));
  ExpectNotFused(Weighted(Softmax(Op("broadcast_add", "broadcast_add", {scores, Additive(Causal(), "-1")}))));
  ExpectNotFused(Weighted(Softmax(Op("broadcast_sub", "broadcast_sub", {scores, Additive(Causal())}))));
  ExpectNotFused(Weighted(Softmax(Op("broadcast_sub", "broadcast_sub", {Additive(Causal()), scores}))));
  ExpectNotFused(Weighted(Softmax(Selected(Not(Causal()), scores))));
  ExpectNotFused(Weighted(Softmax(Selected(Causal(), scores, "-1000"))));
  // Factors are zeros where something hides the key, and ones elsewhere.
  ExpectNotFused(Weighted(Op("broadcast_mul", "broadcast_mul", {Softmax(scores), Causal()})));
  ExpectNotFused(Weighted(Op("broadcast_mul", "broadcast_mul", {Softmax(Selected(Causal(), scores)), Changed("1")})));
  ExpectNotFused(Weighted(Softmax(Op("broadcast_mul", "broadcast_mul", {Selected(Causal(), scores), Causal()}))));
}

TEST(FuseAttention, MasksOfInputsAreNoConstants) {
  const Symbol scores = Products();
  const Symbol mask = Op("Cast", "Cast", {Var("mask")}, {{"dtype", "float32"}});
  ExpectNotFused(Weighted(Softmax(Op("broadcast_add", "broadcast_add", {scores, Additive(mask)}))));
  ExpectNotFused(
      Weighted(Softmax(Op("_npi_where_rscalar", "_npi_where_rscalar", {mask, scores}, {{"scalar", "-1e9"}}))));
}

TEST(FuseAttention, SecondReadersOfMaskedScoresStay) {
  const Symbol masked = Selected(Causal(), Products());
  ExpectNotFused(Symbol::Group({Weighted(Softmax(masked)), Op("relu", "r", {masked})}));
  ExpectNotFused(Symbol::Group({Weighted(Softmax(masked)), masked}));
  ExpectNotFused(Weighted(CastTo(CastTo(Softmax(Selected(Causal(), Products())), "float16"), "float32")));
  ExpectNotFused(Weighted(Softmax(Selected(Causal(), Products()))), DType::kFloat64);
}

TEST(FuseAttention, CausalMasksInTraining) {
  const Symbol qkv = Var("qkv");
  const Symbol mask = Op("broadcast_lesser_equal", "broadcast_lesser_equal",
                         {ShapedPositions("5", "(1, 1, 5)"), ShapedPositions("5", "(1, 5, 1)")});
  const Symbol causal = Values(Softmax(Op("broadcast_add", "broadcast_add", {Scores(qkv), Additive(mask)})), qkv);
  EXPECT_EQ(CountInTraining(causal, "_amp_interleaved_attention"), 1U);
  EXPECT_EQ(CountInTraining(causal, "_backward_amp_interleaved_attention"), 1U);
  EXPECT_EQ(CountInTraining(causal, "_arange"), 0U);
}

// What each refusal changes of a pattern that would be fused.
TEST(FuseAttention, OtherGraphsStay) {
  const Symbol qkv = Var("qkv");
  ExpectNotFused(Values(Softmax(Scores(Var("other"))), qkv));
  ExpectNotFused(Values(Softmax(Scores(qkv), {{"axis", "1"}}), qkv));
  ExpectNotFused(Values(Within(Scores(qkv), "wide_lengths"), qkv));
  ExpectNotFused(Values(Softmax(Op("relu", "r", {Scores(qkv)})), qkv));
  ExpectNotFused(Values(Op("log_softmax", "p", {Scores(qkv)}), qkv));
  ExpectNotFused(Values(Softmax(Scores(qkv)), qkv), DType::kFloat64);
  ExpectNotFused(Values(CastTo(CastTo(Softmax(Scores(qkv)), "float16"), "float32"), qkv));
  ExpectNotFused(Weighted(Softmax(Products(), {{"axis", "-2"}})));
  ExpectNotFused(Weighted(Masked(Products(), "column")));
  ExpectNotFused(Op("batch_dot", "out", {Softmax(Products()), Var("square")}, {{"transpose_b", "True"}}));
  const Symbol square = Var("square");
  ExpectNotFused(Op("batch_dot", "out", {Softmax(Products(square, square, {})), square}));
  ExpectNotFused(Weighted(Softmax(Op("_plus_scalar", "s", {Products()}, {{"scalar", "2"}}))));
}

TEST(FuseAttention, SecondReadersAndHeadsBetweenStay) {
  const Symbol qkv = Var("qkv");
  const Symbol scores = Scores(qkv), attention = Softmax(scores);
  ExpectNotFused(Symbol::Group({Values(attention, qkv), attention}));
  ExpectNotFused(Symbol::Group({Values(attention, qkv), scores}));
  ExpectNotFused(Symbol::Group({Values(attention, qkv), Op("relu", "r", {attention})}));
  ExpectNotFused(Symbol::Group({Values(attention, qkv), Op("relu", "r", {scores})}));
  const Symbol separate = Softmax(Products());
  ExpectNotFused(Symbol::Group({Weighted(separate), separate}));
}

}  // namespace
}  // namespace amp::testing
