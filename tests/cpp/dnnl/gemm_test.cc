// 1x1 convolutions of a plan that our own matrix product computes.
#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "dnnl/cpu_info.h"
#include "kernels/gemm/gemm.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Plans for a machine on which oneDNN's 1x1 convolutions take eight times as long as their arithmetic, and passes over
// memory long.
class GemmPlans : public OwnKernelPlans {
 protected:
  GemmPlans()
      : OwnKernelPlans([](nlohmann::ordered_json& file) {
          file["bytes_per_second"] = {{1 << 30, 1e8}};
          for (const char* dtype : {"float32", "bfloat16"}) {
            file["steps"][std::string("convolution_1x1 ") + dtype] = {{0, 0, 0, 0, 0, 0, 0, 3}};
          }
        }) {}

  // Expects `count` such convolutions, and `scaled` that scale their source, and the results of the plan without them.
  void ExpectSame(const TestModel& m, int count, int scaled = 0) {
    const auto own = ExpectSameWithout("own:gemm", m);
    EXPECT_EQ(Count(own->summary(), "own:scaled_gemm"), scaled) << own->summary().Print();
    if (OneDnnIsChannelsLast()) {
      EXPECT_EQ(Count(own->summary(), "own:gemm"), count) << own->summary().Print();
    }
  }
};

TestModel GemmChain() {
  TestModel m;
  m.types["x"] = F32({2, 40, 13, 18});
  Symbol x = Relu("relu0", Convolve1x1(&m, "conv0", Var("x"), 40, 72));
  x = Op("clip", "clip", {Convolve1x1(&m, "conv1", x, 72, 64, "(2, 2)")}, {{"a_min", "0"}, {"a_max", "6"}});
  m.symbol = Convolve1x1(&m, "conv2", x, 64, 96);
  return m;
}

// Two layers of a dense block: a norm of all that was made before, and a convolution of it.
TestModel DenseBlock() {
  TestModel m;
  m.types["x"] = F32({2, 48, 9, 11});
  Symbol all = Relu("relu", Convolve1x1(&m, "conv", Var("x"), 48, 40));
  std::int64_t channels = 40;
  for (const std::string layer : {"1", "2"}) {
    const Symbol y = Relu("relu" + layer, Norm(&m, "norm" + layer, all, channels));
    const Symbol next = Relu("relu_out" + layer, Convolve1x1(&m, "conv" + layer, y, channels, 24));
    all = Op("Concat", "concat" + layer, {all, next}, {{"num_args", "2"}});
    channels += 24;
  }
  m.symbol = Op("Pooling", "pool", {all}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "avg"}});
  return m;
}

TEST_F(GemmPlans, ChainsAreTheSame) { ExpectSame(GemmChain(), 3); }

// A convolution of one position in as many dimensions as the stride has.
Symbol OfPositions(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                   const IntTuple& stride) {
  std::vector<std::int64_t> shape{out, in};
  shape.resize(2 + stride.size(), 1);
  m->params.args[name + "_weight"] = Random(Shape(shape), 3, 0.1f);
  m->params.args[name + "_bias"] = Random({out}, 4, 0.1f);
  return Op("Convolution", name, {x},
            {{"kernel", PrintAttr(IntTuple(stride.size(), 1))},
             {"stride", PrintAttr(stride)},
             {"num_filter", std::to_string(out)}});
}

// Lines and volumes are images to the kernel; a sum, and parts of a concatenation.
TEST_F(GemmPlans, LinesAndVolumesAreTheSame) {
  for (const Shape& shape : {Shape{2, 40, 150}, Shape{2, 40, 5, 6, 7}, Shape{2, 40, 9, 1, 8}, Shape{3, 40, 1, 9, 1},
                             Shape{1, 40, 8, 7, 1}}) {
    TestModel m;
    m.types["x"] = F32(shape);
    const IntTuple ones(static_cast<std::size_t>(shape.rank() - 2), 1);
    const Symbol first = Relu("first", OfPositions(&m, "conv0", Var("x"), 40, 48, ones));
    const Symbol sum = Op("elemwise_add", "sum", {OfPositions(&m, "conv1", first, 48, 48, ones), first});
    m.symbol =
        Op("Concat", "concat", {Relu("relu", sum), OfPositions(&m, "conv2", first, 48, 33, ones)}, {{"num_args", "2"}});
    ExpectSame(m, 3);
    m.symbol = OfPositions(&m, "strided", m.symbol, 81, 32, IntTuple(ones.size(), 2));
    ExpectSame(m, 3);
  }
}

