// Convolutions of images with few channels, of a plan, that our own kernel computes.
#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "dnnl/cpu_info.h"
#include "kernels/gemm/gemm.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Plans for a machine on which oneDNN is slow with such images.
class ImagePlans : public OwnKernelPlans {
 protected:
  ImagePlans()
      : OwnKernelPlans([](nlohmann::ordered_json& file) {
          for (const char* dtype : {"float32", "bfloat16"}) {
            file["steps"][std::string("convolution_first ") + dtype] = {{0, 0, 0, 0, 0, 0, 0, 5}};
          }
        }) {}

  void ExpectSame(const TestModel& m, int count) {
    const auto own = ExpectSameWithout("own:image_convolution", m);
    EXPECT_EQ(Count(own->summary(), "own:image_convolution"), OneDnnIsChannelsLast() ? count : 0)
        << own->summary().Print();
  }
};

// `attrs` of the convolution of an image of that shape to 40 channels; a relu and another convolution are behind it.
TestModel ImageNetwork(const Shape& image, std::map<std::string, std::string> attrs) {
  TestModel m;
  m.types["x"] = F32(image);
  const Symbol first = Relu("relu", Convolve(&m, "first", Var("x"), image[1], 40, std::move(attrs)));
  m.symbol = Convolve(&m, "second", first, 40, 24, {{"kernel", "(1, 1)"}});
  return m;
}

TEST_F(ImagePlans, FirstLayersAreTheSame) {
  ExpectSame(ImageNetwork({2, 3, 33, 41}, {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}}), 1);
  ExpectSame(ImageNetwork({1, 3, 64, 64}, {{"kernel", "(7, 7)"}, {"stride", "(2, 2)"}, {"pad", "(3, 3)"}}), 1);
  ExpectSame(ImageNetwork({3, 1, 28, 28}, {{"kernel", "(5, 5)"}}), 1);
  ExpectSame(ImageNetwork({1, 4, 19, 70}, {{"kernel", "(1, 7)"}, {"stride", "(1, 2)"}, {"pad", "(0, 3)"}}), 1);
}

TEST_F(ImagePlans, OtherConvolutionsAreTheLibrarys) {
  ExpectSame(ImageNetwork({1, 8, 20, 20}, {{"kernel", "(5, 5)"}}), 0);
  ExpectSame(ImageNetwork({1, 3, 20, 20}, {{"kernel", "(3, 3)"}, {"dilate", "(2, 2)"}}), 0);
  ExpectSame(ImageNetwork({1, 4, 20, 20}, {{"kernel", "(5, 5)"}, {"num_group", "2"}}), 0);
}

// A convolution of an image, relu, max pooling with `attrs`, and another convolution.
TestModel PooledNetwork(const Shape& image, std::map<std::string, std::string> attrs) {
  TestModel m;
  m.types["x"] = F32(image);
  const Symbol first =
      Convolve(&m, "first", Var("x"), image[1], 40, {{"kernel", "(7, 7)"}, {"stride", "(2, 2)"}, {"pad", "(3, 3)"}});
  attrs["pool_type"] = "max";
  m.symbol = Convolve(&m, "second", Op("Pooling", "pool", {Relu("relu", first)}, std::move(attrs)), 40, 24,
                      {{"kernel", "(1, 1)"}});
  return m;
}

