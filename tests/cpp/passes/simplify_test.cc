#include "passes/optimize/simplify.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/convert_symbol.h"
#include "passes/model.h"
#include "passes/optimize/merge_variables.h"
#include "passes/random_models.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

using Names = std::vector<std::string>;

TypeMap FloatInput(DType dtype = DType::kFloat32) { return {{"x", {dtype, Shape{2, 3}}}}; }

RewriteResult Simplified(const Symbol& symbol, const TypeMap& known = FloatInput()) {
  const Graph graph = MergeVariables(symbol.ToGraph());
  const Types types = InferPartial(graph, known);
  RewriteResult result = Simplify(graph, types);
  EXPECT_EQ(FindViolations(result.graph), "");
  EXPECT_EQ(OutputNames(graph.outputs()), OutputNames(result.graph.outputs()));
  const Types after = InferPartial(result.graph, known);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    EXPECT_EQ(types[graph.EntryOf(graph.outputs()[i])], after[result.graph.EntryOf(result.graph.outputs()[i])]);
  }
  EXPECT_FALSE(Simplify(result.graph, after).changed) << PrintGraph(result.graph);
  return result;
}

// "relu(x) sum(relu relu)": the operators in graph order with what they read.
std::string PrintReads(const Graph& graph) {
  std::string text;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_variable()) continue;
    std::string inputs;
    for (const NodeEntry& input : node->inputs()) {
      inputs += (inputs.empty() ? "" : " ") + input.node->name();
      if (input.index != 0) inputs += "." + std::to_string(input.index);
    }
    text += (text.empty() ? "" : " ") + node->name() + "(" + inputs + ")";
  }
  return text;
}
std::string AfterSimplifying(const Symbol& symbol, const TypeMap& known = FloatInput()) {
  return PrintReads(Simplified(symbol, known).graph);
}

Symbol Sum(const std::string& name, const Symbol& a, const Symbol& b) { return Op("elemwise_add", name, {a, b}); }

// --- copies ---

TEST(EliminateIdentities, ReadersReadWhatIsCopied) {
  EXPECT_EQ(AfterSimplifying(Relu("r", Op("Dropout", "d", {Op("_copy", "i", {Var("x")})}))), "r(x)");
  EXPECT_EQ(AfterSimplifying(Relu("r", Op("BlockGrad", "b", {Relu("q", Var("x"))}))), "q(x) r(q)");
  EXPECT_EQ(AfterSimplifying(Relu("r", AmpCast("c", Var("x"), "float32"))), "r(x)");
}

TEST(EliminateIdentities, HeadsStay) {
  const Symbol dropped = Op("Dropout", "d", {Relu("q", Var("x"))});
  EXPECT_EQ(AfterSimplifying(Symbol::Group({dropped, Relu("r", dropped)})), "q(x) d(q) r(q)");
  EXPECT_EQ(AfterSimplifying(Op("_copy", "i", {Var("x")})), "i(x)");
  EXPECT_EQ(AfterSimplifying(Op("_copy", "i", {Op("_copy", "j", {Var("x")})})), "i(x)");
}

TEST(EliminateIdentities, AMaskIsNoCopy) {
  const Symbol dropped = Op("Dropout", "d", {Var("x")});
  const Symbol mask({{NodeOf(dropped), 1}});
  EXPECT_EQ(AfterSimplifying(Sum("s", dropped, mask)), "d(x) s(x d.1)");
}

// It is refused when it is lowered, and has to get there.
TEST(EliminateIdentities, DropoutThatAlwaysDropsStays) {
  EXPECT_EQ(AfterSimplifying(Relu("r", Op("Dropout", "d", {Var("x")}, {{"mode", "always"}}))), "d(x) r(d)");
}

TEST(EliminateIdentities, LosslessCastsAndBack) {
  const TypeMap low = FloatInput(DType::kBFloat16);
  EXPECT_EQ(AfterSimplifying(Relu("r", AmpCast("b", AmpCast("a", Var("x"), "float32"), "bfloat16")), low), "r(x)");
  EXPECT_EQ(AfterSimplifying(Relu("r", AmpCast("b", AmpCast("a", Var("x"), "float32"), "float16")), low), "b(x) r(b)");
  const Symbol wide = Op("Cast", "w", {AmpCast("a", Var("x"), "float32")}, {{"dtype", "float64"}});
  EXPECT_EQ(AfterSimplifying(Op("_copy", "h", {AmpCast("b", wide, "bfloat16")}), low), "h(x)");
  // An output of the graph remains, with what it needs.
  EXPECT_EQ(AfterSimplifying(AmpCast("b", AmpCast("a", Var("x"), "float32"), "bfloat16"), low), "b(x)");
}

