#include "kernels/depthwise/fused_depthwise.h"

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

using BlockVariant = ProductVariant<FusedDepthwiseTable>;

// All code that this CPU runs.
std::vector<BlockVariant> BlockVariants() {
  std::vector<const FusedDepthwiseTable*> tables = TablesThatRun<FusedDepthwiseTable>(FusedDepthwiseTable::Avx512BF16);
  if (CpuIsa() >= Isa::kAvx512 && CpuHasVNNI() && CpuHasBF16()) tables.push_back(FusedDepthwiseTable::Avx512VNNI());
  if (AllowsTiles() && FusedDepthwiseTable::Avx512AMX() != nullptr) tables.push_back(FusedDepthwiseTable::Avx512AMX());
  return VariantsOf(tables);
}

// The depthwise convolution, too; tiles leave it in float32.
bool TapsBF16(const BlockVariant& variant) {
  return variant.compute_type == ComputeType::kBFloat16 && variant.table == FusedDepthwiseTable::Avx512BF16();
}

std::int64_t DrawChannels(Draw& draw) { return draw.Chance(0.4) ? 16 * draw.Int(1, 5) : draw.Int(1, 75); }
Bounds DrawBounds(Draw& draw) { return {draw.Chance(0.5) ? 0 : -kInfinity, draw.Chance(0.4) ? 1 : kInfinity}; }

struct BlockProblem {
  FusedDepthwise job;
  std::unique_ptr<Elements> source, sum, destination;
  bool has_sum = false, has_biases = false, taps_bf16 = false;
  std::vector<float> expand_weights, expand_bias, weights, bias, project_weights, project_bias;

  std::int64_t rows() const { return job.batch * job.out_height * job.out_width; }
  float Source(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return source->Get(n * job.source.batch + y * job.source.row + x * job.source.pixel + c);
  }
};

void DrawBlockSizes(Draw& draw, FusedDepthwise* job) {
  job->expands = draw.Chance(0.6);
  job->batch = draw.Int(1, 3);
  job->kernel_height = draw.Int(1, 5);
  job->kernel_width = draw.Int(1, 5);
  job->stride = draw.Int(1, 2);
  job->pad_top = draw.Int(0, job->kernel_height - 1);
  job->pad_left = draw.Int(0, job->kernel_width - 1);
  job->height = draw.Int(job->kernel_height, 20);
  job->width = draw.Int(job->kernel_width, 20);
  // Padding behind the image is what the sizes of the result say.
  job->out_height =
      (job->height + job->pad_top + draw.Int(0, job->kernel_height - 1) - job->kernel_height) / job->stride + 1;
  job->out_width =
      (job->width + job->pad_left + draw.Int(0, job->kernel_width - 1) - job->kernel_width) / job->stride + 1;
  job->channels = DrawChannels(draw);
  job->in_channels = job->expands ? DrawChannels(draw) : job->channels;
  job->out_channels = DrawChannels(draw);
}

std::unique_ptr<Elements> DrawElements(Draw& draw, bool is_bf16, std::int64_t count) {
  auto elements = std::make_unique<Elements>(is_bf16, count);
  for (std::int64_t i = 0; i < count; ++i) elements->Set(i, draw.Real());
  return elements;
}

void DrawImages(Draw& draw, BlockProblem* p) {
  FusedDepthwise& job = p->job;
  const std::int64_t pixel = job.in_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 9));
  const std::int64_t row = job.width * pixel + (draw.Chance(0.7) ? 0 : draw.Int(1, 9));
  job.source = {job.multiplies_int16() || draw.Chance(0.5), job.height * row, row, pixel};
  const std::int64_t last = (job.batch - 1) * job.source.batch + (job.height - 1) * row + (job.width - 1) * pixel;
  p->source = DrawElements(draw, job.source.is_bf16, last + job.in_channels);
  job.destination = {draw.Chance(0.5), job.out_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 40))};
  job.sum = {draw.Chance(0.5), job.out_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 40))};
  p->destination = DrawElements(draw, job.destination.is_bf16, ElementsInRows(*p, job.destination.pixel));
  p->sum = DrawElements(draw, job.sum.is_bf16, ElementsInRows(*p, job.sum.pixel));
}

