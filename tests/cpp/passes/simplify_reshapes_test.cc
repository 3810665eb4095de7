#include "passes/optimize/simplify_reshapes.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

TypeMap Input(Shape shape) { return {{"x", {DType::kFloat32, std::move(shape)}}}; }

RewriteResult Composed(const Symbol& symbol, const Shape& shape, bool constant = false) {
  const Graph graph = symbol.ToGraph();
  const std::set<std::string> parameters = constant ? std::set<std::string>{"x"} : std::set<std::string>();
  const Model model(graph, Input(shape), parameters);
  RewriteResult result = SimplifyReshapes(model);
  EXPECT_EQ(FindViolations(result.graph), "");
  EXPECT_EQ(OutputNames(graph.outputs()), OutputNames(result.graph.outputs()));
  const Model after(result.graph, Input(shape), parameters);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    EXPECT_EQ(model.types()[graph.EntryOf(graph.outputs()[i])],
              after.types()[result.graph.EntryOf(result.graph.outputs()[i])]);
  }
  EXPECT_FALSE(SimplifyReshapes(after).changed);
  return result;
}

std::string AfterComposing(const Symbol& symbol, const Shape& shape) {
  return PrintGraph(Composed(symbol, shape).graph);
}

Symbol Reshape(const std::string& name, const Symbol& data, const char* shape) {
  return Op("Reshape", name, {data}, {{"shape", shape}});
}
Symbol Transpose(const std::string& name, const Symbol& data, const char* axes) {
  return Op("transpose", name, {data}, {{"axes", axes}});
}

constexpr const char* kNothingLeft = "%0 x = null()\n%1 r = relu(%0)\noutputs: %1\n";

TEST(SimplifyReshapes, PairsThatCancel) {
  EXPECT_EQ(AfterComposing(Relu("r", Reshape("b", Reshape("a", Var("x"), "(-1,)"), "(2, 3)")), {2, 3}), kNothingLeft);
  EXPECT_EQ(AfterComposing(
                Relu("r", Op("squeeze", "b", {Op("expand_dims", "a", {Var("x")}, {{"axis", "1"}})}, {{"axis", "1"}})),
                {2, 3}),
            kNothingLeft);
  EXPECT_EQ(AfterComposing(Relu("r", Transpose("b", Transpose("a", Var("x"), "(2, 0, 1)"), "(1, 2, 0)")), {2, 3, 4}),
            kNothingLeft);
  EXPECT_EQ(
      AfterComposing(Relu("r", Op("transpose", "b", {Op("SwapAxis", "a", {Var("x")}, {{"dim1", "0"}, {"dim2", "1"}})})),
                     {2, 3}),
      kNothingLeft);
  EXPECT_EQ(AfterComposing(Relu("r", Op("Flatten", "a", {Var("x")})), {2, 3}), kNothingLeft);
}

TEST(SimplifyReshapes, ChainsBecomeOne) {
  const Symbol views =
      Op("Flatten", "c", {Op("expand_dims", "b", {Reshape("a", Var("x"), "(0, 0, -1)")}, {{"axis", "0"}})});
  EXPECT_EQ(AfterComposing(Relu("r", views), {2, 3, 4, 5}),
            "%0 x = null()\n%1 c = Reshape(%0) shape=(1, 120)\n%2 r = relu(%1)\noutputs: %2\n");
  const Symbol turns = Transpose("b", Transpose("a", Var("x"), "(1, 2, 0)"), "(0, 2, 1)");
  EXPECT_EQ(AfterComposing(Relu("r", turns), {2, 3, 4}),
            "%0 x = null()\n%1 b = transpose(%0) axes=(1, 0, 2)\n%2 r = relu(%1)\noutputs: %2\n");
}

TEST(SimplifyReshapes, TranspositionsOfAxesOfSizeOneAreViews) {
  EXPECT_EQ(AfterComposing(Relu("r", Transpose("a", Var("x"), "(0, 2, 1)")), {2, 1, 3}),
            "%0 x = null()\n%1 a = Reshape(%0) shape=(2, 3, 1)\n%2 r = relu(%1)\noutputs: %2\n");
  EXPECT_EQ(AfterComposing(Relu("r", Op("squeeze", "b", {Transpose("a", Var("x"), "(1, 0)")})), {4, 1}),
            "%0 x = null()\n%1 b = Reshape(%0) shape=(4,)\n%2 r = relu(%1)\noutputs: %2\n");
  // Two that do not change the order together.
  EXPECT_EQ(AfterComposing(Relu("r", Transpose("b", Transpose("a", Var("x"), "(2, 1, 0)"), "(2, 0, 1)")), {2, 1, 3}),
            "%0 x = null()\n%1 b = Reshape(%0) shape=(2, 3, 1)\n%2 r = relu(%1)\noutputs: %2\n");
}

