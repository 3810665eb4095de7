#include "kernels/gemm/gemm.h"

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

using GemmVariant = ProductVariant<GemmTable>;

// All code that this CPU runs, but for Strassen's algorithm.
std::vector<GemmVariant> PlainVariants() {
  std::vector<const GemmTable*> tables = TablesThatRun<GemmTable>(GemmTable::Avx512BF16);
  if (AllowsTiles()) tables.push_back(GemmTable::Avx512AMX());
  if (CpuIsa() >= Isa::kAvx512 && CpuHasVNNI() && CpuHasBF16()) tables.push_back(GemmTable::Avx512VNNI());
  return VariantsOf(tables);
}

std::vector<GemmVariant> GemmVariants() {
  std::vector<GemmVariant> variants = PlainVariants();
  for (const GemmVariant& plain : PlainVariants()) {
    if (plain.table->strassen[static_cast<std::size_t>(plain.compute_type)] == nullptr) continue;
    variants.push_back({plain.table, plain.compute_type, true});
  }
  return variants;
}

// What is applied to sums.
struct SumFunction {
  std::vector<MapStep> steps;
  double (*define)(double x) = [](double x) { return x; };
};

SumFunction DrawSumFunction(Draw& draw) {
  constexpr float kRootHalf = 0.70710678f;
  const std::vector<SumFunction> functions{
      {},
      {{{MapOp::kRelu, 0, 0, 0, 0.125f}}, [](double x) { return x > 0 ? x : 0.125 * x; }},
      {{{MapOp::kTanh}}, [](double x) { return std::tanh(x); }},
      {{{MapOp::kLinear, 0, 0, 0, kRootHalf},
        {MapOp::kErf, 1},
        {MapOp::kLinear, 2, 0, 0, 0.5f, 0.5f},
        {MapOp::kMul, 3, 0}},
       [](double x) { return x * (1 + std::erf(x * std::sqrt(0.5))) / 2; }}};
  return functions[draw.Chance(0.5) ? 0 : static_cast<std::size_t>(draw.Int(1, 3))];
}

struct GemmProblem {
  Gemm job;
  std::unique_ptr<Elements> source, sum, destination;
  bool has_sum = false, has_bias = false, has_scale = false, has_slopes = false;
  std::vector<float> weights, bias, scale, shift, slopes;
  SumFunction function;

  std::int64_t rows() const { return job.rows(); }
  std::int64_t SourceOf(std::int64_t row) const {
    const std::int64_t x = row % job.width, y = row / job.width % job.height, n = row / job.width / job.height;
    return n * job.source.batch + y * job.source.row + x * job.source.pixel;
  }
};

// Perhaps strided, perhaps a slice of more channels.
void DrawSource(Draw& draw, GemmProblem* p) {
  Gemm& job = p->job;
  const std::int64_t stride = draw.Chance(0.3) ? 2 : 1;
  const std::int64_t pixel = job.in_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 9));
  const std::int64_t width = (job.width - 1) * stride + draw.Int(1, stride);
  const std::int64_t height = (job.height - 1) * stride + 1;
  job.source = {job.multiplies_int16() || draw.Chance(0.5), height * width * pixel, stride * width * pixel,
                stride * pixel};
  p->source = std::make_unique<Elements>(job.source.is_bf16, p->SourceOf(job.rows() - 1) + job.in_channels);
  for (std::int64_t row = 0; row < job.rows(); ++row) {
    for (std::int64_t c = 0; c < job.in_channels; ++c) p->source->Set(p->SourceOf(row) + c, draw.Real());
  }
}

void DrawLimits(Draw& draw, float* low, float* high) {
  *low = draw.Chance(0.5) ? 0 : -kInfinity;
  *high = draw.Chance(0.3) ? 1 : kInfinity;
}

