#include "kernels/image_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/float_bits.h"
#include "kernels/guarded.h"
#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

// Tables that this CPU can run.
std::vector<const ImageConvolutionTable*> Tables() {
  std::vector<const ImageConvolutionTable*> tables{ImageConvolutionGeneric()};
  if (CpuIsa() >= Isa::kAvx2 && ImageConvolutionAvx2() != nullptr) tables.push_back(ImageConvolutionAvx2());
  if (CpuIsa() >= Isa::kAvx512 && ImageConvolutionAvx512() != nullptr) tables.push_back(ImageConvolutionAvx512());
  return tables;
}

std::int64_t OutSize(std::int64_t size, std::int64_t pads, std::int64_t kernel, std::int64_t step,
                     std::int64_t stride) {
  return (size + pads - (kernel - 1) * step - 1) / stride + 1;
}

// A convolution drawn at random, its numbers, and where its result lies.
struct Case {
  explicit Case(std::uint32_t seed) : random(seed) {
    job.batch = Draw(1, 3);
    job.channels = Draw(1, 5);
    job.out_channels = Draw(1, 70);
    job.kernel_height = Draw(1, 7);
    job.kernel_width = Draw(1, 7);
    job.stride_y = Draw(1, 4);
    job.stride_x = Draw(1, 4);
    job.step_y = Draw(1, 2);
    job.step_x = Draw(1, 2);
    job.pad_top = Draw(0, 4);
    job.pad_left = Draw(0, 4);
    job.height = (job.kernel_height - 1) * job.step_y + Draw(1, 20);
    job.width = (job.kernel_width - 1) * job.step_x + Draw(1, 70);
    job.out_height = OutSize(job.height, job.pad_top + Draw(0, 3), job.kernel_height, job.step_y, job.stride_y);
    job.out_width = OutSize(job.width, job.pad_left + Draw(0, 3), job.kernel_width, job.step_x, job.stride_x);
    job.x_is_bf16 = Draw(0, 1) != 0;
    job.y_is_bf16 = Draw(0, 1) != 0;
    if (Draw(0, 1) != 0) job.low = 0;
    if (Draw(0, 1) != 0) job.high = 0.75f;
    x = Numbers(job.batch * job.channels * job.height * job.width, job.x_is_bf16);
    weights = Numbers(job.out_channels * job.channels * job.kernel_height * job.kernel_width, false);
    bias = Numbers(job.out_channels, false);
    has_bias = Draw(0, 1) != 0;
    if (Draw(0, 1) != 0) {
      InRows();
      return;
    }
    job.out_channels = (job.out_channels + kImagePanel - 1) / kImagePanel * kImagePanel;
    weights = Numbers(job.out_channels * job.channels * job.kernel_height * job.kernel_width, false);
    bias = Numbers(job.out_channels, false);
    InBlocks();
  }

