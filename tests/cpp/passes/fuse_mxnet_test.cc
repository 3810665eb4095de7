// What OptimizeFor makes of a graph, and what it leaves alone: the defects F1 to F4 of MXNet's passes among it.
#include "passes/fusion_mxnet/fuse_mxnet.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/fusion_mxnet/unfuse.h"

namespace amp::testing {
namespace {

using Names = std::vector<std::string>;

// "operator name" of every operator, in graph order.
Names Operators(const Symbol& symbol) {
  Names names;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_variable()) names.push_back(node->op_name() + " " + node->name());
  }
  return names;
}

Names Fused(const Symbol& symbol, const TypeMap& known = {}, const std::string& backend = "ONEDNN") {
  return Operators(OptimizeFor(symbol, backend, known));
}

Symbol Conv(const std::string& name, const Symbol& data, AttrMap attrs = {}) {
  attrs.insert({{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"pad", "(1, 1)"}});
  return Op("Convolution", name, {data}, std::move(attrs));
}
Symbol Dense(const std::string& name, const Symbol& data) {
  return Op("FullyConnected", name, {data}, {{"num_hidden", "4"}});
}
Symbol Add(const std::string& name, const Symbol& a, const Symbol& b) { return Op("elemwise_add", name, {a, b}); }
Symbol Norm(const std::string& name, const Symbol& data, AttrMap attrs = {}) {
  return Op("BatchNorm", name, {data}, std::move(attrs)).At(0);
}

TypeMap Image() { return {{"x", {DType::kFloat32, {2, 3, 8, 8}}}}; }

const Node& NodeNamed(const Graph& graph, const std::string& name) {
  for (const NodePtr& node : graph.nodes()) {
    if (node->name() == name) return *node;
  }
  throw GraphError("no node " + name);
}

// ---- the table ----

TEST(OptimizeFor, AConvolutionTakesItsNormSumAndActivation) {
  const Symbol x = Var("x");
  const Symbol other = Conv("c1", x, {{"no_bias", "True"}});
  const Symbol fused = OptimizeFor(ReluActivation("r", Add("a", other, Norm("bn", Conv("c0", x)))), "ONEDNN", {});
  // c1 comes first in graph order, hence takes the sum.
  EXPECT_EQ(Operators(fused),
            (Names{"_sg_onednn_conv sg_onednn_conv_bn_1", "_sg_onednn_conv sg_onednn_conv_add_act_0"}));
  const Graph graph = fused.ToGraph();
  const Node& sum = NodeNamed(graph, "sg_onednn_conv_add_act_0");
  EXPECT_EQ(sum.attrs(), (AttrMap{{"with_sum", "true"}, {"with_postsum_act", "true"}}));
  EXPECT_EQ(PrintGraph(Graph(sum.subgraphs()[0])),
            "%0 x0 = null()\n"
            "%1 c1_weight0 = null()\n"
            "%2 c1 = Convolution(%0, %1) kernel=(3, 3) no_bias=True num_filter=4 pad=(1, 1)\n"
            "%3 bn_output0 = null()\n"
            "%4 a = elemwise_add(%2, %3)\n"
            "%5 r = Activation(%4) act_type=relu\n"
            "outputs: %5\n");
  EXPECT_EQ(sum.inputs()[2].node->name(), "sg_onednn_conv_bn_1");
  EXPECT_EQ(fused.ListAuxiliaryStates(), (Names{"bn_moving_mean", "bn_moving_var"}));
}

TEST(OptimizeFor, TheSumIsTheLastInputWhicheverOperandItWas) {
  const Symbol x = Var("x");
  for (const bool first : {true, false}) {
    const Symbol conv = Conv("c", x, {{"no_bias", "True"}}), y = Var("y");
    const Graph graph = OptimizeFor(first ? Add("a", conv, y) : Add("a", y, conv), "ONEDNN", {}).ToGraph();
    const Node& fused = NodeNamed(graph, "sg_onednn_conv_add_0");
    EXPECT_EQ(fused.inputs().size(), 3u);
    EXPECT_EQ(fused.inputs()[2].node->name(), "y");
  }
}

