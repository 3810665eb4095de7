#include "nnvm/symbol.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::NodeOf;
using testing::Text;
using testing::Var;
using Names = std::vector<std::string>;

Symbol Apply(std::string_view op, std::string name, const std::vector<Symbol>& positional,
             const std::map<std::string, Symbol>& by_name = {}, AttrMap attrs = {}) {
  testing::RegisterFakeOps();
  return Symbol::Apply(op, std::move(name), std::move(attrs), positional, by_name);
}

TEST(Symbol, InputsByPositionByNameAndMadeUp) {
  EXPECT_EQ(Text(Apply("_fake_pair", "p", {Var("a")}, {{"rhs", Var("b")}})),
            "%0 a = null()\n%1 b = null()\n%2 p = _fake_pair(%0, %1)\noutputs: %2\n");
  EXPECT_EQ(Text(Apply("_fake_pair", "p", {}, {{"rhs", Var("b")}})),
            "%0 p_lhs = null()\n%1 b = null()\n%2 p = _fake_pair(%0, %1)\noutputs: %2\n");
  EXPECT_EQ(Text(Apply("_fake_state", "bn", {Var("a")})),
            "%0 a = null()\n%1 bn_state = null()\n%2 bn = _fake_state(%0, %1)\noutputs: %2\n");
}

TEST(Symbol, ByAliasTheNodeHasTheOperatorsName) {
  EXPECT_EQ(NodeOf(Apply("_fake_alias", "u", {Var("x")}))->op_name(), "_fake_unary");
}

TEST(Symbol, VariadicOperatorsCountTheirInputs) {
  const Symbol x = Var("x"), y = Var("y");
  EXPECT_EQ(NodeOf(Apply("_fake_join", "j", {x, y, x}))->attrs(), (AttrMap{{"num_args", "3"}}));
  // One symbol of several outputs gives that many inputs.
  EXPECT_EQ(NodeOf(Apply("_fake_join", "j", {Symbol::Group({x, y})}))->inputs().size(), 2u);
  EXPECT_EQ(NodeOf(Apply("_fake_join", "j", {x}, {{"arg1", y}}))->inputs().size(), 2u);
  EXPECT_EQ(NodeOf(Apply("_fake_join", "j", {}, {{"arg0", y}, {"arg1", x}}))->inputs()[0].node, NodeOf(y));
  EXPECT_EQ(NodeOf(Apply("_fake_join", "j", {x}, {}, {{"num_args", "1"}}))->inputs().size(), 1u);
  // Inputs that are counted but not given become variables.
  EXPECT_EQ(Apply("_fake_join", "j", {}, {}, {{"num_args", "2"}}).ListArguments(), (Names{"j_arg0", "j_arg1"}));
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              Apply("_fake_join", "j", {x, y}, {}, {{"num_args", "3"}});
            }),
            "_fake_join 'j': num_args is 3, but 2 inputs are given");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Apply("_fake_join", "j", {}); }), "num_args: expected a value in [1, 99]");
}

TEST(Symbol, OnlyVisibleOutputsComeOut) {
  EXPECT_EQ(Apply("_fake_state", "s", {Var("x")}).outputs().size(), 1u);
  EXPECT_EQ(Apply("_fake_split", "s", {Var("x")}, {}, {{"num_outputs", "3"}}).ListOutputs(),
            (Names{"s_output0", "s_output1", "s_output2"}));
}

TEST(Symbol, RefusesWrongInputs) {
  const Symbol x = Var("x");
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              Apply("_fake_pair", "p", {x, x, x});
            }),
            "_fake_pair 'p': expected at most 2 inputs (lhs, rhs), got 3");
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              Apply("_fake_pair", "p", {x}, {{"lhs", x}});
            }),
            "_fake_pair 'p': input lhs is given twice");
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              Apply("_fake_pair", "p", {x}, {{"rhx", x}});
            }),
            "_fake_pair 'p': has no input 'rhx'; did you mean 'rhs', 'lhs'?");
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              Apply("_fake_pair", "p", {Symbol::Group({x, x}), x});
            }),
            "_fake_pair: an input must have one output, got a symbol with 2");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] {
                    Apply("_fake_pair", "p", {}, {{"lhs", Symbol()}});
                  }),
                  "a symbol with 0");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Apply("_fake_pair", "", {x, x}); }), "a node needs a name");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { Var(""); }), "a variable needs a name");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { Symbol::Group({}); }), "at least one symbol");
  EXPECT_CONTAINS(ErrorOf<UnsupportedError>([&] { Apply("_fake_triple", "t", {x}); }),
                  "'_fake_triple' is not registered");
  EXPECT_EQ(ErrorOf<GraphError>([&] {
              Apply("_fake_unary", "u", {x}, {}, {{"cuont", "1"}});
            }),
            "_fake_unary 'u': unknown attribute 'cuont'; did you mean 'count'?");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] {
                    Apply("_fake_state", "s", {x, Apply("_fake_unary", "u", {x})});
                  }),
                  "must be a variable");
}