BlockProblem DrawBlock(Draw& draw, const BlockVariant& variant) {
  BlockProblem p;
  FusedDepthwise& job = p.job;
  job.compute_type = variant.compute_type;
  DrawBlockSizes(draw, &job);
  DrawImages(draw, &p);
  job.expanded = DrawBounds(draw);
  job.between = DrawBounds(draw);
  job.result = DrawBounds(draw);
  p.has_sum = draw.Chance(0.5);
  p.has_biases = draw.Chance(0.7);
  p.taps_bf16 = TapsBF16(variant);
  const std::int64_t taps = job.kernel_height * job.kernel_width;
  p.expand_weights = draw.Reals(job.in_channels * job.channels, 1 / std::sqrt(static_cast<double>(job.in_channels)));
  p.weights = draw.Reals(job.channels * taps, 1 / std::sqrt(static_cast<double>(taps)));
  p.project_weights = draw.Reals(job.channels * job.out_channels, 1 / std::sqrt(static_cast<double>(job.channels)));
  p.expand_bias = draw.Reals(job.channels, 0.25);
  p.bias = draw.Reals(job.channels, 0.25);
  p.project_bias = draw.Reals(job.out_channels, 0.25);
  return p;
}

void ComputeFusedDepthwiseInto(const Elements& destination, const BlockVariant& variant, const BlockProblem& p,
                               int threads) {
  FusedDepthwise job = p.job;
  job.num_threads = threads;
  const Guarded<float> expand_bias(p.expand_bias), bias(p.bias), project_bias(p.project_bias);
  const Guarded<char> expand(job.expands ? PackedGemmBytes(job.Expansion()) : 0);
  if (job.expands) PackGemmWeights(job.Expansion(), p.expand_weights.data(), expand.data());
  const Guarded<char> project(PackedGemmBytes(job.Projection()));
  PackGemmWeights(job.Projection(), p.project_weights.data(), project.data());
  const Guarded<char> weights(PackedDepthwiseBytes(job));
  PackDepthwiseWeights(job, p.weights.data(), reinterpret_cast<float*>(weights.data()));
  const Guarded<char> scratch(FusedDepthwiseScratchBytes(job));
  FusedDepthwiseData data;
  data.source = p.source->data();
  data.expand_weights = expand.data();
  data.weights = reinterpret_cast<const float*>(weights.data());
  data.project_weights = project.data();
  if (p.has_biases) {
    data.expand_bias = expand_bias.data();
    data.bias = bias.data();
    data.project_bias = project_bias.data();
  }
  if (p.has_sum) data.sum = p.sum->data();
  data.destination = destination.data();
  RunFusedDepthwiseWith(*variant.table, job, data, scratch.data());
}

void ComputeFusedDepthwise(const BlockVariant& variant, const BlockProblem& p, int threads) {
  ComputeFusedDepthwiseInto(*p.destination, variant, p, threads);
}

bool MultipliesBF16(const BlockProblem& p) { return p.job.compute_type == ComputeType::kBFloat16; }
double Clipped(double x, const Bounds& bounds) { return std::clamp<double>(x, bounds.low, bounds.high); }
float ElementAt(const std::vector<float>& numbers, std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; }

// What the depthwise convolution reads at a position of the image.
double ExpandedAt(const BlockProblem& p, std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) {
  if (!p.job.expands) return Rounded(p.Source(n, y, x, c), p.taps_bf16);
  double sum = p.has_biases ? ElementAt(p.expand_bias, c) : 0;
  for (std::int64_t i = 0; i < p.job.in_channels; ++i) {
    sum += Rounded(p.Source(n, y, x, i), MultipliesBF16(p)) *
           Rounded(ElementAt(p.expand_weights, c * p.job.in_channels + i), MultipliesBF16(p));
  }
  return Rounded(Clipped(sum, p.job.expanded), p.taps_bf16);
}

double BetweenAt(const BlockProblem& p, const std::vector<double>& expanded, std::int64_t n, std::int64_t out_y,
                 std::int64_t out_x, std::int64_t c) {
  const FusedDepthwise& job = p.job;
  double sum = p.has_biases ? ElementAt(p.bias, c) : 0;
  for (std::int64_t ky = 0; ky < job.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < job.kernel_width; ++kx) {
      const std::int64_t y = out_y * job.stride - job.pad_top + ky, x = out_x * job.stride - job.pad_left + kx;
      if (y < 0 || x < 0 || y >= job.height || x >= job.width) continue;
      const std::int64_t at = ((n * job.height + y) * job.width + x) * job.channels + c;
      sum += expanded[static_cast<std::size_t>(at)] *
             Rounded(ElementAt(p.weights, (c * job.kernel_height + ky) * job.kernel_width + kx), p.taps_bf16);
    }
  }
  return Rounded(Clipped(sum, job.between), MultipliesBF16(p));
}

std::vector<double> AllExpanded(const BlockProblem& p) {
  std::vector<double> all;
  for (std::int64_t n = 0; n < p.job.batch; ++n) {
    for (std::int64_t y = 0; y < p.job.height; ++y) {
      for (std::int64_t x = 0; x < p.job.width; ++x) {
        for (std::int64_t c = 0; c < p.job.channels; ++c) all.push_back(ExpandedAt(p, n, y, x, c));
      }
    }
  }
  return all;
}