TEST(OptimizeFor, ActivationsGoByTypeAndBounds) {
  const auto with = [](const std::string& op, const AttrMap& attrs, bool dense) {
    const Symbol data = dense ? Dense("l", Var("x")) : Conv("l", Var("x"));
    return Operators(OptimizeFor(Op(op, "n", {data}, attrs), "ONEDNN", {})).size() == 1;
  };
  for (const bool dense : {true, false}) {
    for (const char* type : {"relu", "sigmoid", "log_sigmoid", "mish", "softrelu", "tanh"}) {
      EXPECT_TRUE(with("Activation", {{"act_type", type}}, dense)) << type;
    }
    EXPECT_FALSE(with("Activation", {{"act_type", "softsign"}}, dense));
    EXPECT_TRUE(with("clip", {{"a_min", "0"}, {"a_max", "6"}}, dense));
    EXPECT_FALSE(with("clip", {{"a_min", "-1"}, {"a_max", "6"}}, dense));
    EXPECT_TRUE(with("LeakyReLU", {}, dense));
    EXPECT_TRUE(with("LeakyReLU", {{"act_type", "gelu_tanh"}}, dense));
    EXPECT_EQ(with("LeakyReLU", {{"act_type", "elu"}}, dense), dense);
    EXPECT_FALSE(with("LeakyReLU", {{"act_type", "prelu"}}, dense));
    EXPECT_FALSE(with("LeakyReLU", {{"act_type", "selu"}}, dense));
    EXPECT_FALSE(with("relu", {}, dense));
    for (const char* op : {"square", "sqrt", "abs", "exp"}) EXPECT_EQ(with(op, {}, dense), dense) << op;
    EXPECT_FALSE(with("log", {}, dense));
  }
}

TEST(OptimizeFor, ALayerTakesItsSumInASecondRound) {
  const Symbol x = Var("x");
  const Symbol fused = OptimizeFor(Add("a", x, ReluActivation("r", Dense("fc", x))), "ONEDNN", {});
  EXPECT_EQ(Text(fused),
            "%0 x = null()\n"
            "%1 fc_weight = null()\n"
            "%2 fc_bias = null()\n"
            "%3 sg_onednn_fully_connected_eltwise_0 = _sg_onednn_fully_connected(%0, %1, %2, %0) with_eltwise=True "
            "with_sum=True\n"
            "outputs: %3\n");
  // Once: a second sum is no input of the node.
  EXPECT_EQ(Operators(OptimizeFor(Add("b", fused, Var("y")), "ONEDNN", {})).size(), 2u);
  EXPECT_EQ(Fused(Op("_npi_add", "a", {Dense("fc", x), Var("y")}),
                  {{"x", {DType::kFloat32, {2, 4}}}, {"y", {DType::kFloat32, {2, 4}}}})
                .size(),
            2u);  // nor does MXNet
}

TEST(OptimizeFor, ANormTakesItsRelu) {
  const AttrMap attrs{{"eps", "0.5"}, {"fix_gamma", "False"}, {"axis", "-1"}};
  for (const Symbol& relu :
       {ReluActivation("r", Norm("bn", Var("x"), attrs)), Op("relu", "r", {Norm("bn", Var("x"), attrs)})}) {
    const Symbol fused = OptimizeFor(relu, "ONEDNN", {});
    ASSERT_EQ(Operators(fused), (Names{"_sg_onednn_batch_norm sg_onednn_batch_norm_relu_0"}));
    EXPECT_EQ(fused.outputs()[0].node->attrs(), attrs);
    EXPECT_EQ(fused.ListAuxiliaryStates(), (Names{"bn_moving_mean", "bn_moving_var"}));
  }
  EXPECT_EQ(Fused(Norm("bn", Var("x"))), (Names{"BatchNorm bn"}));
}

