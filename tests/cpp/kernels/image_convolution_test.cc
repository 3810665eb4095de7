#include "kernels/gemm/image_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "products.h"

namespace amp::kernels {
namespace {

using namespace testing;

using ImageVariant = ProductVariant<ImageConvolutionTable>;

// All code that this CPU runs.
std::vector<ImageVariant> ImageVariants() {
  return VariantsOf(TablesThatRun<ImageConvolutionTable>(ImageConvolutionTable::Avx512BF16));
}

struct ImageProblem {
  Gemm job;
  ImageConvolution window;  // without its product, which is the job
  std::unique_ptr<Elements> source, sum, destination;
  bool has_sum = false, has_bias = false, has_functions = false;
  std::vector<float> weights, bias;

  ImageConvolution convolution(int threads) const {
    ImageConvolution c = window;
    c.product = job;
    c.product.num_threads = threads;
    c.product.in_channels = ImageConvolutionDepth(c);
    return c;
  }
  std::int64_t taps() const { return window.channels * window.kernel_height * window.kernel_width; }
  // Rows of the destination.
  std::int64_t rows() const { return window.pools() ? job.batch * window.pool.height * window.pool.width : job.rows(); }
};

void DrawOperands(Draw& draw, ImageProblem* p) {
  Gemm& job = p->job;
  const ImageConvolution& c = p->window;
  p->source = std::make_unique<Elements>(job.source.is_bf16, job.batch * c.channels * c.height * c.width);
  for (std::int64_t i = 0; i < p->source->size(); ++i) p->source->Set(i, draw.Real());
  p->destination = std::make_unique<Elements>(job.destination.is_bf16, ElementsInRows(*p, job.destination.pixel));
  p->sum = std::make_unique<Elements>(job.sum.is_bf16, ElementsInRows(*p, job.sum.pixel));
  for (std::int64_t i = 0; i < p->sum->size(); ++i) p->sum->Set(i, draw.Real());
  p->weights = draw.Reals(p->taps() * job.out_channels, 1 / std::sqrt(static_cast<float>(p->taps())));
  p->bias = draw.Reals(job.out_channels, 0.25f);
}

// Windows may lie in the padding, on all sides.
ImageProblem DrawImageSizes(Draw& draw, const ImageVariant& variant) {
  ImageProblem p;
  p.job.compute_type = variant.compute_type;
  ImageConvolution& c = p.window;
  c.channels = draw.Int(1, 7);
  c.kernel_height = draw.Int(1, 7);
  c.kernel_width = draw.Int(1, 7);
  c.stride_y = draw.Int(1, 3);
  c.stride_x = draw.Int(1, 3);
  c.pad_top = draw.Int(0, 9);
  c.pad_left = draw.Int(0, 9);
  c.height = draw.Int(1, 20);
  c.width = draw.Int(1, 45);
  p.job.batch = draw.Int(1, 3);
  p.job.height = draw.Int(1, 20);
  p.job.width = draw.Int(1, 45);
  p.job.out_channels = draw.Int(1, 70);
  p.job.source.is_bf16 = draw.Chance(0.3);
  p.job.destination = {draw.Chance(0.5), p.job.out_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 40))};
  p.job.sum = {draw.Chance(0.5), p.job.out_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 40))};
  p.job.low = draw.Chance(0.5) ? 0 : -kInfinity;
  p.job.high = draw.Chance(0.3) ? 1 : kInfinity;
  p.has_sum = draw.Chance(0.3);
  p.has_bias = draw.Chance(0.7);
  p.has_functions = draw.Chance(0.3);
  return p;
}

ImageProblem DrawImageConvolution(Draw& draw, const ImageVariant& variant) {
  ImageProblem p = DrawImageSizes(draw, variant);
  DrawOperands(draw, &p);
  return p;
}

// Windows of the pool may lie outside of what is pooled, too.
ImageProblem DrawPooled(Draw& draw, const ImageVariant& variant) {
  ImageProblem p = DrawImageSizes(draw, variant);
  p.has_sum = false;
  p.window.pool = {draw.Int(1, 4), draw.Int(1, 4), draw.Int(1, 5),  draw.Int(1, 5),
                   draw.Int(0, 5), draw.Int(0, 5), draw.Int(1, 12), draw.Int(1, 24)};
  DrawOperands(draw, &p);
  return p;
}

void ComputeImageInto(const Elements& destination, const ImageVariant& variant, const ImageProblem& p, int threads) {
  const ImageConvolution job = p.convolution(threads);
  const Guarded<float> weights(p.weights), bias(p.bias);
  const Guarded<char> packed(PackedGemmBytes(job.product));
  PackImageConvolutionWeights(job, weights.data(), packed.data());
  const std::vector<MapStep> functions{{MapOp::kTanh}};
  GemmData data;
  data.source = p.source->data();
  data.weights = packed.data();
  if (p.has_bias) data.bias = bias.data();
  if (p.has_sum) data.sum = p.sum->data();
  data.functions = functions.data();
  data.num_functions = p.has_functions ? 1 : 0;
  data.destination = destination.data();
  const Guarded<char> scratch(ImageConvolutionScratchBytes(job));
  RunImageConvolutionWith(*variant.table, job, data, scratch.data());
}

