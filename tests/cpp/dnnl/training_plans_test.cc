// Plans of forward and backward: they compute what the reference backend does, and without its kernels.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dnnl/models.h"
#include "nnvm/param.h"
#include "passes/gradient/gradient.h"

namespace amp::onednn {
namespace {

using namespace testing;

std::string ReferenceSteps(const PlanSummary& summary) {
  std::string steps;
  for (const PlanStep& step : summary.steps) {
    if (step.implementation == "reference") steps += step.kind + " " + step.node + "\n";
  }
  return steps;
}

struct Joint {
  TestModel model;
  std::vector<std::string> variables;
};

// The gradients of a symbol with respect to all its inputs.
Joint JointOf(const TestModel& forward) {
  Joint joint{forward, {}};
  for (const auto& [name, type] : forward.types) joint.variables.push_back(name);
  for (const auto& [name, array] : forward.params.args) {
    joint.model.types[name] = array.type();
    joint.variables.push_back(name);
  }
  joint.model.params.args.clear();
  // Weights of outputs: a sum of all that batch norm makes has no gradient.
  const Symbol weighted = Op("broadcast_mul", "weighted", {forward.symbol, Op("arctan", "angle", {forward.symbol})});
  joint.model.symbol = Gradient(weighted, joint.variables);
  return joint;
}

// They are the same on both backends.
void ExpectGradients(const TestModel& forward, double tolerance = 2e-5) {
  const Joint joint = JointOf(forward);
  const auto expected = RunOnce(*Bind(joint.model, On(Backend::kReference)));
  const auto plan = Bind(joint.model, On(Backend::kOneDnn, 2));
  EXPECT_EQ(ReferenceSteps(plan->summary()), "") << plan->summary().Print();
  const auto actual = RunOnce(*plan);
  ASSERT_EQ(expected.size(), joint.variables.size() + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(Distance(expected[i], actual[i]), tolerance)
        << (i == 0 ? std::string("output") : "gradient of " + joint.variables[i - 1]) << "\n"
        << plan->summary().Print();
  }
}

struct Layer {
  const char* op;
  std::int64_t in, out, groups;
  IntTuple size;
  IntTuple kernel, stride, dilate, pad;
};

std::string Text(std::int64_t value) { return std::to_string(value); }

TestModel ModelOfLayer(const Layer& layer, DType dtype) {
  const bool is_convolution = std::string(layer.op) == "Convolution";
  std::vector<std::int64_t> data{3, layer.in}, weight{layer.out, layer.in / layer.groups};
  if (!is_convolution) weight = {layer.in, layer.out / layer.groups};
  data.insert(data.end(), layer.size.begin(), layer.size.end());
  weight.insert(weight.end(), layer.kernel.begin(), layer.kernel.end());
  TestModel m;
  m.types["data"] = {dtype, Shape(data)};
  m.types["weight"] = {dtype, Shape(weight)};
  m.types["bias"] = {DType::kFloat32, {layer.out}};
  m.symbol = Op(layer.op, "layer", {Var("data"), Var("weight"), Var("bias")},
                {{"kernel", PrintAttr(layer.kernel)},
                 {"stride", PrintAttr(layer.stride)},
                 {"dilate", PrintAttr(layer.dilate)},
                 {"pad", PrintAttr(layer.pad)},
                 {"num_filter", Text(layer.out)},
                 {"num_group", Text(layer.groups)},
                 {"no_bias", "False"}});
  return m;
}

const Layer kLayers[] = {
    {"Convolution", 32, 48, 1, {11, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"Convolution", 32, 64, 1, {12, 10}, {1, 1}, {2, 2}, {1, 1}, {0, 0}},
    {"Convolution", 3, 32, 1, {23, 20}, {7, 7}, {2, 2}, {1, 1}, {3, 3}},
    {"Convolution", 16, 32, 1, {14, 13}, {3, 3}, {3, 2}, {1, 1}, {0, 1}},
    {"Convolution", 16, 16, 1, {15, 17}, {3, 2}, {1, 1}, {2, 3}, {2, 0}},
    {"Convolution", 32, 32, 32, {9, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"Convolution", 48, 48, 48, {10, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"Convolution", 64, 32, 4, {8, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"Convolution", 5, 7, 1, {6, 9}, {2, 3}, {2, 1}, {1, 1}, {0, 1}},
    {"Convolution", 16, 24, 1, {29}, {5}, {2}, {1}, {1}},
    {"Convolution", 16, 16, 1, {6, 7, 8}, {3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}},
    {"Deconvolution", 32, 16, 1, {7, 6}, {4, 4}, {2, 2}, {1, 1}, {1, 1}},
    {"Deconvolution", 16, 16, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"Deconvolution", 32, 32, 2, {5, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0}},
    {"Deconvolution", 16, 24, 1, {13}, {3}, {2}, {1}, {1}},
};

TEST(TrainingPlans, ConvolutionsInFloat32) {
  for (const Layer& layer : kLayers) {
    SCOPED_TRACE(::testing::Message() << layer.op << " " << layer.in << " to " << layer.out << " "
                                      << PrintAttr(layer.kernel) << " stride " << PrintAttr(layer.stride));
    ExpectGradients(ModelOfLayer(layer, DType::kFloat32));
  }
}

// Sums are rounded once on either side, but some are denormal or cancel.
TEST(TrainingPlans, ConvolutionsInBFloat16) {
  for (const Layer& layer : kLayers) {
    SCOPED_TRACE(::testing::Message() << layer.op << " " << layer.in << " to " << layer.out << " "
                                      << PrintAttr(layer.kernel) << " stride " << PrintAttr(layer.stride));
    ExpectGradients(ModelOfLayer(layer, DType::kBFloat16), 0.02);
  }
}

struct Builder {
  TestModel m;

  Symbol Conv(const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out, const std::string& kernel,
              const std::string& pad, const std::string& stride = "(1, 1)", std::int64_t groups = 1) {
    const std::int64_t size = kernel[1] - '0';
    m.params.args[name + "_weight"] = NDArray::Zeros(DType::kFloat32, {out, in / groups, size, size});
    return Op("Convolution", name, {x},
              {{"kernel", kernel},
               {"pad", pad},
               {"stride", stride},
               {"num_filter", Text(out)},
               {"num_group", Text(groups)},
               {"no_bias", "True"}});
  }
  Symbol Norm(const std::string& name, const Symbol& x, std::int64_t channels, bool relu = true) {
    for (const char* of : {"_gamma", "_beta"}) {
      m.params.args[name + of] = NDArray::Zeros(DType::kFloat32, {channels});
    }
    for (const char* of : {"_moving_mean", "_moving_var"}) {
      m.params.aux[name + of] = NDArray::Zeros(DType::kFloat32, {channels});
    }
    const Symbol y = Op("BatchNorm", name, {x}, {{"fix_gamma", "False"}, {"eps", "0.01"}});
    return relu ? Op("Activation", name + "_relu", {y}, {{"act_type", "relu"}}) : y;
  }
  Symbol Pool(const std::string& name, const Symbol& x, const std::string& type) {
    return Op("Pooling", name, {x},
              {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"pool_type", type}});
  }
};

// Blocks of channels, a sum of two gradients, strides, and all kinds of pooling.
TestModel ResidualNetwork() {
  Builder b;
  b.m.types["data"] = F32({2, 3, 33, 35});
  Symbol x = b.Pool("pool", b.Norm("norm0", b.Conv("conv0", Var("data"), 3, 32, "(3, 3)", "(1, 1)"), 32), "max");
  const Symbol y = b.Norm("norm1", b.Conv("conv1", x, 32, 32, "(3, 3)", "(1, 1)"), 32);
  const Symbol z = b.Norm("norm2", b.Conv("conv2", y, 32, 32, "(1, 1)", "(0, 0)"), 32, false);
  x = Op("Activation", "relu", {Op("broadcast_add", "sum", {z, x})}, {{"act_type", "relu"}});
  x = b.Pool("average", b.Norm("norm3", b.Conv("conv3", x, 32, 64, "(1, 1)", "(0, 0)", "(2, 2)"), 64), "avg");
  b.m.symbol = Op("Pooling", "global", {x}, {{"kernel", "(1, 1)"}, {"global_pool", "True"}, {"pool_type", "avg"}});
  return b.m;
}

TEST(TrainingPlans, Residuals) { ExpectGradients(ResidualNetwork(), 1e-4); }

// Sums of mode `exact` do not depend on the number of threads.
TEST(TrainingPlans, ExactOnAnyNumberOfThreads) {
  const Joint joint = JointOf(ResidualNetwork());
  BindOptions options = On(Backend::kOneDnn, 1);
  options.mode = NumericMode::kExact;
  const auto expected = RunOnce(*Bind(joint.model, options));
  options.num_threads = 3;
  const auto actual = RunOnce(*Bind(joint.model, options));
  for (std::size_t i = 0; i < expected.size(); ++i) ExpectSameBits(expected[i], actual[i]);
}

// Depthwise layers, and a concatenation.
TEST(TrainingPlans, DepthwiseNetwork) {
  Builder b;
  b.m.types["data"] = F32({2, 16, 17, 14});
  const Symbol x = b.Norm("norm0", b.Conv("conv0", Var("data"), 16, 48, "(1, 1)", "(0, 0)"), 48);
  const Symbol y = b.Norm("norm1", b.Conv("conv1", x, 48, 48, "(3, 3)", "(1, 1)", "(1, 1)", 48), 48);
  const Symbol all = Op("Concat", "concat", {x, y}, {{"num_args", "2"}});
  b.m.symbol = b.Norm("norm2", b.Conv("conv2", all, 96, 32, "(3, 3)", "(1, 1)", "(2, 2)"), 32);
  ExpectGradients(b.m, 1e-4);
}

TEST(TrainingPlans, Transformer) {
  TestModel m;
  m.types["words"] = {DType::kFloat32, {6, 5}};
  m.params.args["table"] = Random({11, 24}, 1);
  m.params.args["gamma"] = Random({24}, 2);
  m.params.args["beta"] = Random({24}, 3);
  m.params.args["weight"] = Random({24, 24}, 4);
  m.params.args["bias"] = Random({24}, 5);
  const Symbol words =
      Op("Embedding", "embedding", {Var("words"), Var("table")}, {{"input_dim", "11"}, {"output_dim", "24"}});
  const Symbol x = Op("LayerNorm", "norm", {words, Var("gamma"), Var("beta")}, {});
  const Symbol scores = Op("softmax", "scores", {Op("batch_dot", "products", {x, x}, {{"transpose_b", "True"}})}, {});
  const Symbol seen = Op("batch_dot", "seen", {scores, x}, {});
  m.symbol = Op("FullyConnected", "dense",
                {Op("LeakyReLU", "gelu", {seen}, {{"act_type", "gelu"}}), Var("weight"), Var("bias")},
                {{"num_hidden", "24"}, {"flatten", "False"}});
  ExpectGradients(m, 1e-4);
}

}  // namespace
}  // namespace amp::onednn