TEST(EliminateIdentities, CastsThatRoundStay) {
  EXPECT_EQ(AfterSimplifying(Relu("r", AmpCast("b", AmpCast("a", Var("x"), "bfloat16"), "float32"))), "a(x) b(a) r(b)");
  EXPECT_EQ(AfterSimplifying(Relu("r", AmpCast("b", AmpCast("a", Var("x"), "float16"), "bfloat16"))), "a(x) b(a) r(b)");
  const Symbol ints = Op("Cast", "i", {AmpCast("a", Var("x"), "float32")}, {{"dtype", "int32"}});
  EXPECT_EQ(AfterSimplifying(Op("Cast", "f", {ints}, {{"dtype", "float32"}}), FloatInput(DType::kBFloat16)),
            "a(x) i(a) f(i)");
}

TEST(EliminateIdentities, OutputsOfAMulticastThatAreNoCasts) {
  TypeMap known = FloatInput();
  known["y"] = {DType::kBFloat16, Shape{2, 3}};
  const Symbol both = Op("amp_multicast", "m", {Var("x"), Var("y")}, {{"num_outputs", "2"}});
  EXPECT_EQ(AfterSimplifying(Sum("s", both.At(0), both.At(1)), known), "m(x y) s(x m.1)");
  known["y"].dtype = DType::kFloat32;
  EXPECT_EQ(AfterSimplifying(Sum("s", both.At(0), both.At(1)), known), "s(x y)");
}

TEST(EliminateIdentities, UnknownDTypesStay) {
  const Symbol symbol = Relu("r", Op("Cast", "c", {Var("x")}, {{"dtype", "float32"}}));
  EXPECT_EQ(AfterSimplifying(symbol, {{"x", {DType::kUnknown, Shape{2, 3}}}}), "c(x) r(c)");
}

// --- equal nodes ---

TEST(EliminateCommonSubexpressions, ChainsBecomeOne) {
  const auto branch = [](const std::string& name) { return Op("tanh", name + "_t", {Relu(name, Var("x"))}); };
  EXPECT_EQ(AfterSimplifying(Sum("s", branch("b"), branch("a"))), "a(x) a_t(a) s(a_t a_t)");
  EXPECT_EQ(AfterSimplifying(Sum("s", branch("a"), branch("b"))), "a(x) a_t(a) s(a_t a_t)");
}

TEST(EliminateCommonSubexpressions, ZerosOfAnOpenSizeAreWhatTheirReadersSay) {
  const auto zeros = [](const std::string& name, const char* shape) {
    return Op("_zeros", name, {}, {{"shape", shape}});
  };
  const TypeMap known{{"x", {DType::kFloat32, Shape{2, 3}}}};
  EXPECT_EQ(AfterSimplifying(Symbol::Group({Sum("s", Var("x"), zeros("a", "(2, 0)")), zeros("b", "(2, 0)")}), known),
            "a() s(x a) b()");
  EXPECT_EQ(AfterSimplifying(Sum("s", zeros("a", "(2, 3)"), zeros("b", "(2, 3)")), {}), "a() s(a a)");
}

TEST(EliminateCommonSubexpressions, RemovedCopiesMakeNodesEqual) {
  EXPECT_EQ(AfterSimplifying(Sum("s", Relu("a", Op("Dropout", "d", {Var("x")})), Relu("b", Var("x")))), "a(x) s(a a)");
  const Symbol once = AmpCast("c", Var("x"), "bfloat16"), again = AmpCast("d", Var("x"), "bfloat16");
  EXPECT_EQ(AfterSimplifying(Sum("s", once, again)), "c(x) s(c c)");
}

TEST(EliminateCommonSubexpressions, DifferencesCount) {
  const Symbol x = Var("x");
  const auto clip = [&](const std::string& name, const char* high) {
    return Op("clip", name, {x}, {{"a_min", "0"}, {"a_max", high}});
  };
  EXPECT_EQ(AfterSimplifying(Sum("s", clip("a", "1"), clip("b", "2"))), "a(x) b(x) s(a b)");
  EXPECT_EQ(AfterSimplifying(Sum("s", Relu("a", x), Op("tanh", "b", {x}))), "a(x) b(x) s(a b)");
  EXPECT_EQ(AfterSimplifying(
                Sum("s", Op("elemwise_sub", "a", {x, Relu("r", x)}), Op("elemwise_sub", "b", {Relu("r2", x), x}))),
            "r(x) a(x r) b(r x) s(a b)");
  const auto fc = [&](const std::string& name, AttrMap attrs) {
    attrs.insert({{"num_hidden", "3"}, {"no_bias", "True"}});
    return Op("FullyConnected", name, {x, Var("w")}, attrs);
  };
  TypeMap known = FloatInput(DType::kBFloat16);
  known["w"] = {DType::kBFloat16, Shape{3, 3}};
  const Symbol wide = fc("a", {{kOutDTypeAttr, "float32"}});
  EXPECT_EQ(AfterSimplifying(Sum("s", wide, AmpCast("c", fc("b", {}), "float32")), known), "a(x w) b(x w) c(b) s(a c)");
  EXPECT_EQ(AfterSimplifying(Sum("s", fc("a", {{"__profiler_scope__", "p"}}), fc("b", {})), known), "a(x w) s(a a)");
  known["v"] = known["w"];
  const Symbol other = Op("FullyConnected", "b", {x, Var("v")}, {{"num_hidden", "3"}, {"no_bias", "True"}});
  EXPECT_EQ(AfterSimplifying(Sum("s", fc("a", {}), other), known), "a(x w) b(x v) s(a b)");
}

