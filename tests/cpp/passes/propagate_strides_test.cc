#include "passes/optimize/propagate_strides.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/optimize/merge_variables.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

const TypeMap kInput{{"x", {DType::kFloat32, Shape{2, 4, 9, 7}}}};

// A convolution of 4 channels without bias: its weight is the variable "<name>_weight".
Symbol StridedConv(const std::string& name, const Symbol& data, int kernel, int stride, int pad = 0,
                   AttrMap more = {}) {
  AttrMap attrs{{"kernel", PrintAttr(IntTuple(2, kernel))}, {"num_filter", "4"}, {"no_bias", "True"}};
  if (stride != 1) attrs["stride"] = PrintAttr(IntTuple(2, stride));
  if (pad != 0) attrs["pad"] = PrintAttr(IntTuple(2, pad));
  attrs.insert(more.begin(), more.end());
  return Op("Convolution", name, {data}, attrs);
}

RewriteResult Propagate(const Symbol& symbol, const TypeMap& known = kInput,
                        const std::set<std::string>& constant = {}) {
  const Graph graph = MergeVariables(symbol.ToGraph());
  const Model model(graph, known, constant);
  RewriteResult result = PropagateStrides(model);
  EXPECT_EQ(FindViolations(result.graph), "");
  const Model after(result.graph, known, constant);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    EXPECT_EQ(model.types()[graph.EntryOf(graph.outputs()[i])],
              after.types()[result.graph.EntryOf(result.graph.outputs()[i])]);
  }
  EXPECT_EQ(OutputNames(graph.outputs()), OutputNames(result.graph.outputs()));
  EXPECT_FALSE(PropagateStrides(after).changed);
  return result;
}

void ExpectUnchanged(const Symbol& symbol, const TypeMap& known = kInput) {
  const RewriteResult result = Propagate(symbol, known);
  EXPECT_FALSE(result.changed) << PrintGraph(result.graph);
}

// The lines of operators without what is the same in all of these tests.
std::string OperatorLines(const Graph& graph) {
  std::string text;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_variable()) continue;
    text += node->name() + "(";
    for (const NodeEntry& input : node->inputs()) {
      if (!input.node->is_variable() || input.node->name() == "x") text += input.node->name() + " ";
    }
    text.back() = ')';
    for (const char* key : {"kernel", "stride", "layout", "pool_type", "step"}) {
      const std::string* value = node->FindAttr(key);
      if (value != nullptr) text += fmt::format(" {}={}", key, *value);
    }
    text += "\n";
  }
  return text;
}

TEST(PropagateStrides, EndsInTheFirstLargerWindow) {
  const Symbol head = StridedConv("reader", Relu("relu", StridedConv("conv", Var("x"), 3, 2, 1)), 1, 2);
  EXPECT_EQ(OperatorLines(Propagate(head).graph),
            "conv(x) kernel=(3, 3) stride=(4, 4)\n"
            "relu(conv)\n"
            "reader(relu) kernel=(1, 1) stride=(1, 1)\n");
}

TEST(PropagateStrides, PassesThroughWindowsOfOneElement) {
  const Symbol middle = StridedConv("middle", Relu("first", StridedConv("conv", Var("x"), 3, 1)), 1, 1);
  const Symbol head = StridedConv("reader", Relu("second", middle), 1, 2);
  EXPECT_EQ(OperatorLines(Propagate(head).graph),
            "conv(x) kernel=(3, 3) stride=(2, 2)\n"
            "first(conv)\n"
            "middle(first) kernel=(1, 1)\n"
            "second(middle)\n"
            "reader(second) kernel=(1, 1) stride=(1, 1)\n");
}

TEST(PropagateStrides, AWindowOfOneElementThatReadsTheInputKeepsTheProduct) {
  const Symbol head = StridedConv("reader", StridedConv("first", Var("x"), 1, 3), 1, 2);
  EXPECT_EQ(OperatorLines(Propagate(head).graph),
            "first(x) kernel=(1, 1) stride=(6, 6)\n"
            "reader(first) kernel=(1, 1) stride=(1, 1)\n");
}