TEST(OptimizeFor, ProductsPowersAndIdentities) {
  const Symbol x = Var("x");
  EXPECT_EQ(Fused(Op("batch_dot", "d", {x, Var("y")}, {{"transpose_b", "True"}})),
            (Names{"_sg_onednn_batch_dot sg_dnnl_batch_dot_0"}));
  const Symbol power = Op("_power_scalar", "p", {x}, {{"scalar", "3"}});
  const Symbol times = OptimizeFor(Op("_mul_scalar", "m", {power}, {{"scalar", "0.5"}, {"is_int", "0"}}), "ONEDNN", {});
  EXPECT_EQ(Text(times),
            "%0 x = null()\n"
            "%1 _sg_pow_mul_scalar0 = _sg_pow_mul_scalar(%0) exp_is_int=1 exponent=3 mul_is_int=0 multiplier=0.5\n"
            "outputs: %1\n");
  EXPECT_EQ(Fused(ReluActivation("r", Op("Dropout", "d", {Conv("c", x)}).At(0))),
            (Names{"_sg_onednn_conv sg_onednn_conv_act_0"}));
  EXPECT_EQ(Fused(Op("exp", "e", {Op("Dropout", "d", {x}).At(0)})), (Names{"Dropout d", "exp e"}));  // of an input
  EXPECT_EQ(Fused(Op("exp", "e", {Op("Dropout", "d", {Op("log", "l", {x})}, {{"mode", "always"}}).At(0)})).size(), 3u);
}

TEST(OptimizeFor, RepeatedCastsGo) {
  const auto cast = [](const std::string& name, const Symbol& data, const std::string& dtype) {
    return Op("Cast", name, {data}, {{"dtype", dtype}});
  };
  const auto expanded = [&](const std::string& first) {
    return Op("expand_dims", "e", {cast("c0", Var("x"), first)}, {{"axis", "1"}});
  };
  EXPECT_EQ(Fused(cast("c2", cast("c1", expanded("bool"), "bool"), "bool")), (Names{"Cast c0", "expand_dims e"}));
  EXPECT_EQ(Fused(cast("c1", expanded("bool"), "bool")).size(), 3u);  // two casts are not the pattern
  EXPECT_EQ(Fused(cast("c2", cast("c1", expanded("int32"), "bool"), "bool")).size(), 4u);
  const Symbol once = cast("c1", expanded("bool"), "bool");
  EXPECT_EQ(Fused(Symbol::Group({cast("c2", once, "bool"), once})).size(), 4u);
}

TEST(OptimizeFor, EqualNodesAreShared) {
  const Symbol x = Var("x");
  const auto twice = [&](const AttrMap& other) {
    return Op("elemwise_mul", "m",
              {Op("_plus_scalar", "a", {x}, {{"scalar", "2"}}), Op("_plus_scalar", "b", {x}, other)});
  };
  EXPECT_EQ(Fused(twice({{"scalar", "2"}})), (Names{"_plus_scalar a", "elemwise_mul m"}));
  EXPECT_EQ(Fused(twice({{"scalar", "3"}})).size(), 3u);
  EXPECT_EQ(Fused(twice({{"scalar", "2"}, {"__opt_constraint__", "1"}})).size(), 3u);
  EXPECT_EQ(Fused(Symbol::Group({Op("exp", "a", {x}), Op("exp", "b", {x})})), (Names{"exp a", "exp b"}));
}

// ---- self-attention ----

struct Attention {
  std::string heads = "[-2,-2,2,-1]";
  std::string axes = "(0, 2, 1, 3)";
  std::string transpose_b = "True";
  bool swapped = false;  // queries and keys
  bool is_head = false;  // the scores are an output, too
};