  std::int64_t Draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }
  std::vector<float> Numbers(std::int64_t count, bool are_bf16) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) {
      const float number = std::uniform_real_distribution<float>(-1, 1)(random);
      numbers.push_back(are_bf16 ? BF16ToFloat(FloatToBF16(number)) : number);
    }
    return numbers;
  }
  void InRows() {  // channels last
    job.y_pixel = job.out_channels;
    job.y_row = job.out_width * job.y_pixel;
    job.y_batch = job.out_height * job.y_row;
    y_size = job.batch * job.y_batch;
  }
  void InBlocks() {
    job.y_pixel = kImagePanel;
    job.y_row = job.out_width * kImagePanel;
    job.y_panel = job.out_height * job.y_row;
    job.y_batch = job.out_channels / kImagePanel * job.y_panel;
    y_size = job.batch * job.y_batch;
  }

  // Bounds are exact in bfloat16: clipping before or after rounding is the same.
  double Expected(std::int64_t n, std::int64_t o, std::int64_t row, std::int64_t column) const {
    double sum = has_bias ? bias[static_cast<std::size_t>(o)] : 0;
    for (std::int64_t c = 0; c < job.channels; ++c) {
      for (std::int64_t i = 0; i < job.kernel_height; ++i) {
        for (std::int64_t j = 0; j < job.kernel_width; ++j) {
          const std::int64_t h = row * job.stride_y - job.pad_top + i * job.step_y;
          const std::int64_t w = column * job.stride_x - job.pad_left + j * job.step_x;
          if (h < 0 || h >= job.height || w < 0 || w >= job.width) continue;
          const auto at = static_cast<std::size_t>(((n * job.channels + c) * job.height + h) * job.width + w);
          const auto weight =
              static_cast<std::size_t>(((o * job.channels + c) * job.kernel_height + i) * job.kernel_width + j);
          sum += static_cast<double>(x[at]) * weights[weight];
        }
      }
    }
    return std::clamp<double>(sum, job.low, job.high);
  }

  template <class X, class Y>
  std::vector<Y> Run(const ImageConvolutionTable& table, const std::vector<X>& source, int num_threads) const {
    const ThreadScope scope(num_threads);
    const Guarded<X> image(source);
    const Guarded<float> packed(static_cast<std::size_t>(PackedImageWeights(job)));
    PackImageWeights(job, weights.data(), has_bias ? bias.data() : nullptr, packed.data());
    const Guarded<char> scratch(ImageConvolutionScratchBytes(job, num_threads));
    const Guarded<Y> y(static_cast<std::size_t>(y_size));
    RunImageConvolution(job, image.data(), packed.data(), y.data(), scratch.data(), table);
    return y.values();
  }

  template <class Y>
  std::vector<Y> RunAny(const ImageConvolutionTable& table, int num_threads) const {
    if (!job.x_is_bf16) return Run<float, Y>(table, x, num_threads);
    std::vector<std::uint16_t> low;
    for (const float number : x) low.push_back(FloatToBF16(number));
    return Run<std::uint16_t, Y>(table, low, num_threads);
  }

  std::mt19937 random;
  ImageConvolution job;
  std::vector<float> x, weights, bias;
  bool has_bias = false;
  std::int64_t y_size = 0;
};

double Number(float value) { return value; }
double Number(std::uint16_t value) { return BF16ToFloat(value); }

template <class Y>
void Check(const Case& drawn, const ImageConvolutionTable& table) {
  const ImageConvolution& job = drawn.job;
  const std::vector<Y> y = drawn.RunAny<Y>(table, 1);
  EXPECT_EQ(y, drawn.RunAny<Y>(table, 3));
  const double relative = sizeof(Y) == 2 ? 1.0 / 256 : 1e-6;
  for (std::int64_t n = 0; n < job.batch; ++n) {
    for (std::int64_t o = 0; o < job.out_channels; ++o) {
      for (std::int64_t row = 0; row < job.out_height; ++row) {
        for (std::int64_t column = 0; column < job.out_width; ++column) {
          const std::int64_t at = n * job.y_batch + o / kImagePanel * job.y_panel + o % kImagePanel + row * job.y_row +
                                  column * job.y_pixel;
          const double expected = drawn.Expected(n, o, row, column);
          ASSERT_NEAR(Number(y[static_cast<std::size_t>(at)]), expected, 3e-5 + relative * std::fabs(expected))
              << n << ", " << o << ", " << row << ", " << column;
        }
      }
    }
  }
}

TEST(ImageConvolution, RandomShapesAgainstTheDefinition) {
  for (const ImageConvolutionTable* table : Tables()) {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(::testing::Message() << IsaName(table->isa) << ", seed " << seed);
      const Case drawn(seed);
      drawn.job.y_is_bf16 ? Check<std::uint16_t>(drawn, *table) : Check<float>(drawn, *table);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ImageConvolution, NaNStaysThroughClipping) {
  ImageConvolution job;
  job.batch = job.channels = job.height = job.width = job.out_height = job.out_width = 1;
  job.out_channels = job.y_pixel = job.y_row = job.y_batch = kImagePanel;
  job.low = 0;
  job.high = 6;
  const std::vector<float> weights(kImagePanel, 1);
  std::vector<float> packed(static_cast<std::size_t>(PackedImageWeights(job)));
  PackImageWeights(job, weights.data(), nullptr, packed.data());
  const float x = std::nanf("");
  for (const ImageConvolutionTable* table : Tables()) {
    std::vector<float> y(kImagePanel), scratch(1);
    RunImageConvolution(job, &x, packed.data(), y.data(), scratch.data(), *table);
    EXPECT_TRUE(std::isnan(y[3])) << IsaName(table->isa);
  }
}

}  // namespace
}  // namespace amp::kernels