TEST(EliminateCommonSubexpressions, OutputsOfOneNodeAreNotEachOther) {
  const auto split = [](const std::string& name) {
    return Op("SliceChannel", name, {Var("x")}, {{"num_outputs", "3"}});
  };
  EXPECT_EQ(AfterSimplifying(Sum("s", split("a").At(0), split("b").At(2))), "a(x) s(a a.2)");
}

TEST(EliminateCommonSubexpressions, HeadsStayApart) {
  const Symbol x = Var("x");
  EXPECT_EQ(AfterSimplifying(Symbol::Group({Relu("a", x), Relu("b", x)})), "a(x) b(x)");
  // Others read an output of the graph, whatever the order.
  const Symbol head = Relu("z", x), reader = Op("tanh", "t", {Relu("a", x)});
  EXPECT_EQ(AfterSimplifying(Symbol::Group({head, reader})), "z(x) t(z)");
  EXPECT_EQ(AfterSimplifying(Symbol::Group({reader, head})), "z(x) t(z)");
  const Symbol both = Op("tanh", "t", {Relu("b", x)});
  EXPECT_EQ(AfterSimplifying(Symbol::Group({Relu("b", x), Relu("c", x), both})), "b(x) c(x) t(b)");
  // One that follows other outputs.
  EXPECT_EQ(AfterSimplifying(Symbol::Group({Op("tanh", "t", {Relu("c", x)}), Op("tanh", "u", {Relu("b", x)})})),
            "b(x) t(b) u(b)");
}

TEST(EliminateCommonSubexpressions, ControlDependenciesHoldNodes) {
  const Symbol x = Var("x");
  const NodePtr a = NodeOf(Relu("a", x)), b = NodeOf(Relu("b", x));
  const NodePtr sum = NodeOf(Sum("s", Symbol({{a, 0}}), Symbol({{b, 0}})));
  const Symbol held({{sum, 0}, {NodeOf(Op("tanh", "t", {x}))->WithInputs({{a->inputs()[0]}}, {a}), 0}});
  EXPECT_EQ(AfterSimplifying(held), "a(x) b(x) s(a b) t(x)");
}

TEST(EliminateCommonSubexpressions, PhasesStayApart) {
  const Symbol x = Var("x");
  const NodePtr a = NodeOf(Relu("a", x));
  const NodePtr b = Node::Make({a->op(), "b", {}, a->inputs(), {}, Phase::kBackward});
  const NodePtr sum = NodeOf(Sum("s", x, x));
  const Symbol both({{Node::Make({sum->op(), "s", {}, {{a, 0}, {b, 0}}, {}, Phase::kBackward}), 0}});
  EXPECT_EQ(AfterSimplifying(both), "a(x) b(x) s(a b)");
}

// --- both ---

TEST(Simplify, RandomModelsStayLegalAndOrderDoesNotMatter) {
  int changed = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const RandomModel model = RandomModelMaker(seed).Make(14);
    const TypeMap known = VariableTypes(model.symbol.ToGraph(), model.params, model.input_types);
    const RewriteResult result = Simplified(model.symbol, known);
    changed += result.changed;
    EXPECT_LE(result.graph.num_nodes(), model.symbol.ToGraph().num_nodes());
    std::vector<NodeEntry> backwards(model.symbol.outputs().rbegin(), model.symbol.outputs().rend());
    const RewriteResult other = Simplified(Symbol(backwards), known);
    const auto operators = [](const Graph& graph) {
      std::set<std::string> names;
      for (const NodePtr& node : graph.nodes()) names.insert(node->name());
      return names;
    };
    EXPECT_EQ(operators(result.graph), operators(other.graph));
  }
  EXPECT_GT(changed, 20);
}

}  // namespace
}  // namespace amp::testing