void ComputeImage(const ImageVariant& variant, const ImageProblem& p, int threads) {
  ComputeImageInto(*p.destination, variant, p, threads);
}

double SourceAt(const ImageProblem& p, std::int64_t n, std::int64_t channel, std::int64_t y, std::int64_t x) {
  const ImageConvolution& c = p.window;
  if (y < 0 || x < 0 || y >= c.height || x >= c.width) return 0;
  return Rounded(p.source->Get(((n * c.channels + channel) * c.height + y) * c.width + x), p.job.multiplies_bf16());
}

double ExpectedOfConvolution(const ImageProblem& p, std::int64_t row, std::int64_t out) {
  const ImageConvolution& c = p.window;
  const std::int64_t ox = row % p.job.width, oy = row / p.job.width % p.job.height,
                     n = row / p.job.width / p.job.height;
  double sum = p.has_bias ? p.bias[static_cast<std::size_t>(out)] : 0;
  auto w = static_cast<std::size_t>(out * p.taps());
  for (std::int64_t channel = 0; channel < c.channels; ++channel) {
    for (std::int64_t y = 0; y < c.kernel_height; ++y) {
      for (std::int64_t x = 0; x < c.kernel_width; ++x) {
        const std::int64_t top = oy * c.stride_y - c.pad_top, left = ox * c.stride_x - c.pad_left;
        sum += Rounded(p.weights[w++], p.job.multiplies_bf16()) * SourceAt(p, n, channel, top + y, left + x);
      }
    }
  }
  if (p.has_sum) sum += p.sum->Get(row * p.job.sum.pixel + out);
  if (p.has_functions) sum = std::tanh(sum);
  return std::clamp<double>(sum, p.job.low, p.job.high);
}

double ExpectedOfImage(const ImageProblem& p, std::int64_t row, std::int64_t out) {
  if (!p.window.pools()) return ExpectedOfConvolution(p, row, out);
  const ImagePool& pool = p.window.pool;
  const std::int64_t n = row / pool.width / pool.height, top = row / pool.width % pool.height * pool.stride_y,
                     left = row % pool.width * pool.stride_x;
  double largest = p.job.destination.is_bf16 ? -0x1.FEp127 : -std::numeric_limits<float>::max();
  for (std::int64_t y = top - pool.pad_top; y < top - pool.pad_top + pool.kernel_height; ++y) {
    for (std::int64_t x = left - pool.pad_left; x < left - pool.pad_left + pool.kernel_width; ++x) {
      if (y < 0 || x < 0 || y >= p.job.height || x >= p.job.width) continue;
      largest = std::max(largest, ExpectedOfConvolution(p, (n * p.job.height + y) * p.job.width + x, out));
    }
  }
  return largest;
}

double ImageError(const ImageProblem& p) { return LargestError(p, ExpectedOfImage); }

double ImageBound(const ImageProblem& p) { return 2e-5 + (p.job.destination.is_bf16 ? 4e-3 : 0); }

std::string DescribeImage(const ImageProblem& p) {
  const ImageConvolution& c = p.window;
  return PrintSizes({p.job.batch,     c.channels,           c.height,
                     c.width,         p.job.out_channels,   p.job.height,
                     p.job.width,     c.kernel_height,      c.kernel_width,
                     c.stride_y,      c.stride_x,           c.pad_top,
                     c.pad_left,      c.pool.kernel_height, c.pool.kernel_width,
                     c.pool.stride_y, c.pool.stride_x,      c.pool.pad_top,
                     c.pool.pad_left, c.pool.height,        c.pool.width});
}

TEST(ImageConvolution, IsTheConvolution) {
  for (const ImageVariant& variant : ImageVariants()) {
    Draw draw(7);
    for (int i = 0; i < 60; ++i) {
      const ImageProblem p = DrawImageConvolution(draw, variant);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeImage(p));
      ComputeImage(variant, p, 1);
      EXPECT_LE(ImageError(p), ImageBound(p));
      ExpectOnlyRowsWritten(p);
    }
  }
}

// The sizes of ResNet's first layer, but for its height.
TEST(ImageConvolution, ALargeImageIsTheConvolution) {
  for (const ImageVariant& variant : ImageVariants()) {
    Draw draw(8);
    ImageProblem p;
    p.job.compute_type = variant.compute_type;
    p.window = {{}, 3, 41, 224, 7, 7, 2, 2, 3, 3};
    p.job.height = 20;
    p.job.width = 112;
    p.job.out_channels = p.job.destination.pixel = 64;
    p.job.low = 0;
    p.job.high = kInfinity;
    p.has_bias = true;
    DrawOperands(draw, &p);
    ComputeImage(variant, p, 2);
    EXPECT_LE(ImageError(p), ImageBound(p)) << NameOf(variant);
  }
}