Symbol SelfAttention(const Attention& a, bool of_split = true) {
  const Symbol projected = Op("FullyConnected", "qkv", {Var("x")}, {{"num_hidden", "12"}, {"flatten", "False"}});
  const Symbol split = Op("_split_v2", "split", {projected}, {{"sections", "3"}, {"axis", "-1"}, {"indices", "()"}});
  const auto part = [&](std::size_t i) { return of_split ? split.At(i) : Dense("p" + std::to_string(i), Var("x")); };
  const auto separate = [&](std::size_t i) {
    const Symbol reshaped = Op("_npx_reshape", "r" + std::to_string(i), {part(i)}, {{"newshape", a.heads}});
    return Op("SwapAxis", "s" + std::to_string(i), {reshaped}, {{"dim1", "1"}, {"dim2", "2"}});
  };
  const Symbol q = separate(a.swapped ? 1 : 0), k = separate(a.swapped ? 0 : 1);
  const Symbol scores = Op("batch_dot", "qk", {q, k}, {{"transpose_b", a.transpose_b}});
  const Symbol values = Op("batch_dot", "av", {Op("softmax", "sm", {scores}), separate(2)});
  const Symbol back = Op("_npi_transpose", "t", {values}, {{"axes", a.axes}});
  const Symbol merged = Op("_npx_reshape", "m", {back}, {{"newshape", "(-2, -2, -1)"}});
  return a.is_head ? Symbol::Group({merged, scores}) : merged;
}

TEST(OptimizeFor, SelfAttentionOfASplit) {
  const Symbol fused = OptimizeFor(SelfAttention({}), "ONEDNN", {});
  EXPECT_EQ(Operators(fused), (Names{"_sg_onednn_fully_connected sg_onednn_fully_connected_0",
                                     "_sg_onednn_selfatt_qk_split _sg_onednn_selfatt_qk_split0", "softmax sm",
                                     "_sg_onednn_selfatt_valatt _sg_onednn_selfatt_valatt_0"}));
  EXPECT_EQ(fused.outputs()[0].node->attrs(), (AttrMap{{"heads", "2"}}));
  EXPECT_EQ(fused.outputs()[0].node->inputs()[1].node->name(), "sg_onednn_fully_connected_0");
  const Graph graph = fused.ToGraph();
  const Types types = Infer(graph, {{"x", {DType::kFloat32, {3, 5, 7}}}});
  EXPECT_EQ(types[graph.EntryOf(graph.outputs()[0])].ToString(), "float32[3,5,4]");
}

TEST(OptimizeFor, ScoresOfTwoProjections) {
  const Symbol fused = OptimizeFor(SelfAttention({}, false), "ONEDNN", {});
  EXPECT_CONTAINS(Text(fused), "_sg_onednn_selfatt_qk0 = _sg_onednn_selfatt_qk(");
  EXPECT_CONTAINS(Text(fused), "sg_dnnl_batch_dot_0");  // the values are no split's
}

TEST(OptimizeFor, OtherAttentionIsLeftAlone) {
  const auto has = [](const Attention& a, const char* what) {
    return Contains(Text(OptimizeFor(SelfAttention(a), "ONEDNN", {})), what);
  };
  EXPECT_FALSE(has({.heads = "[-2,-2,-1,4]"}, "selfatt"));
  EXPECT_FALSE(has({.transpose_b = "False"}, "selfatt_qk"));  // MXNet does not look
  EXPECT_FALSE(has({.axes = "(0, 1, 2, 3)"}, "selfatt_valatt"));
  EXPECT_FALSE(has({.swapped = true}, "selfatt_qk_split"));
  EXPECT_TRUE(has({.is_head = true}, "selfatt_qk_split"));  // the scores themselves may be read by anybody
}

Symbol Interleaved(const Symbol& x) {
  const Symbol scores = Op("_contrib_interleaved_matmul_selfatt_qk", "qk", {x}, {{"heads", "2"}});
  return Op("_contrib_interleaved_matmul_selfatt_valatt", "av", {x, Op("softmax", "sm", {scores})}, {{"heads", "2"}});
}