GemmProblem DrawGemm(Draw& draw, const GemmVariant& variant) {
  GemmProblem p;
  Gemm& job = p.job;
  job.compute_type = variant.compute_type;
  job.strassen = variant.strassen;
  job.batch = draw.Int(1, 3);
  job.height = draw.Int(1, 17);
  job.width = draw.Int(1, 17);
  job.in_channels = draw.Chance(0.3) ? 16 * draw.Int(1, 9) : draw.Int(1, 150);
  job.out_channels = draw.Chance(0.3) ? 16 * draw.Int(1, 9) : draw.Int(1, 150);
  DrawSource(draw, &p);
  job.destination = {draw.Chance(0.5), job.out_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 40))};
  job.sum = {draw.Chance(0.5), job.out_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 40))};
  p.destination = std::make_unique<Elements>(job.destination.is_bf16, ElementsInRows(p, job.destination.pixel));
  p.sum = std::make_unique<Elements>(job.sum.is_bf16, ElementsInRows(p, job.sum.pixel));
  for (std::int64_t i = 0; i < ElementsInRows(p, job.sum.pixel); ++i) p.sum->Set(i, draw.Real());
  DrawLimits(draw, &job.low, &job.high);
  DrawLimits(draw, &job.source_low, &job.source_high);
  p.has_slopes = draw.Chance(0.2);  // without a function
  if (!p.has_slopes) p.function = DrawSumFunction(draw);
  p.slopes = draw.Reals(job.out_channels, 0.4f);
  p.has_sum = draw.Chance(0.5);
  p.has_bias = draw.Chance(0.7);
  p.has_scale = draw.Chance(0.5) && !variant.strassen;
  p.weights = draw.Reals(job.in_channels * job.out_channels, 1 / std::sqrt(static_cast<float>(job.in_channels)));
  p.bias = draw.Reals(job.out_channels, 0.25f);
  p.scale = draw.Reals(job.in_channels, 1);
  p.shift = draw.Reals(job.in_channels, 0.5f);
  return p;
}

// Calls run(job, data) with memory that holds the operands.
template <class Run>
void WithOperands(const Elements& destination, const GemmProblem& p, int threads, const Run& run) {
  Gemm job = p.job;
  job.num_threads = threads;
  const Guarded<float> weights(p.weights), bias(p.bias), scale(p.scale), shift(p.shift), slopes(p.slopes);
  const Guarded<char> packed(PackedGemmBytes(job));
  PackGemmWeights(job, weights.data(), packed.data());
  GemmData data;
  data.source = p.source->data();
  data.weights = packed.data();
  if (p.has_bias) data.bias = bias.data();
  if (p.has_scale) {
    data.scale = scale.data();
    data.shift = shift.data();
  }
  if (p.has_sum) data.sum = p.sum->data();
  if (p.has_slopes) data.slopes = slopes.data();
  data.functions = p.function.steps.data();
  data.num_functions = p.function.steps.size();
  data.destination = destination.data();
  run(job, data);
}

void ComputeGemmInto(const Elements& destination, const GemmVariant& variant, const GemmProblem& p, int threads) {
  WithOperands(destination, p, threads, [&](const Gemm& job, const GemmData& data) {
    const Guarded<char> scratch(GemmScratchBytes(job));
    RunGemmWith(*variant.table, job, data, scratch.data());
  });
}

void ComputeGemm(const GemmVariant& variant, const GemmProblem& p, int threads) {
  ComputeGemmInto(*p.destination, variant, p, threads);
}

// What is multiplied, as the kernel rounds it.
double OperandAt(const GemmProblem& p, std::int64_t row, std::int64_t c) {
  float x = p.source->Get(p.SourceOf(row) + c);
  const auto i = static_cast<std::size_t>(c);
  if (p.has_scale) {
    x = std::min(std::max(std::fma(x, p.scale[i], p.shift[i]), p.job.source_low), p.job.source_high);
  }
  return Rounded(x, p.job.multiplies_bf16());
}

double FinishedSum(const GemmProblem& p, std::int64_t out, double sum) {
  if (p.has_slopes) return sum > 0 ? sum : sum * p.slopes[static_cast<std::size_t>(out)];
  return std::clamp<double>(p.function.define(sum), p.job.low, p.job.high);
}