// Forces each kernel of these that this CPU has code for.
TEST_F(ImagePlans, PooledResultsAreTheSame) {
  const std::vector<std::map<std::string, std::string>> pools = {
      {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}},
      {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}},
      {{"kernel", "(3, 3)"}, {"stride", "(1, 2)"}, {"pooling_convention", "full"}},
      {{"kernel", "(5, 9)"}, {"stride", "(4, 2)"}}};
  for (const auto& attrs : pools) {
    const TestModel m = PooledNetwork({2, 3, 47, 60}, attrs);
    const std::vector<NDArray> expected = RunOnce(m);
    for (const bool is_low : {false, true}) {
      if (is_low && !kernels::HasGemm(kernels::ComputeType::kBFloat16)) continue;
      BindOptions options = Options();
      if (is_low) options.reduce_precision = ReduceOptions{DType::kBFloat16, false};
      options.forced_kernel = is_low ? "pooled_image_convolution_bfloat16" : "pooled_image_convolution_float32";
      const auto forced = Bind(m, options);
      EXPECT_EQ(Count(forced->summary(), "own:pooled_image_convolution"), OneDnnIsChannelsLast() ? 1 : 0)
          << forced->summary().Print();
      EXPECT_LT(Distance(expected[0], RunOnce(*forced)[0]), is_low ? 3e-2 : kFloatTolerance);
    }
  }
}

// The function behind it is part of the kernel.
TEST_F(ImagePlans, FunctionsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 3, 40, 40});
  const Symbol first = Convolve(&m, "first", Var("x"), 3, 32, {{"kernel", "(5, 5)"}, {"stride", "(2, 2)"}});
  m.symbol =
      Convolve(&m, "second", Op("Activation", "tanh", {first}, {{"act_type", "tanh"}}), 32, 8, {{"kernel", "(1, 1)"}});
  ExpectSame(m, 1);
}

TEST_F(ImagePlans, LowPrecisionIsTheSame) {
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, false};
  const TestModel m = ImageNetwork({2, 3, 48, 48}, {{"kernel", "(5, 5)"}, {"stride", "(2, 2)"}});
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*Bind(m, options))[0]), 3e-2);
}

// Each of them, whatever is predicted of it.
TEST_F(ImagePlans, LowPrecisionByEachKernelIsTheSame) {
  if (!kernels::HasGemm(kernels::ComputeType::kBFloat16)) GTEST_SKIP() << "no code that multiplies bfloat16";
  for (const std::int64_t channels : {1, 3, 4}) {
    const TestModel m =
        ImageNetwork({2, channels, 47, 48}, {{"kernel", "(5, 3)"}, {"stride", "(2, 1)"}, {"pad", "(2, 1)"}});
    const std::vector<NDArray> expected = RunOnce(m);
    for (const char* kernel :
         {"image_convolution_float32", "image_convolution_bfloat16", "cast_image_convolution_bfloat16"}) {
      BindOptions options = Options();
      options.reduce_precision = ReduceOptions{DType::kBFloat16, false};
      options.forced_kernel = kernel;
      const auto forced = Bind(m, options);
      EXPECT_EQ(Count(forced->summary(), std::string("own:") + kernel), OneDnnIsChannelsLast() ? 1 : 0) << kernel;
      EXPECT_LT(Distance(expected[0], RunOnce(*forced)[0]), 3e-2) << kernel << " " << channels;
    }
  }
}

// Plans for other shapes share what was packed.
TEST_F(ImagePlans, OtherShapesFindTheirWeights) {
  const TestModel m = ImageNetwork({1, 3, 48, 48}, {{"kernel", "(7, 7)"}, {"pad", "(3, 3)"}});
  const auto first = Bind(m, Options());
  for (const Shape& shape : {Shape{1, 3, 60, 31}, Shape{5, 3, 9, 8}}) {
    TestModel other = m;
    other.types["x"] = F32(shape);
    EXPECT_LT(Distance(RunOnce(other)[0], RunOnce(*first->Reshape({{"x", shape}}))[0]), kFloatTolerance);
  }
}

TEST_F(ImagePlans, ModeExactHasNone) {
  BindOptions options = Options();
  options.mode = NumericMode::kExact;
  const auto exact = Bind(ImageNetwork({1, 3, 33, 41}, {{"kernel", "(5, 5)"}}), options);
  EXPECT_EQ(Count(exact->summary(), "own:image_convolution"), 0);
}

}  // namespace
}  // namespace amp::onednn
