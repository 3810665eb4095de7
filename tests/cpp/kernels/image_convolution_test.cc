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

// A convolution drawn at random, its numbers, and where its result lies.
struct Case {
  explicit Case(std::uint32_t seed) : random(seed) {
    job.batch = Draw(1, 3);
    job.channels = Draw(1, 5);
    if (Draw(0, 2) == 0) job.depth = Axis(3, 4);
    job.height = Axis(7, 20);
    job.width = Axis(7, 70);
    job.x_is_bf16 = Draw(0, 1) != 0;
    job.y_is_bf16 = Draw(0, 1) != 0;
    if (Draw(0, 1) != 0) job.low = 0;
    if (Draw(0, 1) != 0) job.high = 0.75f;
    has_bias = Draw(0, 1) != 0;
    if (Draw(0, 1) != 0) {
      job.out_channels = Draw(1, 70);
      InRows();
    } else {
      job.out_channels = kImagePanel * Draw(1, 4);
      InBlocks();
    }
    x = Numbers(job.batch * job.channels * job.depth.size * job.height.size * job.width.size, job.x_is_bf16);
    weights = Numbers(job.out_channels * job.taps(), false);
    bias = Numbers(job.out_channels, false);
  }

  WindowAxis Axis(std::int64_t max_kernel, std::int64_t max_windows) {
    WindowAxis axis;
    axis.kernel = Draw(1, max_kernel);
    axis.stride = Draw(1, 4);
    axis.step = Draw(1, 2);
    axis.pad = Draw(0, 4);
    const std::int64_t window = (axis.kernel - 1) * axis.step + 1;
    axis.size = window + Draw(0, max_windows);
    axis.out = (axis.size + axis.pad + Draw(0, 3) - window) / axis.stride + 1;
    return axis;
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
    job.y_row = job.width.out * job.y_pixel;
    job.y_plane = job.height.out * job.y_row;
    job.y_batch = job.depth.out * job.y_plane;
  }
  void InBlocks() {
    job.y_pixel = kImagePanel;
    job.y_row = job.width.out * kImagePanel;
    job.y_plane = job.height.out * job.y_row;
    job.y_panel = job.depth.out * job.y_plane;
    job.y_batch = job.out_channels / kImagePanel * job.y_panel;
  }

  // Of the image; the value of 0 is outside of it.
  double Pixel(std::int64_t n, std::int64_t c, std::int64_t z, std::int64_t row, std::int64_t column) const {
    const bool is_inside =
        z >= 0 && z < job.depth.size && row >= 0 && row < job.height.size && column >= 0 && column < job.width.size;
    const std::int64_t plane = (n * job.channels + c) * job.depth.size + z;
    return is_inside ? x[static_cast<std::size_t>((plane * job.height.size + row) * job.width.size + column)] : 0;
  }

  // Bounds are exact in bfloat16: clipping before or after rounding is the same.
  double Expected(std::int64_t n, std::int64_t o, std::int64_t z, std::int64_t row, std::int64_t column) const {
    const auto place = [](const WindowAxis& axis, std::int64_t out, std::int64_t k) {
      return out * axis.stride - axis.pad + k * axis.step;
    };
    double sum = has_bias ? bias[static_cast<std::size_t>(o)] : 0;
    auto weight = static_cast<std::size_t>(o * job.taps());
    for (std::int64_t c = 0; c < job.channels; ++c) {
      for (std::int64_t i = 0; i < job.depth.kernel; ++i) {
        for (std::int64_t j = 0; j < job.height.kernel; ++j) {
          for (std::int64_t k = 0; k < job.width.kernel; ++k) {
            sum += weights[weight++] *
                   Pixel(n, c, place(job.depth, z, i), place(job.height, row, j), place(job.width, column, k));
          }
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
    PackImageWeights(job, weights.data(), packed.data());
    const Guarded<float> offsets(bias);
    const Guarded<char> scratch(ImageConvolutionScratchBytes(job, num_threads));
    const Guarded<Y> y(static_cast<std::size_t>(job.batch * job.y_batch));
    RunImageConvolution(job, image.data(), packed.data(), has_bias ? offsets.data() : nullptr, y.data(), scratch.data(),
                        table);
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
};

double Number(float value) { return value; }
double Number(std::uint16_t value) { return BF16ToFloat(value); }

template <class Y>
void Check(const Case& drawn, const ImageConvolutionTable& table) {
  const ImageConvolution& job = drawn.job;
  const std::vector<Y> y = drawn.RunAny<Y>(table, 1);
  EXPECT_EQ(y, drawn.RunAny<Y>(table, 3));
  const double relative = sizeof(Y) == 2 ? 1.0 / 256 : 1e-6;
  const std::int64_t pixels = job.depth.out * job.height.out * job.width.out;
  for (std::int64_t n = 0; n < job.batch; ++n) {
    for (std::int64_t o = 0; o < job.out_channels; ++o) {
      for (std::int64_t i = 0; i < pixels; ++i) {
        const std::int64_t z = i / job.width.out / job.height.out, row = i / job.width.out % job.height.out;
        const std::int64_t column = i % job.width.out;
        const std::int64_t at = n * job.y_batch + o / kImagePanel * job.y_panel + o % kImagePanel + z * job.y_plane +
                                row * job.y_row + column * job.y_pixel;
        const double expected = drawn.Expected(n, o, z, row, column);
        ASSERT_NEAR(Number(y[static_cast<std::size_t>(at)]), expected, 3e-5 + relative * std::fabs(expected))
            << n << ", " << o << ", " << z << ", " << row << ", " << column;
      }
    }
  }
}

TEST(ImageConvolution, RandomShapesAgainstTheDefinition) {
  for (const ImageConvolutionTable* table : Tables()) {
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(::testing::Message() << IsaName(table->isa) << ", seed " << seed);
      const Case drawn(seed);
      drawn.job.y_is_bf16 ? Check<std::uint16_t>(drawn, *table) : Check<float>(drawn, *table);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ImageConvolution, NaNStaysThroughClipping) {
  ImageConvolution job;
  job.out_channels = job.y_pixel = job.y_row = job.y_batch = kImagePanel;
  job.low = 0;
  job.high = 6;
  const std::vector<float> weights(kImagePanel, 1);
  std::vector<float> packed(static_cast<std::size_t>(PackedImageWeights(job)));
  PackImageWeights(job, weights.data(), packed.data());
  const float x = std::nanf("");
  for (const ImageConvolutionTable* table : Tables()) {
    std::vector<float> y(kImagePanel), scratch(1);
    RunImageConvolution(job, &x, packed.data(), nullptr, y.data(), scratch.data(), *table);
    EXPECT_TRUE(std::isnan(y[3])) << IsaName(table->isa);
  }
}

}  // namespace
}  // namespace amp::kernels