double ExpectedProduct(const GemmProblem& p, std::int64_t row, std::int64_t out) {
  double sum = p.has_bias ? p.bias[static_cast<std::size_t>(out)] : 0;
  for (std::int64_t c = 0; c < p.job.in_channels; ++c) {
    const float w = p.weights[static_cast<std::size_t>(out * p.job.in_channels + c)];
    sum += OperandAt(p, row, c) * Rounded(w, p.job.multiplies_bf16());
  }
  if (p.has_sum) sum += p.sum->Get(row * p.job.sum.pixel + out);
  return FinishedSum(p, out, sum);
}

// Operands that lie between two numbers of bfloat16 may be rounded to the other one where the generic code rounds the
// scaled source twice.
double GemmError(const GemmProblem& p) { return LargestError(p, ExpectedProduct); }

// Fixed-point numbers of 16 bits lose a tenth of what bfloat16 does.
double GemmBound(const GemmProblem& p) {
  return 2e-5 + (p.job.destination.is_bf16 ? 4e-3 : 0) + (p.job.multiplies_int16() ? 2e-3 : 0);
}

std::string DescribeGemm(const GemmProblem& p) {
  return PrintSizes({p.job.batch, p.job.height, p.job.width, p.job.in_channels, p.job.out_channels});
}

// Random shapes with remainders, strides, slices, every pair of dtypes and all post-ops.
TEST(Gemm, IsTheProduct) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(7);
    for (int i = 0; i < 40; ++i) {
      const GemmProblem p = DrawGemm(draw, variant);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeGemm(p));
      ComputeGemm(variant, p, 1);
      EXPECT_LE(GemmError(p), GemmBound(p));
      ExpectOnlyRowsWritten(p);
    }
  }
}

// More rows than one part has.
TEST(Gemm, ManyRowsAreTheProduct) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(12);
    GemmProblem p = DrawGemm(draw, variant);
    p.job.batch = 2;
    p.job.height = 61;
    p.job.width = 31;
    p.job.in_channels = 19;
    p.job.out_channels = 37;
    DrawSource(draw, &p);
    p.has_sum = false;
    p.job.destination.pixel = 40;
    p.destination = std::make_unique<Elements>(p.job.destination.is_bf16, ElementsInRows(p, 40));
    p.weights = draw.Reals(19 * 37, 0.2f);
    p.bias = draw.Reals(37, 1);
    p.slopes = draw.Reals(37, 0.4f);
    p.scale = draw.Reals(19, 1);
    p.shift = draw.Reals(19, 1);
    ComputeGemm(variant, p, 2);
    EXPECT_LE(GemmError(p), GemmBound(p)) << NameOf(variant);
  }
}

// Rows that tiles read as they lie, of which the last tile repeats some.
TEST(Gemm, RowsThatAreNotPackedAreTheProduct) {
  for (const GemmVariant& variant : PlainVariants()) {
    Draw draw(19);
    for (int i = 0; i < 20; ++i) {
      GemmProblem p = DrawGemm(draw, variant);
      Gemm& job = p.job;
      job.in_channels = 32 * draw.Int(1, 5);
      const std::int64_t pixel = job.in_channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 9));
      job.source = {true, job.height * job.width * pixel, job.width * pixel, pixel};
      p.source = std::make_unique<Elements>(true, (job.rows() - 1) * pixel + job.in_channels);
      for (std::int64_t row = 0; row < job.rows(); ++row) {
        for (std::int64_t c = 0; c < job.in_channels; ++c) p.source->Set(row * pixel + c, draw.Real());
      }
      p.has_scale = false;
      p.weights = draw.Reals(job.in_channels * job.out_channels, 0.1f);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeGemm(p));
      ComputeGemm(variant, p, 1 + i % 2);
      EXPECT_LE(GemmError(p), GemmBound(p));
      ExpectOnlyRowsWritten(p);
    }
  }
}