// The largest error of all results, beside values of about 1.
double BlockError(const BlockProblem& p, const Elements& sums) {
  const FusedDepthwise& job = p.job;
  const std::vector<double> expanded = AllExpanded(p);
  double worst = 0;
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const std::int64_t x = row % job.out_width, y = row / job.out_width % job.out_height;
    const std::int64_t n = row / job.out_width / job.out_height;
    std::vector<double> between;
    for (std::int64_t c = 0; c < job.channels; ++c) between.push_back(BetweenAt(p, expanded, n, y, x, c));
    for (std::int64_t out = 0; out < job.out_channels; ++out) {
      double sum = p.has_biases ? ElementAt(p.project_bias, out) : 0;
      for (std::int64_t c = 0; c < job.channels; ++c) {
        sum += between[static_cast<std::size_t>(c)] *
               Rounded(ElementAt(p.project_weights, out * job.channels + c), MultipliesBF16(p));
      }
      if (p.has_sum) sum += sums.Get(row * job.sum.pixel + out);
      const double expected = Clipped(sum, job.result), actual = p.destination->Get(row * job.destination.pixel + out);
      worst = std::max(worst, std::abs(actual - expected) / (1 + std::abs(expected)));
    }
  }
  return worst;
}

// A number between may lie so close to the middle of two of bfloat16 that it is rounded to the other one.
double BlockBound(const BlockProblem& p) {
  return 2e-5 + (p.job.destination.is_bf16 ? 4e-3 : 0) + (MultipliesBF16(p) ? 4e-3 : 0) +
         (p.job.multiplies_int16() ? 3e-3 : 0);
}

std::string DescribeBlock(const BlockProblem& p) {
  const FusedDepthwise& job = p.job;
  return (job.expands ? "expands " : "") + PrintSizes({job.batch, job.height, job.width, job.out_height, job.out_width,
                                                       job.kernel_height, job.kernel_width, job.stride, job.pad_top,
                                                       job.pad_left, job.in_channels, job.channels, job.out_channels});
}

// Random shapes with remainders, paddings, slices, every pair of dtypes and all post-ops.
TEST(FusedDepthwise, IsTheChain) {
  for (const BlockVariant& variant : BlockVariants()) {
    Draw draw(7);
    for (int i = 0; i < 60; ++i) {
      const BlockProblem p = DrawBlock(draw, variant);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeBlock(p));
      ComputeFusedDepthwise(variant, p, 1);
      ASSERT_LE(BlockError(p, *p.sum), BlockBound(p));
    }
  }
}

// Images of more rows than a part has.
TEST(FusedDepthwise, ManyRowsAreTheChain) {
  for (const BlockVariant& variant : BlockVariants()) {
    Draw draw(12);
    BlockProblem p = DrawBlock(draw, variant);
    p.job.batch = 1;
    p.job.width = p.job.out_width = 41;
    p.job.height = p.job.out_height = 48;
    p.job.kernel_height = p.job.kernel_width = 3;
    p.job.stride = p.job.pad_left = p.job.pad_top = 1;
    p.job.expands = true;
    p.job.in_channels = 5;
    p.job.channels = 190;
    p.job.out_channels = 3;
    DrawImages(draw, &p);
    p.has_biases = false;
    p.expand_weights = draw.Reals(5 * 190, 0.4);
    p.weights = draw.Reals(9 * 190, 0.3);
    p.project_weights = draw.Reals(190 * 3, 0.1);
    EXPECT_LT(FusedDepthwiseStrip(p.job), p.job.out_height);
    ComputeFusedDepthwise(variant, p, 2);
    EXPECT_LE(BlockError(p, *p.sum), BlockBound(p)) << NameOf(variant);
  }
}

TEST(FusedDepthwise, BitsDoNotDependOnThreads) {
  ExpectBitsNotToDependOnThreads(BlockVariants(), DrawBlock, ComputeFusedDepthwise);
}

TEST(FusedDepthwise, AddsToItsDestination) {
  ExpectToAddToDestination(BlockVariants(), DrawBlock, ComputeFusedDepthwiseInto, SumsIn<BlockProblem>);
}

TEST(FusedDepthwise, ANaNStaysOne) {
  for (const BlockVariant& variant : BlockVariants()) {
    Draw draw(11);
    BlockProblem p = DrawBlock(draw, variant);
    p.job.expanded = p.job.between = p.job.result = {0, 6};
    for (std::int64_t c = 0; c < p.job.in_channels; ++c) p.source->Set(c, std::numeric_limits<float>::quiet_NaN());
    ComputeFusedDepthwise(variant, p, 1);
    bool any = false;
    for (std::int64_t row = 0; row < p.rows(); ++row)
      any |= std::isnan(p.destination->Get(row * p.job.destination.pixel));
    EXPECT_TRUE(any) << NameOf(variant);
  }
}

}  // namespace
}  // namespace amp::kernels