// The border of two stages of ResNet v1: the last sum of a stage is read by two convolutions in steps of two.
TEST(PropagateStrides, TheBorderOfTwoResidualStages) {
  const Symbol before = Relu("before", StridedConv("stem", Var("x"), 3, 1, 1));
  const Symbol body =
      StridedConv("c", Relu("b_relu", StridedConv("b", Relu("a_relu", StridedConv("a", before, 1, 1)), 3, 1, 1)), 1, 1);
  const Symbol border = Relu("border", Op("elemwise_add", "sum", {body, before}));
  const Symbol next =
      Op("elemwise_add", "next", {StridedConv("main", border, 1, 2), StridedConv("side", border, 1, 2)});
  EXPECT_EQ(OperatorLines(Propagate(next).graph),
            "stem(x) kernel=(3, 3)\n"
            "before(stem)\n"
            "a(before) kernel=(1, 1)\n"
            "a_relu(a)\n"
            "b(a_relu) kernel=(3, 3) stride=(2, 2)\n"
            "b_relu(b)\n"
            "c(b_relu) kernel=(1, 1)\n"
            "before_subsampled(before) kernel=(1, 1) stride=(2, 2) pool_type=avg\n"
            "sum(c before_subsampled)\n"
            "border(sum)\n"
            "main(border) kernel=(1, 1) stride=(1, 1)\n"
            "side(border) kernel=(1, 1) stride=(1, 1)\n"
            "next(main side)\n");
}