// ---- what MXNet gets wrong ----

TEST(OptimizeFor, F1NothingIsFusedAcrossAHead) {
  const Symbol conv = Conv("c", Var("x"));
  const Symbol fused = OptimizeFor(Symbol::Group({conv, ReluActivation("r", conv)}), "ONEDNN", {});
  EXPECT_EQ(Operators(fused), (Names{"_sg_onednn_conv sg_onednn_conv_0", "Activation r"}));
  EXPECT_EQ(fused.ListOutputs(), (Names{"sg_onednn_conv_0_output", "r_output"}));
  const Symbol power = Op("_power_scalar", "p", {Var("x")}, {{"scalar", "3"}});
  EXPECT_EQ(Fused(Symbol::Group({Op("_mul_scalar", "m", {power}, {{"scalar", "2"}}), power})).size(), 2u);
}

TEST(OptimizeFor, F2ASumIsFusedWhateverItsShapes) {
  const auto fused = [](const std::string& op, const Shape& other, TypeMap known = Image()) {
    known["y"] = {DType::kFloat32, other};
    return Fused(Op(op, "a", {Conv("c", Var("x")), Var("y")}), known).size() == 1;
  };
  EXPECT_TRUE(fused("_npi_add", {2, 4, 8, 8}));
  EXPECT_TRUE(fused("_npi_add", {1, 4, 1, 1}));
  EXPECT_TRUE(fused("_npi_add", {}, {}));  // unknown
  EXPECT_TRUE(fused("elemwise_add", {}, {}));
  EXPECT_FALSE(fused("broadcast_add", {2, 4, 8, 8}));  // not in the table
  TypeMap known = Image();
  known["y"] = {DType::kFloat64, {2, 4, 8, 8}};
  EXPECT_EQ(Fused(Op("_npi_add", "a", {Conv("c", Var("x")), Var("y")}), known).size(), 2u);  // mixed dtypes
}

TEST(OptimizeFor, F3TheNormIsThatOfTheConvolutionsChannels) {
  const auto fused = [](const AttrMap& norm, const AttrMap& conv = {}) {
    return Fused(Norm("bn", Conv("c", Var("x"), conv), norm)).size() == 1;
  };
  EXPECT_TRUE(fused({}));
  EXPECT_TRUE(fused({{"axis", "-3"}}));
  EXPECT_FALSE(fused({{"axis", "2"}}));
  EXPECT_FALSE(fused({{"axis", "-1"}}));
  EXPECT_FALSE(fused({}, {{"layout", "NHWC"}}));
  EXPECT_TRUE(fused({{"axis", "3"}}, {{"layout", "NHWC"}}));
  EXPECT_FALSE(fused({{"output_mean_var", "True"}}));
}

TEST(OptimizeFor, F4NothingIsFusedThatASecondNodeReads) {
  const Symbol x = Var("x");
  const Symbol conv = Conv("c", x), dense = Dense("fc", x), product = Op("batch_dot", "d", {x, Var("y")});
  const Symbol power = Op("_power_scalar", "p", {x}, {{"scalar", "3"}});
  EXPECT_EQ(Fused(Op("elemwise_mul", "m", {conv, ReluActivation("r", conv)})).size(), 3u);
  EXPECT_EQ(Fused(Op("elemwise_mul", "m", {dense, ReluActivation("r", dense)})).size(), 3u);
  EXPECT_EQ(Fused(Add("a", conv, conv)).size(), 2u);
  EXPECT_EQ(Fused(Op("elemwise_mul", "m", {power, Op("_mul_scalar", "t", {power}, {{"scalar", "2"}})})).size(), 3u);
  const Symbol norm = Norm("bn", x);
  EXPECT_EQ(Fused(Op("elemwise_mul", "m", {norm, ReluActivation("r", norm)})).size(), 3u);
  // F4b: all readers of a fused node read its only output.
  const Graph graph = OptimizeFor(Add("a", product, Op("exp", "e", {product})), "ONEDNN", {}).ToGraph();
  EXPECT_EQ(NodeNamed(graph, "e").inputs()[0].index, 0u);
  EXPECT_EQ(NodeNamed(graph, "sg_dnnl_batch_dot_0").num_outputs(), 1);
}