// A residual block: the sum, and the relu behind it, are part of the last convolution.
TEST_F(GemmPlans, SumsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 64, 14, 14});
  const auto conv = [&m](auto... layer) { return Convolve1x1(&m, layer...); };
  m.symbol = ResidualBlock(32, conv);
  ExpectSame(m, 3);
}

TEST_F(GemmPlans, PartsOfConcatenationsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({2, 32, 10, 10});
  const Symbol x = Relu("first", Convolve1x1(&m, "conv0", Var("x"), 32, 48));
  const Symbol a = Relu("relu1", Convolve1x1(&m, "conv1", x, 48, 32)),
               b = Relu("relu2", Convolve1x1(&m, "conv2", x, 48, 40));
  m.symbol = Relu("last", Convolve1x1(&m, "conv3", Op("Concat", "concat", {a, b, x}, {{"num_args", "3"}}), 120, 32));
  ExpectSame(m, 4);
}

TEST_F(GemmPlans, NormsBeforeAreTheSame) { ExpectSame(DenseBlock(), 1, 2); }

// A norm with another reader is computed once.
TEST_F(GemmPlans, SharedNormsStay) {
  TestModel m;
  m.types["x"] = F32({1, 32, 10, 10});
  const Symbol x = Relu("relu", Norm(&m, "norm", Var("x"), 32));
  m.symbol = Op("elemwise_add", "sum", {Convolve1x1(&m, "conv1", x, 32, 16), Convolve1x1(&m, "conv2", x, 32, 16)});
  ExpectSame(m, 2);
}

TEST_F(GemmPlans, OtherConvolutionsAreTheLibrarys) {
  TestModel m;
  m.types["x"] = F32({1, 32, 12, 12});
  m.types["w"] = F32({32, 32, 1, 1});
  m.params.args["grouped_weight"] = Random({32, 16, 1, 1}, 3, 0.1f);
  const Symbol grouped = Op("Convolution", "grouped", {Var("x")},
                            {{"kernel", "(1, 1)"}, {"num_filter", "32"}, {"num_group", "2"}, {"no_bias", "True"}});
  m.symbol = Op("Convolution", "given", {grouped, Var("w")},
                {{"kernel", "(1, 1)"}, {"num_filter", "32"}, {"no_bias", "True"}});
  ExpectSame(m, 0);
}

TEST_F(GemmPlans, FunctionsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 32, 12, 12});
  const Symbol gated = Op("Activation", "tanh", {Convolve1x1(&m, "gated", Var("x"), 32, 64)}, {{"act_type", "tanh"}});
  m.symbol = Op("LeakyReLU", "elu", {Convolve1x1(&m, "last", gated, 64, 32)}, {{"act_type", "elu"}, {"slope", "0.5"}});
  ExpectSame(m, 2);
}

TEST_F(GemmPlans, SlopesAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 32, 12, 12});
  m.params.args["slopes"] = Random({DType::kFloat32, {64}}, 5);
  const Symbol x = Convolve1x1(&m, "first", Var("x"), 32, 64);
  const Symbol sum = Op("elemwise_add", "sum", {Convolve1x1(&m, "second", x, 64, 64), x});
  m.symbol = Op("LeakyReLU", "prelu", {sum, Var("slopes")}, {{"act_type", "prelu"}});
  ExpectSame(m, 2);
}

TEST_F(GemmPlans, ModeExactHasNone) {
  BindOptions options = Options();
  options.mode = NumericMode::kExact;
  for (const TestModel& m : {GemmChain(), DenseBlock()}) {
    const auto exact = Bind(m, options);
    EXPECT_EQ(Count(exact->summary(), "own:gemm") + Count(exact->summary(), "own:scaled_gemm"), 0);
  }
}

TEST_F(GemmPlans, LowPrecisionIsTheSame) {
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
  for (const TestModel& m : {GemmChain(), DenseBlock()}) {
    EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*Bind(m, options))[0]), 3e-2);
  }
}

// ---- int16 ----