Symbol SmallSymbol() {
  const Symbol state = Apply("_fake_state", "s", {Var("x"), Var("m")});
  return Apply("_fake_pair", "p", {state, Var("w")}, {}, {{"__mark__", "1"}});
}

TEST(Symbol, Lists) {
  EXPECT_EQ(SmallSymbol().ListArguments(), (Names{"x", "w"}));
  EXPECT_EQ(SmallSymbol().ListAuxiliaryStates(), (Names{"m"}));
  EXPECT_EQ(SmallSymbol().ListInputs(), (Names{"x", "m", "w"}));
  EXPECT_EQ(SmallSymbol().ListOutputs(), (Names{"p_output"}));
  EXPECT_EQ(SmallSymbol().AttrDict(), (std::map<std::string, AttrMap>{{"p", {{"__mark__", "1"}}}}));
}

TEST(Symbol, Internals) {
  const Symbol internals = SmallSymbol().GetInternals();
  EXPECT_EQ(internals.ListOutputs(), (Names{"x", "m", "s_output", "w", "p_output"}));  // no s_saved
  EXPECT_EQ(internals.ByName("s_output").ListInputs(), (Names{"x", "m"}));
  EXPECT_EQ(internals.At(0).ListOutputs(), (Names{"x"}));
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { internals.ByName("s_outptu"); }).substr(0, 60),
            "the symbol has no output 's_outptu'; did you mean 's_output'");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { internals.At(5); }), "output 5 of a symbol that has 5");
}

TEST(Symbol, Children) {
  EXPECT_EQ(SmallSymbol().GetChildren().ListOutputs(), (Names{"s_output", "w"}));
  EXPECT_TRUE(Var("x").GetChildren().outputs().empty());
  // A node with several outputs is asked once.
  const Symbol split = Apply("_fake_split", "s", {Var("x")}, {}, {{"num_outputs", "3"}});
  EXPECT_EQ(split.GetChildren().ListOutputs(), (Names{"x"}));
}

TEST(Symbol, GroupKeepsOrderAndDuplicates) {
  const Symbol x = Var("x"), y = Var("y");
  EXPECT_EQ(Symbol::Group({y, x, Symbol::Group({y, x})}).ListOutputs(), (Names{"y", "x", "y", "x"}));
}

TEST(Symbol, SubstitutePutsSymbolsInPlaceOfVariables) {
  const Symbol body = SmallSymbol();
  const Symbol whole = body.Substitute({{"x", Apply("_fake_unary", "pre", {Var("image")})}});
  EXPECT_EQ(Text(whole),
            "%0 image = null()\n"
            "%1 pre = _fake_unary(%0)\n"
            "%2 m = null()\n"
            "%3 s = _fake_state(%1, %2)\n"
            "%4 w = null()\n"
            "%5 p = _fake_pair(%3, %4) __mark__=1\n"
            "outputs: %5\n");
  EXPECT_EQ(body.ListArguments(), (Names{"x", "w"}));  // the original stays
  EXPECT_EQ(body.Substitute({}).outputs(), body.outputs());
  EXPECT_EQ(Var("x").Substitute({{"x", Var("y")}}).ListOutputs(), (Names{"y"}));
}

TEST(Symbol, SubstituteSwapsVariables) {
  const Symbol x = Var("x"), y = Var("y");
  const Symbol pair = Apply("_fake_pair", "p", {x, y});
  EXPECT_EQ(pair.Substitute({{"x", y}, {"y", x}}).ListArguments(), (Names{"y", "x"}));
}

TEST(Symbol, SubstituteRefuses) {
  EXPECT_EQ(ErrorOf<ArgumentError>([] {
              SmallSymbol().Substitute({{"xx", Var("y")}});
            }),
            "the symbol has no input 'xx'; did you mean 'x', 'm', 'w'?");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] {
                    SmallSymbol().Substitute({{"x", Symbol::Group({Var("a"), Var("b")})}});
                  }),
                  "must have one output");
  EXPECT_CONTAINS(ErrorOf<GraphError>([] {
                    SmallSymbol().Substitute({{"m", Apply("_fake_unary", "u", {Var("a")})}});
                  }),
                  "must be a variable");
}

}  // namespace
}  // namespace amp
