#include "program/control_flow_body.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/ndarray.h"

namespace amp::testing {
namespace {

NDArray Filled(Shape shape, float value) {
  NDArray array(DType::kFloat32, std::move(shape));
  std::fill_n(array.As<float>(), array.size(), value);
  return array;
}

// y = fc(x, w, b), and x itself.
ControlFlowBody DenseBody() {
  const Symbol x = Var("x");
  return ControlFlowBody(
      {EntryOf(Op("FullyConnected", "fc", {x, Var("w"), Var("b")}, {{"num_hidden", "2"}})), EntryOf(x)});
}

TEST(ControlFlowBody, InfersInputsAndOutputsFromWhatIsKnown) {
  const auto signature = DenseBody().InferSignature({{DType::kFloat32, {4, 3}}, {}, {}});
  ASSERT_EQ(signature->inputs.size(), 3u);
  EXPECT_EQ(signature->inputs[1].ToString(), "float32[2,3]");
  EXPECT_EQ(signature->inputs[2].ToString(), "float32[2]");
  EXPECT_EQ(signature->outputs[0].ToString(), "float32[4,2]");
  EXPECT_EQ(signature->outputs[1].ToString(), "float32[4,3]");
}

TEST(ControlFlowBody, RemembersWhatItInferred) {
  const ControlFlowBody body = DenseBody();
  const std::vector<TensorType> known{{DType::kFloat32, {4, 3}}, {}, {}};
  EXPECT_EQ(body.InferSignature(known), body.InferSignature(known));
}

TEST(ControlFlowBody, RunsOnArraysOfSeveralTypes) {
  const ControlFlowBody body = DenseBody();
  for (const std::int64_t rows : {4, 2, 4}) {
    const std::vector<NDArray> outputs = body.Run({Filled({rows, 3}, 2), Filled({2, 3}, 1), Filled({2}, 0.5)});
    EXPECT_EQ(outputs[0].shape(), (Shape{rows, 2}));
    EXPECT_EQ(outputs[0].As<float>()[2 * rows - 1], 6.5f);
    EXPECT_EQ(outputs[1].shape(), (Shape{rows, 3}));
  }
}

TEST(ControlFlowBody, KnowsItsStates) {
  const ControlFlowBody body({EntryOf(Op("BatchNorm", "bn", {Var("x")}))});
  EXPECT_EQ(body.input_names().size(), 5u);
  EXPECT_FALSE(body.IsState(2));
  EXPECT_TRUE(body.IsState(3));
}

TEST(ControlFlowBody, RefusesTwinsAndContradictions) {
  EXPECT_CONTAINS(ErrorOf<GraphError>([] {
                    ControlFlowBody({EntryOf(Op("elemwise_add", "add", {Var("x"), Var("x")}))});
                  }),
                  "two variables of a subgraph are named 'x'");
  EXPECT_CONTAINS(ErrorOf<GraphError>([] {
                    DenseBody().InferSignature({{DType::kFloat32, {4, 3}}, {DType::kFloat32, {2, 4}}, {}});
                  }),
                  "FullyConnected 'fc': expected weight with 3 input features, got 4");
}

}  // namespace
}  // namespace amp::testing