TEST(SimplifyReshapes, WhatChangesTheOrderStays) {
  const auto unchanged = [](const Symbol& symbol, const Shape& shape) {
    EXPECT_FALSE(Composed(symbol, shape).changed) << PrintGraph(symbol.ToGraph());
  };
  unchanged(Relu("r", Reshape("b", Transpose("a", Var("x"), "(1, 0)"), "(2, 3)")), {2, 3});
  unchanged(Relu("r", Transpose("b", Reshape("a", Var("x"), "(3, 2)"), "(1, 0)")), {2, 3});
  unchanged(Relu("r", Transpose("a", Var("x"), "(1, 0)")), {2, 3});
  unchanged(Relu("r", Reshape("a", Var("x"), "(3, 2)")), {2, 3});
  unchanged(Relu("r", Reshape("b", Op("tanh", "t", {Reshape("a", Var("x"), "(3, 2)")}), "(2, 3)")), {2, 3});
  unchanged(Relu("r", Op("slice_axis", "b", {Reshape("a", Var("x"), "(3, 2)")},
                         {{"axis", "0"}, {"begin", "0"}, {"end", "2"}})),
            {2, 3});
}

TEST(SimplifyReshapes, HeadsStay) {
  const Symbol first = Reshape("a", Var("x"), "(-1,)"), back = Reshape("b", first, "(2, 3)");
  EXPECT_EQ(AfterComposing(Symbol::Group({back, Relu("r", back), first}), {2, 3}),
            "%0 x = null()\n%1 a = Reshape(%0) shape=(-1,)\n%2 b = Reshape(%1) shape=(2, 3)\n%3 r = relu(%0)\n"
            "outputs: %2 %3 %1\n");
  const Symbol shorter = Reshape("b", first, "(3, 2)");
  EXPECT_EQ(AfterComposing(shorter, {2, 3}), "%0 x = null()\n%1 b = Reshape(%0) shape=(3, 2)\noutputs: %1\n");
  const Symbol named = Op("Reshape", "b", {first}, {{"shape", "(3, 2)"}, {kOutputNameAttr, "given"}});
  EXPECT_EQ(AfterComposing(named, {2, 3}),
            "%0 x = null()\n%1 b = Reshape(%0) __output_name__=given shape=(3, 2)\noutputs: %1\n");
}

TEST(SimplifyReshapes, OtherReadersKeepTheirView) {
  const Symbol first = Reshape("a", Var("x"), "(-1,)");
  EXPECT_EQ(AfterComposing(Symbol::Group({Relu("r", Reshape("b", first, "(3, 2)")), Op("tanh", "t", {first})}), {2, 3}),
            "%0 x = null()\n%1 b = Reshape(%0) shape=(3, 2)\n%2 r = relu(%1)\n%3 a = Reshape(%0) shape=(-1,)\n"
            "%4 t = tanh(%3)\noutputs: %2 %4\n");
}

// A 0 in the attribute would mean something else, and scalars have no shape to write.
TEST(SimplifyReshapes, ShapesWithoutAForm) {
  EXPECT_FALSE(
      Composed(Relu("r", Op("Flatten", "b", {Op("expand_dims", "a", {Var("x")}, {{"axis", "0"}})})), {0, 3}).changed);
  const Symbol scalar = Op("_npi_squeeze", "b", {Op("_npi_squeeze", "a", {Var("x")}, {{"axis", "0"}})});
  EXPECT_FALSE(Composed(Relu("r", scalar), {1, 1}).changed);
}

TEST(SimplifyReshapes, ConstantsAndUnknownShapesStay) {
  const Symbol symbol = Relu("r", Reshape("b", Reshape("a", Var("x"), "(-1,)"), "(2, 3)"));
  EXPECT_FALSE(Composed(symbol, {2, 3}, true).changed);
  EXPECT_FALSE(Composed(symbol, Shape::OfRank(2)).changed);
}

TEST(SimplifyReshapes, ControlDependenciesHoldNodes) {
  const NodePtr a = NodeOf(Reshape("a", Var("x"), "(-1,)"));
  const NodePtr b = NodeOf(Reshape("b", Symbol({{a, 0}}), "(3, 2)"));
  const NodePtr free = NodeOf(Op("relu", "free", {Symbol({a->inputs()[0]})}));
  EXPECT_FALSE(Composed(Symbol({{b->WithInputs(b->inputs(), {free}), 0}}), {2, 3}).changed);
}

}  // namespace
}  // namespace amp::testing