// Draws so many input channels that int16 is summed up in several chunks.
GemmProblem DrawDeepGemm(Draw& draw, const GemmVariant& variant) {
  GemmProblem p = DrawGemm(draw, variant);
  p.job.in_channels = draw.Int(385, 2000);
  DrawSource(draw, &p);
  p.weights = draw.Reals(p.job.in_channels * p.job.out_channels, 1 / std::sqrt(static_cast<float>(p.job.in_channels)));
  p.scale = draw.Reals(p.job.in_channels, 1);
  p.shift = draw.Reals(p.job.in_channels, 0.5f);
  return p;
}

// More input channels than are packed at a time.
TEST(Gemm, DeepSumsAreTheProduct) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(13);
    GemmProblem p = DrawGemm(draw, variant);
    p.job.batch = 1;
    p.job.height = 1;
    p.job.width = 131;
    p.job.in_channels = 1999;
    p.job.out_channels = 35;
    p.has_scale = p.has_sum = false;
    DrawSource(draw, &p);
    p.job.destination.pixel = 35;
    p.destination = std::make_unique<Elements>(p.job.destination.is_bf16, ElementsInRows(p, 35));
    p.weights = draw.Reals(1999 * 35, 0.02f);
    p.bias = draw.Reals(35, 1);
    p.slopes = draw.Reals(35, 0.4f);
    ComputeGemm(variant, p, 2);
    EXPECT_LE(GemmError(p), GemmBound(p)) << NameOf(variant);
  }
}

// All rows and output channels, and `depth` input channels at a time.
void ComputeInStretches(const GemmVariant& variant, const GemmProblem& p, std::int64_t depth) {
  WithOperands(*p.destination, p, 1, [&](const Gemm& job, const GemmData& data) {
    const std::int64_t columns = (job.out_channels + kGemmColumns - 1) / kGemmColumns * kGemmColumns;
    const Guarded<char> tile_memory(static_cast<std::size_t>(GemmTileBytes(job, job.rows(), depth)));
    const Guarded<float> sums(static_cast<std::size_t>(job.rows() * columns));
    GemmPart part{data, 0, job.rows(), job.out_channels, depth};
    if (job.multiplies_int16()) {
      part.factors = static_cast<const float*>(data.weights);
      part.data.weights = part.factors + GemmFactors(job.in_channels);
    }
    variant.run()(job, part, tile_memory.data(), sums.data());
  });
}

// But tiles, which take all input channels at a time.
TEST(Gemm, BitsDoNotDependOnStretches) {
  for (const GemmVariant& variant : PlainVariants()) {
    if (variant.table == GemmTable::Avx512AMX()) continue;
    Draw draw(14);
    for (int i = 0; i < 20; ++i) {
      const GemmProblem p = variant.is_int16() ? DrawDeepGemm(draw, variant) : DrawGemm(draw, variant);
      const std::int64_t step = GemmDepthStep(p.job);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeGemm(p));
      ComputeInStretches(variant, p, 10 * step);
      EXPECT_LE(GemmError(p), GemmBound(p));
      const std::vector<char> expected = p.destination->bytes();
      for (const std::int64_t depth : {step, 3 * step, 5 * step}) {
        ComputeInStretches(variant, p, depth);
        EXPECT_EQ(p.destination->bytes(), expected) << depth;
      }
    }
  }
}

TEST(Gemm, BitsDoNotDependOnThreads) { ExpectBitsNotToDependOnThreads(GemmVariants(), DrawGemm, ComputeGemm); }

TEST(Gemm, AddsToItsDestination) {
  ExpectToAddToDestination(GemmVariants(), DrawGemm, ComputeGemmInto, SumsIn<GemmProblem>);
}

// ---- windows ----