// Windows of many shapes, strides, gaps and paddings; the last one of a part of a concatenation.
TestModel Windows() {
  TestModel m;
  m.types["x"] = F32({2, 24, 17, 19});
  const auto conv = [&m](const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                         const AttrMap& window) {
    return Relu(name + "_relu", Convolve(&m, name, x, in, out, window));
  };
  const Symbol x = conv("conv0", Var("x"), 24, 40, {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}});
  const Symbol row = conv("conv1", x, 40, 32, {{"kernel", "(1, 7)"}, {"pad", "(0, 3)"}});
  const Symbol column = conv("conv2", row, 32, 48, {{"kernel", "(7, 1)"}, {"pad", "(3, 0)"}});
  const Symbol large = conv("conv3", x, 40, 16, {{"kernel", "(5, 5)"}, {"pad", "(2, 2)"}});
  const Symbol all = Op("Concat", "concat", {column, large}, {{"num_args", "2"}});
  m.symbol = conv("conv4", all, 64, 33, {{"kernel", "(3, 3)"}, {"pad", "(2, 2)"}, {"dilate", "(2, 2)"}});
  return m;
}

TEST_F(GemmPlans, WindowsAreTheSame) {
  BindOptions options = On(Backend::kOneDnn, 2);
  options.forced_kernel = "implicit_gemm_float32";
  options.machine = "any";
  const auto own = Bind(Windows(), options);
  if (OneDnnIsChannelsLast()) {
    EXPECT_EQ(Count(own->summary(), "own:implicit_gemm"), 5) << own->summary().Print();
  }
  EXPECT_LT(Distance(RunOnce(Windows())[0], RunOnce(*own)[0]), kFloatTolerance);
}

TEST_F(GemmPlans, Int16IsTheSame) {
  struct Case {
    const char* kernel;
    const char* implementation;
    TestModel model;
    int count;
  };
  const bool has_code = kernels::HasGemm(kernels::ComputeType::kInt16);
  for (const Case& c :
       {Case{"gemm_int16", "own:gemm", GemmChain(), 3}, Case{"scaled_gemm_int16", "own:scaled_gemm", DenseBlock(), 2},
        Case{"implicit_gemm_int16", "own:implicit_gemm", Windows(), 5}}) {
    BindOptions options = On(Backend::kOneDnn, 2);
    options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
    options.forced_kernel = c.kernel;
    options.machine = "any";
    const auto own = Bind(c.model, options);
    EXPECT_EQ(Count(own->summary(), c.implementation), has_code ? c.count : 0) << own->summary().Print();
    EXPECT_LT(Distance(RunOnce(c.model)[0], RunOnce(*own)[0]), 1.5e-2) << c.kernel;
  }
}

// ---- Strassen's algorithm ----

// Many channels, an odd number of positions, a stride, and a sum.
TestModel Wide() {
  TestModel m;
  m.types["x"] = F32({2, 260, 9, 9});
  const Symbol x = Relu("relu0", Convolve1x1(&m, "conv0", Var("x"), 260, 300));
  const Symbol y = Op("elemwise_add", "sum", {Convolve1x1(&m, "conv1", x, 300, 300), x});
  m.symbol = Relu("relu2", Convolve1x1(&m, "conv2", y, 300, 257));
  return m;
}

TEST_F(GemmPlans, StrassensAlgorithmIsTheSame) {
  for (const auto& [kernel, has_code] : {std::pair{"gemm_strassen_float32", true},
                                         {"gemm_strassen_int16", kernels::HasGemm(kernels::ComputeType::kInt16)}}) {
    BindOptions options = On(Backend::kOneDnn, 2);
    const bool is_bf16 = std::string(kernel).ends_with("int16");
    if (is_bf16) options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
    options.forced_kernel = kernel;
    options.machine = "any";
    const auto own = Bind(Wide(), options);
    if (OneDnnIsChannelsLast()) {
      EXPECT_EQ(Count(own->summary(), "own:gemm_strassen"), has_code ? 3 : 0) << own->summary().Print();
    }
    EXPECT_LT(Distance(RunOnce(Wide())[0], RunOnce(*own)[0]), is_bf16 ? 1.5e-2 : kFloatTolerance) << kernel;
  }
}

// Plans for other shapes share what was packed.
TEST_F(GemmPlans, OtherShapesFindTheirWeights) {
  for (const TestModel& m : {GemmChain(), DenseBlock()}) {
    const auto first = Bind(m, Options());
    const std::int64_t channels = m.types.at("x").shape[1];
    for (const Shape& shape : {Shape{1, channels, 28, 28}, Shape{5, channels, 3, 2}}) {
      TestModel other = m;
      other.types["x"] = F32(shape);
      EXPECT_LT(Distance(RunOnce(other)[0], RunOnce(*first->Reshape({{"x", shape}}))[0]), kFloatTolerance);
    }
  }
}

}  // namespace
}  // namespace amp::onednn