TEST(OptimizeFor, OtherDTypesAndRanksAreLeftAlone) {
  EXPECT_EQ(Fused(Dense("fc", Var("x")), {{"x", {DType::kFloat64, {2, 4}}}}), (Names{"FullyConnected fc"}));
  EXPECT_EQ(Fused(Dense("fc", Var("x")), {{"x", {DType::kFloat16, {2, 4}}}}), (Names{"FullyConnected fc"}));
  EXPECT_EQ(Fused(Dense("fc", Var("x")), {{"x", {DType::kBFloat16, {2, 4}}}}).size(), 1u);
  EXPECT_EQ(Fused(Op("Convolution", "c", {Var("x")}, {{"kernel", "(3,)"}, {"num_filter", "4"}})),
            (Names{"Convolution c"}));
}

// ---- backends ----

TEST(OptimizeFor, NamesOf1x) {
  const Symbol x = Var("x");
  EXPECT_EQ(Fused(ReluActivation("r", Conv("c", x)), {}, "MKLDNN"), (Names{"_sg_mkldnn_conv sg_mkldnn_conv_act_0"}));
  EXPECT_EQ(Fused(Add("a", x, Dense("fc", x)), {}, "MKLDNN"),
            (Names{"_sg_mkldnn_fully_connected sg_mkldnn_fully_connected_0", "elemwise_add a"}));
  EXPECT_EQ(Fused(Op("batch_dot", "d", {x, x}), {}, "MKLDNN"), (Names{"batch_dot d"}));
  EXPECT_EQ(Fused(Interleaved(x), {}, "MKLDNN"), (Names{"_sg_mkldnn_selfatt_qk sg_mkldnn_selfatt_qk_0", "softmax sm",
                                                        "_sg_mkldnn_selfatt_valatt sg_mkldnn_selfatt_valatt_1"}));
}

TEST(OptimizeFor, RefusesOtherBackends) {
  const auto refusal = ErrorOf<ArgumentError>([] { OptimizeFor(Var("x"), "ONEDN", {}); });
  EXPECT_CONTAINS(refusal, "unknown backend 'ONEDN': expected one of MKLDNN, ONEDNN, ONEDNN_AMP");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { OptimizeFor(Var("x"), "ONEDNN", {{"y", {}}}); }), "y");
}

Symbol ToFloat32(const Symbol& data, const AttrMap& attrs = {}) {
  AttrMap all{{"dtype", "float32"}};
  all.insert(attrs.begin(), attrs.end());
  return Op("amp_cast", "cast", {data}, all);
}

TEST(OptimizeFor, AFusedNodeAbsorbsACastToFloat32) {
  const Symbol fused = OptimizeFor(Dense("fc", Var("x")), "ONEDNN", {});
  const Symbol absorbed = OptimizeFor(ReluActivation("r", ToFloat32(fused)), "ONEDNN_AMP", {});
  EXPECT_EQ(Operators(absorbed), (Names{"_sg_onednn_fully_connected sg_onednn_fully_connected_0", "Activation r"}));
  const Node& node = *absorbed.outputs()[0].node->inputs()[0].node;
  EXPECT_EQ(*node.FindAttr("enabled_float_output"), "float32");
  const Symbol head = OptimizeFor(ToFloat32(fused, {{"__output_name__", "fc_output"}}), "ONEDNN_AMP", {});
  EXPECT_EQ(head.ListOutputs(), (Names{"fc_output"}));
}