TEST(PropagateStrides, PoolingIsAWindowToo) {
  const AttrMap window{{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}};
  const AttrMap one{{"kernel", "(1, 1)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}};
  const Symbol head = Op("Pooling", "reader", {Op("Pooling", "pool", {Var("x")}, window)}, one);
  EXPECT_EQ(OperatorLines(Propagate(head).graph),
            "pool(x) kernel=(3, 3) stride=(4, 4) pool_type=max\n"
            "reader(pool) kernel=(1, 1) stride=(1, 1) pool_type=max\n");
  AttrMap full = window;
  full["pooling_convention"] = "full";
  ExpectUnchanged(Op("Pooling", "reader", {Op("Pooling", "pool", {Var("x")}, full)}, one));
  ExpectUnchanged(StridedConv("reader", Op("Pooling", "pool", {Var("x")}, {{"global_pool", "True"}}), 1, 2));
}

TEST(PropagateStrides, AxesOfChannelsLast) {
  const AttrMap last{{"layout", "NHWC"}};
  const TypeMap known{{"x", {DType::kFloat32, {2, 9, 7, 4}}}};
  const Symbol conv = StridedConv("conv", Var("x"), 3, 1, 0, last), kept = Relu("kept", conv);
  const Symbol sum = Op("elemwise_add", "sum", {StridedConv("other", Var("x"), 3, 1, 0, last), kept});
  const Symbol head = Symbol::Group({StridedConv("reader", sum, 1, 2, 0, last), kept});
  EXPECT_EQ(OperatorLines(Propagate(head, known).graph),
            "other(x) kernel=(3, 3) stride=(2, 2) layout=NHWC\n"
            "conv(x) kernel=(3, 3) layout=NHWC\n"
            "kept(conv)\n"
            "kept_subsampled(kept) kernel=(1, 1) stride=(2, 2) layout=NHWC pool_type=avg\n"
            "sum(other kept_subsampled)\n"
            "reader(sum) kernel=(1, 1) stride=(1, 1) layout=NHWC\n");
  // A reader that goes along other axes than the producer.
  ExpectUnchanged(StridedConv("reader", StridedConv("conv", Var("x"), 3, 1, 0, last), 1, 2), known);
}

TEST(PropagateStrides, OneAndThreeSpatialAxes) {
  for (const int n : {1, 3}) {
    const auto conv = [&](const std::string& name, const Symbol& data, int kernel, int stride) {
      return Op("Convolution", name, {data},
                {{"kernel", PrintAttr(IntTuple(n, kernel))},
                 {"stride", PrintAttr(IntTuple(n, stride))},
                 {"num_filter", "2"}});
    };
    std::vector<std::int64_t> dims{1, 3};
    dims.insert(dims.end(), static_cast<std::size_t>(n), 8);
    const Symbol head = conv("reader", Relu("relu", conv("conv", Var("x"), 3, 1)), 1, 2);
    const RewriteResult result = Propagate(head, {{"x", {DType::kFloat32, Shape(dims)}}});
    EXPECT_CONTAINS(OperatorLines(result.graph), "stride=" + PrintAttr(IntTuple(n, 2)) + "\nrelu");
  }
}

TEST(PropagateStrides, BroadcastOperandsStay) {
  const Symbol conv = StridedConv("conv", Var("x"), 3, 1, 1);
  const Symbol scaled = Op("broadcast_mul", "scaled", {conv, Op("relu", "scale", {Var("s")})});
  TypeMap known = kInput;
  for (const Shape& shape : {Shape{2, 4, 1, 1}, Shape{1, 1, 1, 1}, Shape{1, 1}, Shape{1}}) {
    known["s"] = {DType::kFloat32, shape};
    EXPECT_EQ(OperatorLines(Propagate(StridedConv("reader", scaled, 1, 2), known).graph),
              "conv(x) kernel=(3, 3) stride=(2, 2)\n"
              "scale)\n"
              "scaled(conv scale)\n"
              "reader(scaled) kernel=(1, 1) stride=(1, 1)\n");
  }
  for (const Shape& shape : {Shape{1, 1, 9, 1}, Shape{7}, Shape{1, 1, 1, 7}}) {
    known["s"] = {DType::kFloat32, shape};
    ExpectUnchanged(StridedConv("reader", scaled, 1, 2), known);
  }
  // It is not the thinned operand that has the shape of the sum.
  known["s"] = {DType::kFloat32, {2, 4, 9, 7}};
  const Symbol small = StridedConv("small", Op("Pooling", "gap", {Var("x")}, {{"global_pool", "True"}}), 1, 1);
  ExpectUnchanged(StridedConv("reader", Op("broadcast_mul", "scaled", {small, Var("s")}), 1, 2), known);
}

TEST(PropagateStrides, StatisticsGoAlongTheirAxis) {
  for (const char* axis : {"1", "-3"}) {
    const Symbol norm = Op("BatchNorm", "bn", {StridedConv("conv", Var("x"), 3, 1, 1)}, {{"axis", axis}});
    EXPECT_CONTAINS(OperatorLines(Propagate(StridedConv("reader", norm, 1, 2)).graph),
                    "conv(x) kernel=(3, 3) stride=(2, 2)\n");
  }
  for (const char* axis : {"2", "-1"}) {
    ExpectUnchanged(
        StridedConv("reader", Op("BatchNorm", "bn", {StridedConv("conv", Var("x"), 3, 1, 1)}, {{"axis", axis}}), 1, 2));
  }
  const Symbol prelu = Op("LeakyReLU", "act", {StridedConv("conv", Var("x"), 3, 1, 1)}, {{"act_type", "prelu"}});
  EXPECT_CONTAINS(OperatorLines(Propagate(StridedConv("reader", prelu, 1, 2)).graph),
                  "conv(x) kernel=(3, 3) stride=(2, 2)\n");
  // Slopes of positions are needed at other positions.
  const Symbol by_position =
      Op("LeakyReLU", "act", {StridedConv("conv", Var("x"), 3, 1, 1), Var("s")}, {{"act_type", "prelu"}});
  TypeMap known = kInput;
  known["s"] = {DType::kFloat32, {1, 1, 9, 7}};
  ExpectUnchanged(StridedConv("reader", by_position, 1, 2), known);
}

TEST(PropagateStrides, DifferentStepsOfTheAxes) {
  const AttrMap wide{{"stride", "(1, 2)"}}, high{{"stride", "(2, 1)"}};
  const Symbol conv = StridedConv("conv", Var("x"), 3, 1);
  const Symbol agreed = Symbol::Group({StridedConv("a", conv, 1, 1, 0, wide), StridedConv("b", conv, 1, 1, 0, wide)});
  EXPECT_CONTAINS(OperatorLines(Propagate(agreed).graph), "conv(x) kernel=(3, 3) stride=(1, 2)\n");
  ExpectUnchanged(Symbol::Group({StridedConv("a", conv, 1, 1, 0, wide), StridedConv("b", conv, 1, 1, 0, high)}));
}

TEST(PropagateStrides, RefusesWhatIsReadOtherwise) {
  const Symbol conv = StridedConv("conv", Var("x"), 3, 1, 1);
  ExpectUnchanged(Symbol::Group({StridedConv("reader", conv, 1, 2), conv}));  // an output of the graph
  ExpectUnchanged(
      Symbol::Group({StridedConv("reader", conv, 1, 2), StridedConv("other", conv, 1, 3)}));  // another stride
  ExpectUnchanged(Symbol::Group({StridedConv("reader", conv, 1, 2), StridedConv("other", conv, 1, 1)}));
  ExpectUnchanged(Symbol::Group({StridedConv("reader", conv, 1, 2), Op("softmax", "other", {conv})}));
  ExpectUnchanged(StridedConv("reader", conv, 1, 2, 1));  // padding
  ExpectUnchanged(StridedConv("reader", conv, 3, 2));     // a larger window
  ExpectUnchanged(StridedConv("reader", conv, 2, 2));
  ExpectUnchanged(StridedConv("reader", Op("softmax", "between", {conv}), 1, 2));
  ExpectUnchanged(StridedConv(
      "reader", Op("Pooling", "between", {Var("x")}, {{"kernel", "(1, 1)"}, {"global_pool", "True"}}), 1, 2));
  // The result is the weight of another convolution.
  const Symbol weight =
      Op("Convolution", "other", {Var("y"), conv}, {{"kernel", "(9, 7)"}, {"num_filter", "2"}, {"no_bias", "True"}});
  TypeMap known = kInput;
  known["y"] = {DType::kFloat32, {1, 4, 9, 7}};
  ExpectUnchanged(Symbol::Group({StridedConv("reader", conv, 1, 2), weight}), known);
}

TEST(PropagateStrides, OtherOutputsMustBeUnread) {
  const Symbol conv = StridedConv("conv", Var("x"), 3, 1, 1);
  const Symbol act = Op("LeakyReLU", "act", {conv}, {{"act_type", "rrelu"}});
  ExpectUnchanged(Symbol::Group({StridedConv("reader", act.At(0), 1, 2), Symbol({{NodeOf(act), 1}})}));
  EXPECT_TRUE(Propagate(StridedConv("reader", act.At(0), 1, 2)).changed);
}

// Copies of all operands would cost what the smaller sum saves.
TEST(PropagateStrides, CopiesAloneDoNotPay) {
  const Symbol a = Relu("a", Var("x")), b = Op("tanh", "b", {Var("x")});
  ExpectUnchanged(StridedConv("reader", Op("elemwise_add", "sum", {a, b}), 1, 2));
  ExpectUnchanged(StridedConv("reader", Relu("r", Op("softmax", "s", {Var("x")})), 1, 2));
}

TEST(PropagateStrides, OneCopyForAllWhoWantIt) {
  const Symbol shared = Op("softmax", "shared", {Var("x")});
  const auto branch = [&](const std::string& name) {
    const Symbol sum = Op("elemwise_add", name + "_sum", {StridedConv(name, Var("x"), 3, 1, 1), shared});
    return StridedConv(name + "_reader", sum, 1, 2);
  };
  const std::string text = OperatorLines(Propagate(Symbol::Group({branch("a"), branch("b")})).graph);
  EXPECT_CONTAINS(text, "a_sum(a shared_subsampled)");
  EXPECT_CONTAINS(text, "b_sum(b shared_subsampled)");
}

TEST(PropagateStrides, OtherNumbersAreThinnedBySlices) {
  const Symbol ints = Op("Cast", "ints", {Var("x")}, {{"dtype", "int32"}});
  const Symbol conv = Op("Cast", "conv_ints", {StridedConv("conv", Var("x"), 3, 1, 1)}, {{"dtype", "int32"}});
  const Symbol sum = Op("Cast", "floats", {Op("elemwise_add", "sum", {conv, ints})}, {{"dtype", "float32"}});
  const std::string text = OperatorLines(Propagate(Symbol::Group({StridedConv("reader", sum, 1, 2), ints})).graph);
  EXPECT_CONTAINS(text, "ints_subsampled(ints) step=(1, 1, 2, 2)\n");
}

// What depends on parameters alone is the same for all shapes.
TEST(PropagateStrides, ConstantsStay) {
  const Symbol sum = Op("elemwise_add", "sum", {StridedConv("conv", Var("x"), 3, 1, 1), Var("p")});
  const Symbol head = StridedConv("reader", sum, 1, 2);
  EXPECT_TRUE(Propagate(head).changed);
  EXPECT_FALSE(Propagate(head, kInput, {"p"}).changed);
}

TEST(PropagateStrides, ControlDependenciesHoldNodes) {
  const Symbol conv = StridedConv("conv", Var("x"), 3, 1, 1), reader = StridedConv("reader", conv, 1, 2);
  const NodePtr free = NodeOf(Relu("free", Var("y")));
  TypeMap known = kInput;
  known["y"] = {DType::kFloat32, {1}};
  const NodePtr node = NodeOf(reader);
  ExpectUnchanged(Symbol({{node->WithInputs(node->inputs(), {free}), 0}}), known);
  const NodePtr waits = free->WithInputs(free->inputs(), {NodeOf(conv)});
  ExpectUnchanged(Symbol({{node, 0}, {waits, 0}}), known);
}

TEST(PropagateStrides, StridesBeyondWhatCardsAcceptAreNotMade) {
  Symbol symbol = StridedConv("c0", Var("x"), 1, 1 << 19);
  symbol = StridedConv("c1", symbol, 1, 1 << 19);
  ExpectUnchanged(symbol);
}

TEST(PropagateStrides, UnknownShapesStay) {
  ExpectUnchanged(StridedConv("reader", StridedConv("conv", Var("x"), 3, 1, 1), 1, 2),
                  {{"x", {DType::kFloat32, Shape::OfRank(4)}}});
}

}  // namespace
}  // namespace amp::testing