TEST(ImageConvolution, PoolsItsResults) {
  for (const ImageVariant& variant : ImageVariants()) {
    Draw draw(13);
    for (int i = 0; i < 60; ++i) {
      const ImageProblem p = DrawPooled(draw, variant);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeImage(p));
      ComputeImage(variant, p, static_cast<int>(draw.Int(1, 3)));
      EXPECT_LE(ImageError(p), ImageBound(p));
      ExpectOnlyRowsWritten(p);
    }
  }
}

TEST(ImageConvolution, BitsOfPooledResultsDoNotDependOnThreads) {
  ExpectBitsNotToDependOnThreads(ImageVariants(), DrawPooled, ComputeImage);
}

// A NaN is larger than any number, wherever it stands in a window, as the operator says.
TEST(ImageConvolution, ANaNIsPooled) {
  for (const ImageVariant& variant : ImageVariants()) {
    for (std::int64_t at = 0; at < 6; ++at) {
      Draw draw(14);
      ImageProblem p;
      p.job.compute_type = variant.compute_type;
      p.window = {{}, 1, 3, 6, 1, 1, 1, 1, 0, 0, {2, 2, 1, 2, 0, 0, 2, 3}};
      p.job.height = 3;
      p.job.width = 6;
      p.job.out_channels = p.job.destination.pixel = 3;
      p.job.low = 0;
      p.job.high = kInfinity;
      DrawOperands(draw, &p);
      p.source->Set(6 + at, std::numeric_limits<float>::quiet_NaN());
      ComputeImage(variant, p, 1);
      for (std::int64_t row = 0; row < p.rows(); ++row) {
        EXPECT_EQ(std::isnan(p.destination->Get(row * 3 + 1)), row % 3 == at / 2) << NameOf(variant) << ", " << at;
      }
    }
  }
}

TEST(ImageConvolution, NothingIsComputedOfNothing) {
  Draw draw(3);
  for (const ImageVariant& variant : ImageVariants()) {
    ImageProblem p = DrawImageConvolution(draw, variant);
    p.job.batch = 0;
    EXPECT_EQ(ImageConvolutionScratchBytes(p.convolution(1)), 0u);
    ComputeImage(variant, p, 2);
    EXPECT_EQ(p.destination->Get(0), Elements::kUntouched);
    p = DrawPooled(draw, variant);
    p.window.pool.height = 0;
    EXPECT_EQ(ImageConvolutionScratchBytes(p.convolution(1)), 0u);
    ComputeImage(variant, p, 2);
    EXPECT_EQ(p.destination->Get(0), Elements::kUntouched);
  }
}

TEST(ImageConvolution, BitsDoNotDependOnThreads) {
  ExpectBitsNotToDependOnThreads(ImageVariants(), DrawImageConvolution, ComputeImage);
}

TEST(ImageConvolution, AddsToItsDestination) {
  ExpectToAddToDestination(ImageVariants(), DrawImageConvolution, ComputeImageInto, SumsIn<ImageProblem>);
}

TEST(ImageConvolution, ANaNStaysOne) {
  for (const ImageVariant& variant : ImageVariants()) {
    Draw draw(11);
    ImageProblem p = DrawImageConvolution(draw, variant);
    p.window.pad_top = p.window.pad_left = 0;
    p.has_functions = false;
    p.job.low = 0;
    p.job.high = 6;
    p.source->Set(0, std::numeric_limits<float>::quiet_NaN());
    ComputeImage(variant, p, 1);
    EXPECT_TRUE(std::isnan(p.destination->Get(0))) << NameOf(variant);
  }
}

// Nor does one reach what lies beside it, whatever is multiplied together.
TEST(ImageConvolution, ANaNStaysInItsWindows) {
  for (const ImageVariant& variant : ImageVariants()) {
    Draw draw(12);
    for (std::int64_t width = 1; width <= 4; ++width) {
      for (std::int64_t channels = 1; channels <= 3; ++channels) {
        ImageProblem p;
        p.job.compute_type = variant.compute_type;
        p.window = {{}, channels, 5, 12, 2, width, 1, 1, 0, 0};
        p.job.height = 4;
        p.job.width = 12 - width + 1;
        p.job.out_channels = p.job.destination.pixel = 3;
        p.job.low = -kInfinity;
        p.job.high = kInfinity;
        DrawOperands(draw, &p);
        p.source->Set(((channels - 1) * 5 + 2) * 12 + 6, std::numeric_limits<float>::quiet_NaN());
        ComputeImage(variant, p, 1);
        for (std::int64_t row = 0; row < p.job.rows(); ++row) {
          const std::int64_t y = row / p.job.width, x = row % p.job.width;
          const bool is_met = y <= 2 && 2 < y + 2 && x <= 6 && 6 < x + width;
          EXPECT_EQ(std::isnan(p.destination->Get(row * 3 + 2)), is_met) << NameOf(variant) << ": " << DescribeImage(p);
        }
      }
    }
  }
}

}  // namespace
}  // namespace amp::kernels