// The source of a window, perhaps a slice of more channels, and its weights.
void DrawWindowSource(Draw& draw, GemmProblem* p) {
  Gemm& job = p->job;
  const GemmWindow& w = job.window;
  job.in_channels = w.taps() * w.channels;
  const std::int64_t pixel = w.channels + (draw.Chance(0.5) ? 0 : draw.Int(1, 9));
  job.source = {job.source.is_bf16, w.image_height * w.image_width * pixel, w.image_width * pixel, pixel};
  const std::int64_t positions = job.batch * w.image_height * w.image_width;
  p->source = std::make_unique<Elements>(job.source.is_bf16, (positions - 1) * pixel + w.channels);
  for (std::int64_t i = 0; i < positions; ++i) {
    for (std::int64_t c = 0; c < w.channels; ++c) p->source->Set(i * pixel + c, draw.Real());
  }
  p->has_scale = false;
  p->weights = draw.Reals(job.in_channels * job.out_channels, 1 / std::sqrt(static_cast<float>(job.in_channels)));
}

void DrawWindow(Draw& draw, GemmProblem* p) {
  Gemm& job = p->job;
  GemmWindow& w = job.window;
  w.channels = draw.Chance(0.5) ? 16 * draw.Int(1, 4) : draw.Int(1, 70);
  w.height = draw.Int(1, 5);
  w.width = draw.Int(1, 7);
  w.stride_y = draw.Int(1, 2);
  w.stride_x = draw.Int(1, 3);
  w.step_y = draw.Int(1, 2);
  w.step_x = draw.Int(1, 2);
  w.pad_top = draw.Int(0, w.height);
  w.pad_left = draw.Int(0, w.width);
  w.image_height = draw.Int(1, 12);
  w.image_width = draw.Int(1, 12);
  DrawWindowSource(draw, p);
}

// What a tap of a window meets, as the kernel rounds it.
double TapOf(const GemmProblem& p, std::int64_t row, std::int64_t tap, std::int64_t c) {
  const GemmWindow& w = p.job.window;
  const std::int64_t x = row % p.job.width * w.stride_x - w.pad_left + tap % w.width * w.step_x;
  const std::int64_t y = row / p.job.width % p.job.height * w.stride_y - w.pad_top + tap / w.width * w.step_y;
  if (x < 0 || y < 0 || x >= w.image_width || y >= w.image_height) return 0;
  const std::int64_t n = row / p.job.width / p.job.height;
  const float value = p.source->Get(n * p.job.source.batch + y * p.job.source.row + x * p.job.source.pixel + c);
  return Rounded(value, p.job.multiplies_bf16());
}

double ExpectedOfWindow(const GemmProblem& p, std::int64_t row, std::int64_t out) {
  const GemmWindow& w = p.job.window;
  double sum = p.has_bias ? p.bias[static_cast<std::size_t>(out)] : 0;
  for (std::int64_t c = 0; c < w.channels; ++c) {
    for (std::int64_t tap = 0; tap < w.taps(); ++tap) {
      const float weight = p.weights[static_cast<std::size_t>((out * w.channels + c) * w.taps() + tap)];
      sum += TapOf(p, row, tap, c) * Rounded(weight, p.job.multiplies_bf16());
    }
  }
  if (p.has_sum) sum += p.sum->Get(row * p.job.sum.pixel + out);
  return FinishedSum(p, out, sum);
}

void ExpectConvolution(const GemmProblem& p) {
  for (std::int64_t row = 0; row < p.job.rows(); ++row) {
    for (std::int64_t out = 0; out < p.job.out_channels; ++out) {
      const double expected = ExpectedOfWindow(p, row, out);
      ASSERT_NEAR(p.destination->Get(row * p.job.destination.pixel + out), expected,
                  GemmBound(p) * (1 + std::abs(expected)));
    }
  }
}

// Some are so deep that they are packed in stretches.
TEST(Gemm, WindowsAreTheConvolution) {
  for (const GemmVariant& variant : PlainVariants()) {
    Draw draw(15);
    for (int i = 0; i < 25; ++i) {
      GemmProblem p = DrawGemm(draw, variant);
      DrawWindow(draw, &p);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeGemm(p));
      ComputeGemm(variant, p, 1 + i % 2);
      ExpectConvolution(p);
      ExpectOnlyRowsWritten(p);
    }
  }
}