TEST(OptimizeFor, ACastThatOthersCouldMissStays) {
  const auto kept = [](const Symbol& symbol) {
    return Operators(OptimizeFor(symbol, "ONEDNN_AMP", {})).size() == Operators(symbol).size();
  };
  const Symbol x = Var("x"), fused = OptimizeFor(Dense("fc", x), "ONEDNN", {});
  EXPECT_TRUE(kept(Symbol::Group({ToFloat32(fused), fused})));                    // an output of the graph
  EXPECT_TRUE(kept(Symbol::Group({ToFloat32(fused), Op("exp", "e", {fused})})));  // a second reader
  EXPECT_TRUE(kept(Op("amp_cast", "cast", {fused}, {{"dtype", "bfloat16"}})));
  EXPECT_TRUE(kept(ToFloat32(Dense("fc", x))));  // not fused
  EXPECT_TRUE(kept(ToFloat32(OptimizeFor(Op("batch_dot", "d", {x, x}), "ONEDNN", {}))));
}

// ---- there and back ----

TEST(FuseAgain, RestoresWhatWasOpened) {
  const Symbol x = Var("x");
  const Symbol body = Add("a2", Norm("bn", Conv("c0", x)), Conv("c1", x));
  const Symbol layer = Add("a", ReluActivation("r2", Dense("fc", ReluActivation("r", body))), Var("y"));
  const Symbol plain = Symbol::Group({layer, Interleaved(Var("z"))});
  for (const char* backend : {"ONEDNN", "MKLDNN"}) {
    const Symbol fused = OptimizeFor(plain, backend, {});
    const RewriteResult opened = Unfuse(fused.ToGraph());
    const Graph again = FuseAgain(opened.graph, Types(opened.graph.num_entries()), OriginsOf(opened));
    EXPECT_EQ(PrintGraph(again), Text(fused)) << backend;
    EXPECT_EQ(Symbol(again.outputs()).ListOutputs(), fused.ListOutputs());
  }
}

// A cast in front of the norm: the convolution is one by itself, and norm and relu are no node of another kind.
TEST(FuseAgain, WhatACastKeepsApartStaysApart) {
  const Symbol fused = OptimizeFor(ReluActivation("r", Norm("bn", Conv("c", Var("x")))), "ONEDNN", {});
  const RewriteResult opened = Unfuse(fused.ToGraph());
  Rewriter rewriter(opened.graph);
  const amp::Op& op = OpRegistry::Get().Require(kMXNetDomain, "amp_cast");
  const Graph parted = rewriter
                           .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
                             const bool is_norm = opened.graph.node(id).op_name() == "BatchNorm";
                             if (is_norm)
                               inputs[0] = {rewriter.Make({&op, "cast", {{"dtype", "float32"}}, {inputs[0]}, {}}), 0};
                             return rewriter.KeepNode(id, std::move(inputs));
                           })
                           .graph;
  const Graph again = FuseAgain(parted, Types(parted.num_entries()), OriginsOf(opened));
  EXPECT_EQ(Operators(Symbol(again.outputs())),
            (Names{"_sg_onednn_conv sg_onednn_conv_bn_act_0", "amp_cast cast", "BatchNorm bn", "Activation r"}));
}

TEST(FuseAgain, LeavesWhatWasNotFused) {
  const Symbol fused = OptimizeFor(Dense("fc", Var("x")), "ONEDNN", {});
  const RewriteResult opened = Unfuse(Dense("other", ReluActivation("r", fused)).ToGraph());
  const Graph again = FuseAgain(opened.graph, Types(opened.graph.num_entries()), OriginsOf(opened));
  EXPECT_EQ(Operators(Symbol(again.outputs())),
            (Names{"_sg_onednn_fully_connected sg_onednn_fully_connected_0", "Activation r", "FullyConnected other"}));
}

}  // namespace
}  // namespace amp::testing
