#include "passes/precision/cancellation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nnvm/compose.h"

namespace amp::testing {
namespace {

// The names of the sums whose terms cancel.
std::string Cancelling(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  const std::vector<bool> cancels = FindCancellations(graph);
  std::string names;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (cancels[id]) names += graph.node(id).name() + " ";
  }
  return names;
}

Symbol ProductOfRows(const Symbol& a, const Symbol& b) { return Op("batch_dot", "p", {a, Op("transpose", "bt", {b})}); }
Symbol Total(const std::string& name, const Symbol& squares) { return Op("sum", name, {squares}, {{"axis", "2"}}); }

TEST(Cancellation, SquaresBesideProductsOfTheSameTensor) {
  const Symbol a = Var("a"), b = Var("b");
  for (const Symbol& squares :
       {Op("square", "s", {a}), Op("elemwise_mul", "s", {a, a}), Op("_power_scalar", "s", {a}, {{"scalar", "2"}})}) {
    EXPECT_EQ(Cancelling(Op("broadcast_sub", "d", {Total("t", squares), ProductOfRows(a, b)})), "d ");
    EXPECT_EQ(Cancelling(Op("broadcast_sub", "d", {Total("t", squares), ProductOfRows(b, a)})), "d ");
    EXPECT_EQ(Cancelling(Op("broadcast_sub", "d", {Total("t", squares), ProductOfRows(b, b)})), "");
  }
  const Symbol norm = Op("norm", "n", {a}, {{"axis", "2"}});
  EXPECT_EQ(Cancelling(Op("broadcast_sub", "d", {Op("square", "s", {norm}), ProductOfRows(a, b)})), "d ");
  EXPECT_EQ(Cancelling(Op("broadcast_sub", "d", {norm, ProductOfRows(a, b)})), "");
  EXPECT_EQ(Cancelling(Op("elemwise_sub", "d", {ProductOfRows(a, a), ProductOfRows(a, b)})), "d ");
}

TEST(Cancellation, ThroughScaledAndMovedTermsAndLongerSums) {
  const Symbol a = Var("a"), b = Var("b");
  const Symbol twice = Op("_mul_scalar", "twice", {ProductOfRows(a, b)}, {{"scalar", "-2"}});
  const Symbol lengths = Op("expand_dims", "e", {Total("t", Op("square", "s", {b}))}, {{"axis", "1"}});
  const Symbol bias = Op("broadcast_add", "biased", {twice, Var("c")});
  EXPECT_EQ(Cancelling(Op("broadcast_add", "d", {lengths, bias})), "d ");
}

TEST(Cancellation, DifferencesOfOneProduct) {
  const Symbol a = Var("a"), b = Var("b");
  const Symbol moved = Op("_plus_scalar", "moved", {a}, {{"scalar", "0.001"}});
  EXPECT_EQ(Cancelling(Op("elemwise_sub", "d", {ProductOfRows(a, b), ProductOfRows(moved, b)})), "d ");
  EXPECT_EQ(Cancelling(Op("elemwise_add", "d", {ProductOfRows(a, b), ProductOfRows(moved, b)})), "");
  EXPECT_EQ(Cancelling(Op("elemwise_sub", "d", {ProductOfRows(a, b), ProductOfRows(a, Var("c"))})), "");
}

TEST(Cancellation, OrdinaryLayersHaveNone) {
  const Symbol x = Var("x");
  const Symbol fc = Op("FullyConnected", "fc", {x, Var("w")}, {{"num_hidden", "2"}, {"no_bias", "True"}});
  const Symbol centred = Op("broadcast_sub", "c", {fc, Op("mean", "m", {fc}, {{"axis", "1"}})});
  const Symbol variance = Op("mean", "v", {Op("square", "s", {centred})}, {{"axis", "1"}});
  EXPECT_EQ(Cancelling(Op("broadcast_div", "n", {Op("elemwise_add", "r", {x, centred}), variance})), "");
}

}  // namespace
}  // namespace amp::testing