// Taps may read the same packed positions of an image. Parts begin anywhere in it, and some are of two images.
TEST(Gemm, WindowsThatMoveByOneAreTheConvolution) {
  for (const GemmVariant& variant : PlainVariants()) {
    Draw draw(20);
    for (int i = 0; i < 25; ++i) {
      GemmProblem p = DrawGemm(draw, variant);
      DrawWindow(draw, &p);
      Gemm& job = p.job;
      GemmWindow& w = job.window;
      w.channels = 32 * draw.Int(1, 2);
      w.height = draw.Int(1, 3);
      w.width = draw.Int(1, 3);
      w.stride_y = w.stride_x = 1;
      w.image_height = job.height;
      w.image_width = job.width;
      DrawWindowSource(draw, &p);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeGemm(p));
      ComputeGemm(variant, p, 1);
      ExpectConvolution(p);
      ExpectOnlyRowsWritten(p);
      const std::vector<char> expected = p.destination->bytes();
      ComputeGemm(variant, p, 2);
      EXPECT_EQ(p.destination->bytes(), expected);
    }
  }
}

// A channel with large numbers and small weights takes no accuracy from the others.
TEST(Gemm, ChannelsOfAllSizesKeepTheirAccuracy) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(16);
    GemmProblem p = DrawGemm(draw, variant);
    p.has_scale = p.has_sum = false;
    p.function = {};
    p.has_slopes = false;
    for (std::int64_t c = 0; c < p.job.in_channels; c += 3) {
      for (std::int64_t row = 0; row < p.job.rows(); ++row) {
        p.source->Set(p.SourceOf(row) + c, 65536 * p.source->Get(p.SourceOf(row) + c));
      }
      for (std::int64_t out = 0; out < p.job.out_channels; ++out) {
        p.weights[static_cast<std::size_t>(out * p.job.in_channels + c)] /= 65536;
      }
    }
    ComputeGemm(variant, p, 1);
    EXPECT_LE(GemmError(p), GemmBound(p)) << NameOf(variant);
  }
}

// What is beyond all other numbers: of int16, sums of the largest numbers and weights fit int32.
TEST(Gemm, TheLargestSumsFit) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(17);
    GemmProblem p = DrawDeepGemm(draw, variant);
    p.has_scale = p.has_sum = p.has_bias = false;
    p.function = {};
    p.has_slopes = false;
    p.job.low = -kInfinity;
    p.job.high = kInfinity;
    for (std::int64_t row = 0; row < p.job.rows(); ++row) {
      for (std::int64_t c = 0; c < p.job.in_channels; ++c) p.source->Set(p.SourceOf(row) + c, row % 2 == 0 ? 1 : -1);
    }
    for (float& weight : p.weights) weight = 0.5f;
    ComputeGemm(variant, p, 1);
    EXPECT_LE(GemmError(p), GemmBound(p)) << NameOf(variant);
  }
}

TEST(Gemm, ANaNStaysOne) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(11);
    GemmProblem p = DrawGemm(draw, variant);
    p.has_scale = !variant.strassen;
    p.function = {};
    p.has_slopes = false;
    p.job.low = p.job.source_low = 0;
    p.job.high = p.job.source_high = 6;
    p.source->Set(0, std::numeric_limits<float>::quiet_NaN());
    ComputeGemm(variant, p, 1);
    EXPECT_TRUE(std::isnan(p.destination->Get(0))) << NameOf(variant);
  }
}

// ---- rows and channels of all sizes ----

// A product of normal size in all rows, without anything behind it.
GemmProblem DrawBareGemm(Draw& draw, const GemmVariant& variant) {
  GemmProblem p = DrawGemm(draw, variant);
  p.has_scale = p.has_sum = p.has_bias = false;
  p.function = {};
  p.has_slopes = false;
  p.job.low = -kInfinity;
  p.job.high = kInfinity;
  return p;
}

// The largest error of a result beside `size(row, out)`, that of its operands.
template <class Size>
double ErrorBeside(const GemmProblem& p, Size size) {
  double worst = 0;
  for (std::int64_t row = 0; row < p.job.rows(); ++row) {
    for (std::int64_t out = 0; out < p.job.out_channels; ++out) {
      const double error = ExpectedProduct(p, row, out) - p.destination->Get(row * p.job.destination.pixel + out);
      worst = std::max(worst, std::abs(error) / size(row, out));
    }
  }
  return worst;
}

// A small row loses nothing to a large one, nor does an output channel.
TEST(Gemm, RowsAndOutputChannelsOfAllSizesKeepTheirAccuracy) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(18);
    for (int i = 0; i < 10; ++i) {
      GemmProblem p = DrawBareGemm(draw, variant);
      const auto row_size = [](std::int64_t row) { return std::ldexp(1.0f, static_cast<int>(row * 7 % 41) - 20); };
      const auto out_size = [](std::int64_t out) { return std::ldexp(1.0f, static_cast<int>(out * 5 % 31) - 15); };
      for (std::int64_t row = 0; row < p.job.rows(); ++row) {
        for (std::int64_t c = 0; c < p.job.in_channels; ++c) {
          const std::int64_t at = p.SourceOf(row) + c;
          p.source->Set(at, row_size(row) * p.source->Get(at));
        }
      }
      for (std::size_t w = 0; w < p.weights.size(); ++w) {
        p.weights[w] *= out_size(static_cast<std::int64_t>(w) / p.job.in_channels);
      }
      ComputeGemm(variant, p, 1);
      const auto size = [&](std::int64_t row, std::int64_t out) { return 4.0 * row_size(row) * out_size(out); };
      EXPECT_LE(ErrorBeside(p, size), GemmBound(p)) << NameOf(variant) << ": " << DescribeGemm(p);
    }
  }
}

// What is no number in one row leaves all others as they are, and what is none among the weights all other channels.
TEST(Gemm, WhatIsNoNumberSpreadsToNoOtherRowOrChannel) {
  for (const GemmVariant& variant : GemmVariants()) {
    for (const float bad : {kNaN, kInfinity, -kInfinity}) {
      Draw draw(19);
      GemmProblem p = DrawBareGemm(draw, variant);
      const std::int64_t row = p.job.rows() / 2, out = p.job.out_channels / 3;
      p.source->Set(p.SourceOf(row), bad);
      p.weights[static_cast<std::size_t>(out * p.job.in_channels)] = bad;
      ComputeGemm(variant, p, 2);
      for (std::int64_t r = 0; r < p.job.rows(); ++r) {
        for (std::int64_t c = 0; c < p.job.out_channels; ++c) {
          const float actual = p.destination->Get(r * p.job.destination.pixel + c);
          if (r == row || c == out) {
            EXPECT_FALSE(std::isfinite(actual)) << NameOf(variant);
          } else {
            const double expected = ExpectedProduct(p, r, c);
            ASSERT_NEAR(actual, expected, GemmBound(p) * (1 + std::abs(expected))) << NameOf(variant);
          }
        }
      }
    }
  }
}

// Strassen's algorithm pairs rows and channels; an odd last one has none.
TEST(Gemm, TheSmallestProductsAreProducts) {
  for (const GemmVariant& variant : GemmVariants()) {
    Draw draw(20);
    for (int i = 0; i < 30; ++i) {
      GemmProblem p = DrawBareGemm(draw, variant);
      p.job.batch = 1;
      p.job.height = 1;
      p.job.width = draw.Int(1, 3);
      p.job.in_channels = draw.Int(1, 3);
      p.job.out_channels = draw.Int(1, 3);
      p.job.destination.pixel = p.job.out_channels;
      p.destination = std::make_unique<Elements>(p.job.destination.is_bf16, p.job.width * p.job.out_channels);
      p.weights = draw.Reals(p.job.in_channels * p.job.out_channels, 1);
      DrawSource(draw, &p);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeGemm(p));
      ComputeGemm(variant, p, 2);
      EXPECT_LE(GemmError(p), GemmBound(p));
    }
  }
}

}  // namespace
}  // namespace amp::kernels
