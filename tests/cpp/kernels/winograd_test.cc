#include "kernels/winograd/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "products.h"

namespace amp::kernels {
namespace {

using namespace testing;

struct WinogradVariant {
  const WinogradTable* table;
  WinogradKind kind;
};

std::string NameOf(const WinogradVariant& v) { return std::string(IsaName(v.table->isa)) + " " + WinogradName(v.kind); }

// All code that this CPU runs.
std::vector<WinogradVariant> WinogradVariants() {
  std::vector<WinogradVariant> variants;
  auto tables = TablesThatRun<WinogradTable>(WinogradTable::Avx512VNNI, CpuHasVNNI() && CpuHasBF16());
  if (AllowsTiles()) tables.push_back(WinogradTable::Avx512AMX());
  std::erase(tables, nullptr);
  for (const WinogradTable* table : tables) {
    for (int kind = 0; kind < kNumWinogradKinds; ++kind) {
      if (table->run[kind] != nullptr) variants.push_back({table, static_cast<WinogradKind>(kind)});
    }
  }
  return variants;
}

std::int64_t StrideOf(const Winograd& job) { return std::max<std::int64_t>(job.stride, 1); }

// What there is of a source or a result, in rows and columns of it as they lie.
struct ImageExtent {
  std::int64_t images;  // slices of all volumes
  std::int64_t groups, channels, depth, height, width;
};
ImageExtent SourceOf(const Winograd& job) {
  return {job.batch / job.out_depth * job.in_depth,
          job.groups,
          job.in_channels / job.slices,
          job.in_depth,
          job.in_height,
          job.in_width};
}
ImageExtent ResultOf(const Winograd& job) {
  return {job.batch,
          job.groups,
          job.out_channels,
          job.out_depth,
          job.out_height * StrideOf(job),
          job.out_width * StrideOf(job)};
}

template <class F>
void ForEachElement(const ImageExtent& extent, F&& f) {
  for (std::int64_t n = 0; n < extent.images; ++n) {
    for (std::int64_t g = 0; g < extent.groups; ++g) {
      for (std::int64_t c = 0; c < extent.channels; ++c) {
        for (std::int64_t y = 0; y < extent.height; ++y) {
          for (std::int64_t x = 0; x < extent.width; ++x) f(n, g, c, y, x);
        }
      }
    }
  }
}

// An image in either dtype.
class Image : public Elements {
 public:
  // `stride`: of the deconvolution whose result it is; `depth`: slices of a volume.
  Image(const WinogradImage& strides, std::int64_t count, std::int64_t dilation = 1, std::int64_t stride = 1,
        std::int64_t depth = 1)
      : Elements(strides.is_bf16, count), strides_(strides), dilation_(dilation), stride_(stride), depth_(depth) {}

  std::unique_ptr<Image> Another() const {
    return std::make_unique<Image>(strides_, size(), dilation_, stride_, depth_);
  }
  const WinogradImage& strides() const { return strides_; }

  // For windows with gaps, the n % dilation^2-th part of image n / dilation^2.
  std::int64_t IndexOf(std::int64_t n, std::int64_t g, std::int64_t c, std::int64_t y, std::int64_t x) const {
    const WinogradImage& s = strides_;
    const std::int64_t row = n / dilation_ % dilation_ + y * dilation_, column = n % dilation_ + x * dilation_;
    const std::int64_t volume = n / (dilation_ * dilation_) / depth_;
    return volume * s.batch + n % depth_ * s.slice + g * s.group + c / 16 * s.block + c % 16 / 8 * s.half + c % 8 +
           row * (s.row / dilation_ / stride_) + column * (s.pixel / dilation_ / stride_);
  }

 private:
  WinogradImage strides_;
  std::int64_t dilation_, stride_, depth_;
};

// Channels last, perhaps some of more channels, or blocks of channels. Where windows have gaps, of all images together.
std::unique_ptr<Image> DrawImage(Draw& draw, const Winograd& job, bool knows_blocks_of_8, const ImageExtent& extent,
                                 std::int64_t stride = 1) {
  WinogradImage strides;
  strides.is_bf16 = draw.Chance(0.5);
  const std::int64_t channels = extent.channels, all = job.groups * channels;
  const std::int64_t volumes = extent.images / job.dilation / job.dilation / extent.depth;
  const std::int64_t height = extent.height * job.dilation, width = extent.width * job.dilation;
  std::int64_t count = 0;
  const std::int64_t block = knows_blocks_of_8 && draw.Chance(0.5) ? 8 : 16;
  if (WinogradKnowsBlocks(job.kind) && channels % block == 0 && draw.Chance(0.5)) {
    strides.pixel = block;
    strides.row = width * block;
    strides.slice = height * strides.row;
    const std::int64_t volume = extent.depth * strides.slice + draw.Int(0, 1) * 16;
    strides.half = block == 8 ? volume : 8;
    strides.block = 16 / block * volume;
    strides.group = channels / block * volume;
    strides.batch = all / block * volume;
    count = volumes * strides.batch - (volume - extent.depth * strides.slice);
  } else {
    strides.pixel = all + (draw.Chance(0.5) ? 0 : draw.Int(1, 9));
    strides.row = width * strides.pixel;
    strides.slice = height * strides.row;
    strides.block = 16;
    strides.group = channels;
    strides.batch = extent.depth * strides.slice;
    count = volumes * strides.batch - (strides.pixel - all);
  }
  strides.row *= job.dilation * stride;
  strides.pixel *= job.dilation * stride;
  return std::make_unique<Image>(strides, count, job.dilation, stride, extent.depth);
}

struct WinogradProblem {
  Winograd job;
  std::unique_ptr<Image> source, sum, destination;
  bool has_sum = false, has_bias = false, has_slopes = false;
  std::vector<float> weights, bias, slopes;
};

void DrawSizes(Draw& draw, Winograd* job) {
  job->dilation = WinogradMultipliesBF16(job->kind) || draw.Chance(0.8) ? 1 : draw.Int(2, 3);
  job->batch = job->dilation == 1 ? draw.Int(1, 3) : job->dilation * job->dilation;
  job->groups = draw.Chance(0.3) ? draw.Int(2, 3) : 1;
  job->in_channels = draw.Chance(0.3) ? 8 * draw.Int(1, 8) : draw.Int(1, 70);
  job->out_channels = draw.Chance(0.3) ? 8 * draw.Int(1, 10) : draw.Int(1, 80);
  job->in_height = draw.Int(1, 17);
  job->in_width = draw.Chance(0.2) ? draw.Int(30, 45) : draw.Int(1, 17);
  const WinogradShape shape = WinogradShapeOf(job->kind);
  job->pad_top = draw.Int(0, shape.window_height - 1);
  job->pad_left = draw.Int(0, shape.window_width - 1);
  const auto out = [&](std::int64_t in, std::int64_t pad, std::int64_t window) {
    const std::int64_t least = std::max<std::int64_t>(0, window - in - pad);
    return in + pad + draw.Int(least, std::max<std::int64_t>(least, window - 1)) - (window - 1);
  };
  job->out_height = out(job->in_height, job->pad_top, shape.window_height);
  job->out_width = out(job->in_width, job->pad_left, shape.window_width);
}

void DrawVolumes(Draw& draw, Winograd* job) {
  job->slices = draw.Int(1, 3);
  job->in_channels = job->slices * kWinogradBlock * draw.Int(1, 3);
  job->in_depth = draw.Int(1, 4);
  job->pad_front = draw.Int(0, job->slices - 1);
  job->out_depth = std::max<std::int64_t>(job->in_depth + job->pad_front - draw.Int(0, job->slices - 1), 1);
  job->batch = job->out_depth * draw.Int(1, 2);
}

// One axis of a deconvolution.
struct DeconvolutionAxis {
  std::int64_t kernel, pad, out;
};
DeconvolutionAxis DrawAxis(Draw& draw, std::int64_t stride, std::int64_t window, std::int64_t in) {
  const std::int64_t kernel = stride * window - draw.Int(0, stride - 1), pad = draw.Int(0, stride * (window - 1));
  const std::int64_t all = std::max<std::int64_t>(((in - 1) * stride + kernel - pad) / stride, 1);
  return {kernel, pad, draw.Int(std::max<std::int64_t>(all - window, 1), all)};
}

void DrawDeconvolution(Draw& draw, Winograd* job) {
  job->stride = WinogradMultipliesBF16(job->kind) ? 1 : draw.Int(1, 3);
  const WinogradShape shape = WinogradShapeOf(job->kind);
  const auto rows = DrawAxis(draw, job->stride, shape.window_height, job->in_height);
  const auto columns = DrawAxis(draw, job->stride, shape.window_width, job->in_width);
  job->kernel_height = rows.kernel;
  job->kernel_width = columns.kernel;
  job->pad_top = rows.pad;
  job->pad_left = columns.pad;
  job->out_height = rows.out;
  job->out_width = columns.out;
}

std::int64_t WeightsOfChannels(const Winograd& job) {
  return job.stride > 0 ? job.kernel_height * job.kernel_width : WinogradShapeOf(job.kind).window();
}

void DrawNumbers(Draw& draw, WinogradProblem* p) {
  const Winograd& job = p->job;
  ForEachElement(SourceOf(job),
                 [&](auto... at) { p->source->Set(p->source->IndexOf(at...), std::max(0.0f, draw.Real())); });
  ForEachElement(ResultOf(job), [&](auto... at) { p->sum->Set(p->sum->IndexOf(at...), draw.Real()); });
  const std::int64_t window = WeightsOfChannels(job);
  p->weights.resize(static_cast<std::size_t>(job.groups * job.out_channels * job.in_channels * window));
  const auto scale = static_cast<float>(std::sqrt(2.0 / static_cast<double>(window * job.in_channels)));
  for (float& w : p->weights) w = scale * draw.Real();
  p->bias.resize(static_cast<std::size_t>(job.groups * job.out_channels));
  for (float& b : p->bias) b = draw.Real() / 4;
  p->slopes = draw.Reals(job.groups * job.out_channels, 0.4f);
}

WinogradProblem DrawWinograd(Draw& draw, const WinogradVariant& variant) {
  const bool knows_blocks_of_8 = variant.table->isa < Isa::kAvx512;
  WinogradProblem p;
  p.job.kind = variant.kind;
  DrawSizes(draw, &p.job);
  if (p.job.dilation == 1 && draw.Chance(0.4)) DrawDeconvolution(draw, &p.job);
  if (p.job.dilation == 1 && !WinogradMultipliesBF16(p.job.kind) && draw.Chance(0.4)) DrawVolumes(draw, &p.job);
  const std::int64_t activation = draw.Int(0, 4);  // none, relu, relu6, a slope, slopes of channels
  p.job.is_leaky = activation > 2;
  p.job.slope = 0.25;
  p.has_slopes = activation == 4;
  p.job.low = activation == 0 ? -kInfinity : 0;
  p.job.high = activation == 2 ? 1 : kInfinity;
  p.source = DrawImage(draw, p.job, knows_blocks_of_8, SourceOf(p.job));
  for (auto* result : {&p.destination, &p.sum}) {
    *result = DrawImage(draw, p.job, knows_blocks_of_8, ResultOf(p.job), StrideOf(p.job));
  }
  p.job.source = p.source->strides();
  p.job.destination = p.destination->strides();
  p.job.sum = p.sum->strides();
  p.has_sum = draw.Chance(0.5);
  p.has_bias = draw.Chance(0.7);
  DrawNumbers(draw, &p);
  return p;
}

double FinishedResult(const WinogradProblem& p, std::int64_t channel, double x) {
  if (!p.job.is_leaky) return std::min<double>(std::max<double>(x, p.job.low), p.job.high);
  return x > 0 ? x : x * (p.has_slopes ? p.slopes[static_cast<std::size_t>(channel)] : p.job.slope);
}

// The row that number k of the weights' window leads from, to this one of the result; -1 where there is none.
std::int64_t RowOfSource(const Winograd& job, std::int64_t row, std::int64_t pad, std::int64_t k, std::int64_t stride) {
  if (job.stride == 0) return row - pad + k;
  const std::int64_t distance = row + pad - k;  // stride times the row of the source
  return distance < 0 || distance % stride != 0 ? -1 : distance / stride;
}

// Where one axis of the window meets the source.
struct Tap {
  std::int64_t of_weights, of_source;
};
using Taps = std::vector<Tap>;

// The taps of each position of a result's axis.
std::vector<Taps> TapsOfAxis(const Winograd& job, std::int64_t out, std::int64_t pad, std::int64_t window,
                             std::int64_t size, std::int64_t stride) {
  std::vector<Taps> taps(static_cast<std::size_t>(out));
  for (std::int64_t at = 0; at < out; ++at) {
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t row = RowOfSource(job, at, pad, k, stride);
      if (row >= 0 && row < size) taps[static_cast<std::size_t>(at)].push_back({k, row});
    }
  }
  return taps;
}

// A convolution that is summed position by position: source and weights have the channels of a group side by side.
struct PlainConvolution {
  std::vector<float> source, weights;
  std::vector<Taps> slices, rows, columns;
};

std::vector<float> SourceByPosition(const WinogradProblem& p) {
  const ImageExtent of = SourceOf(p.job);
  std::vector<float> numbers(static_cast<std::size_t>(of.images * of.groups * of.height * of.width * of.channels));
  ForEachElement(of, [&](std::int64_t n, std::int64_t g, std::int64_t c, std::int64_t y, std::int64_t x) {
    const std::int64_t position = ((n * of.groups + g) * of.height + y) * of.width + x;
    numbers[static_cast<std::size_t>(position * of.channels + c)] = p.source->Get(p.source->IndexOf(n, g, c, y, x));
  });
  return numbers;
}

std::vector<float> WeightsByPosition(const WinogradProblem& p) {
  const std::int64_t channels = SourceOf(p.job).channels, window = p.job.slices * WeightsOfChannels(p.job);
  std::vector<float> numbers;
  numbers.reserve(p.weights.size());
  for (std::int64_t channel = 0; channel < p.job.groups * p.job.out_channels; ++channel) {
    for (std::int64_t k = 0; k < window; ++k) {
      for (std::int64_t i = 0; i < channels; ++i) {
        numbers.push_back(p.weights[static_cast<std::size_t>((channel * channels + i) * window + k)]);
      }
    }
  }
  return numbers;
}

// In float64. One sum would wait for itself after each product.
double SumOfProducts(const float* a, const float* b, std::int64_t count) {
  double sums[4] = {};
  for (std::int64_t i = 0; i < count; ++i) sums[i % 4] += static_cast<double>(a[i]) * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

PlainConvolution PlainConvolutionOf(const WinogradProblem& p) {
  const Winograd& job = p.job;
  const ImageExtent from = SourceOf(job), to = ResultOf(job);
  const std::int64_t width = job.stride > 0 ? job.kernel_width : WinogradShapeOf(job.kind).window_width;
  const std::int64_t height = WeightsOfChannels(job) / width;
  return {SourceByPosition(p), WeightsByPosition(p),
          TapsOfAxis(job, to.depth, job.pad_front, job.slices, from.depth, 1),
          TapsOfAxis(job, to.height, job.pad_top, height, from.height, job.stride),
          TapsOfAxis(job, to.width, job.pad_left, width, from.width, job.stride)};
}

// One result in float64.
double ExpectedOfWinograd(const WinogradProblem& p, const PlainConvolution& plain, std::int64_t n, std::int64_t g,
                          std::int64_t c, std::int64_t y, std::int64_t x) {
  const Winograd& job = p.job;
  const std::int64_t channel = g * job.out_channels + c;
  double sum = p.has_bias ? p.bias[static_cast<std::size_t>(channel)] : 0;
  if (p.has_sum) sum += p.sum->Get(p.sum->IndexOf(n, g, c, y, x));
  const std::int64_t width = job.stride > 0 ? job.kernel_width : WinogradShapeOf(job.kind).window_width;
  const std::int64_t window = WeightsOfChannels(job);
  const ImageExtent of = SourceOf(job);
  const auto taps = [](const std::vector<Taps>& axis, std::int64_t at) -> const Taps& {
    return axis[static_cast<std::size_t>(at)];
  };
  for (const Tap& slice : taps(plain.slices, n % job.out_depth)) {
    const std::int64_t image = n / job.out_depth * of.depth + slice.of_source;
    for (const Tap& row : taps(plain.rows, y)) {
      for (const Tap& column : taps(plain.columns, x)) {
        const std::int64_t position =
            ((image * of.groups + g) * of.height + row.of_source) * of.width + column.of_source;
        const std::int64_t k = slice.of_weights * window + row.of_weights * width + column.of_weights;
        sum += SumOfProducts(plain.source.data() + position * of.channels,
                             plain.weights.data() + (channel * job.slices * window + k) * of.channels, of.channels);
      }
    }
  }
  return FinishedResult(p, channel, sum);
}

void ComputeWinogradInto(const Image& destination, const WinogradVariant& variant, const WinogradProblem& p,
                         int threads) {
  Winograd job = p.job;
  job.num_threads = threads;
  const Guarded<float> weights(p.weights), bias(p.bias), slopes(p.slopes);
  const Guarded<char> packed(PackedWinogradBytes(job)), scratch(WinogradScratchBytes(job));
  std::memset(packed.data(), 0xFF, packed.size());  // NaN, where packing leaves something out
  PackWinogradWeightsWith(*variant.table, job, weights.data(), packed.data());
  const WinogradData data{p.source->data(),
                          packed.data(),
                          p.has_bias ? bias.data() : nullptr,
                          p.has_sum ? p.sum->data() : nullptr,
                          destination.data(),
                          p.has_slopes ? slopes.data() : nullptr};
  RunWinogradWith(*variant.table, job, data, scratch.data());
}

void ComputeWinograd(const WinogradVariant& variant, const WinogradProblem& p, int threads) {
  ComputeWinogradInto(*p.destination, variant, p, threads);
}

std::vector<float> Results(const WinogradProblem& p, const Image& image) {
  std::vector<float> values;
  ForEachElement(ResultOf(p.job), [&](auto... at) { values.push_back(image.Get(image.IndexOf(at...))); });
  return values;
}

// The square root of the mean square, of errors over that of results.
double RelativeError(const WinogradProblem& p) {
  const PlainConvolution plain = PlainConvolutionOf(p);
  double error = 0, size = 0;
  ForEachElement(ResultOf(p.job), [&](auto... at) {
    const double expected = ExpectedOfWinograd(p, plain, at...),
                 actual = p.destination->Get(p.destination->IndexOf(at...));
    error += (actual - expected) * (actual - expected);
    size += expected * expected;
  });
  return std::sqrt(error / std::max(size, 1e-30));
}

double WinogradBound(const WinogradProblem& p) {
  const double rounding = p.job.destination.is_bf16 ? 2.2e-3 : 0;
  switch (p.job.kind) {
    case WinogradKind::kF4x4:
      return 5e-6 + rounding;
    case WinogradKind::kF2x2:
      return 2e-6 + rounding;
    case WinogradKind::kF4x4Int16:
      return 1.2e-3 + rounding;
    case WinogradKind::kF4x2Int16:
      return 7e-4 + rounding;
    case WinogradKind::kF2x2Int16:
      return 5e-4 + rounding;
    case WinogradKind::kF1x4BF16:
      return 4.4e-3 + rounding;
    case WinogradKind::k1x7:
    case WinogradKind::k5x5:
      return 6e-6 + rounding;
    case WinogradKind::k1x3:
    case WinogradKind::k2x2:
      return 2e-6 + rounding;
    case WinogradKind::k1x7Int16:
      return 2.1e-3 + rounding;
    case WinogradKind::k1x3Int16:
    case WinogradKind::k2x2Int16:
      return 6e-4 + rounding;
    case WinogradKind::k5x5Int16:
      return 3.2e-3 + rounding;
  }
  return 0;
}

// What lies between images, and beside a slice, is as it was.
void ExpectOnlyImageWritten(const WinogradProblem& p) {
  const Image& image = *p.destination;
  Image untouched(image.strides(), image.size(), p.job.dilation, StrideOf(p.job), p.job.out_depth);
  ForEachElement(ResultOf(p.job),
                 [&](auto... at) { untouched.Set(untouched.IndexOf(at...), image.Get(image.IndexOf(at...))); });
  EXPECT_EQ(untouched.bytes(), image.bytes());
}

std::string DescribeWinograd(const WinogradProblem& p) {
  const Winograd& j = p.job;
  return PrintSizes({j.slices, j.in_depth, j.out_depth, j.stride, j.batch, j.groups, j.in_channels, j.out_channels,
                     j.in_height, j.in_width, j.out_height, j.out_width, j.pad_top, j.pad_left});
}

// Random shapes with remainders, both layouts, slices, every pair of dtypes and all post-ops.
TEST(Winograd, IsTheConvolution) {
  for (const WinogradVariant& variant : WinogradVariants()) {
    Draw draw(7);
    double worst = 0;
    for (int i = 0; i < 24; ++i) {
      const WinogradProblem p = DrawWinograd(draw, variant);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i) + ": " + DescribeWinograd(p));
      ComputeWinograd(variant, p, 1);
      const double error = RelativeError(p);
      EXPECT_LE(error, WinogradBound(p));
      worst = std::max(worst, error / WinogradBound(p));
      ExpectOnlyImageWritten(p);
    }
    RecordProperty(NameOf(variant), std::to_string(worst));
  }
}

// An image of float32 with channels last, and results of the same size.
WinogradProblem SquareProblem(Draw& draw, const WinogradVariant& variant, std::int64_t channels, std::int64_t size) {
  WinogradProblem p = DrawWinograd(draw, variant);
  p.job = {};
  p.job.kind = variant.kind;
  p.job.in_channels = channels;
  p.job.out_channels = 32;
  p.job.in_height = p.job.in_width = p.job.out_height = p.job.out_width = size;
  p.job.pad_top = WinogradShapeOf(p.job.kind).window_height / 2;
  p.job.pad_left = WinogradShapeOf(p.job.kind).window_width / 2;
  p.job.low = -kInfinity;
  p.job.high = kInfinity;
  p.job.source = {false, 0, 0, 16, size * channels, channels};
  p.job.sum = p.job.destination = {false, 0, 0, 16, size * 32, 32};
  p.source = std::make_unique<Image>(p.job.source, size * size * channels);
  p.sum = std::make_unique<Image>(p.job.sum, size * size * 32);
  p.destination = std::make_unique<Image>(p.job.destination, size * size * 32);
  p.has_sum = p.has_bias = false;
  DrawNumbers(draw, &p);
  return p;
}

// The accuracy of one layer, with enough channels to be typical.
TEST(Winograd, ErrorsAreThoseOfTheAlgorithm) {
  for (const WinogradVariant& variant : WinogradVariants()) {
    Draw draw(8);
    WinogradProblem p = SquareProblem(draw, variant, 256, 14);
    ComputeWinograd(variant, p, 1);
    const double bound = variant.kind == WinogradKind::kF4x4 ? 4e-6 : WinogradBound(p);
    const double error = RelativeError(p);
    EXPECT_LE(error, bound) << NameOf(variant);
    RecordProperty(NameOf(variant), std::to_string(error * 1e6) + "e-6");
  }
}

TEST(Winograd, BitsDoNotDependOnThreads) {
  ExpectBitsNotToDependOnThreads(WinogradVariants(), DrawWinograd, ComputeWinograd);
}

// All tiles and output channels, so many of these at a time.
void ComputeInStrips(const WinogradVariant& variant, const WinogradProblem& p, std::int64_t strip) {
  const Winograd& job = p.job;
  const auto count = [](std::int64_t size, std::int64_t by) { return (size + by - 1) / by; };
  const Guarded<float> weights(p.weights), bias(p.bias), slopes(p.slopes);
  const Guarded<char> packed(PackedWinogradBytes(job));
  PackWinogradWeightsWith(*variant.table, job, weights.data(), packed.data());
  WinogradPart part;
  const std::int64_t factors = WinogradFactors(job.kind, job.in_channels);
  if (factors > 0) part.factors = reinterpret_cast<const float*>(packed.data());
  part.data = {p.source->data(),
               packed.data() + 4 * factors,
               p.has_bias ? bias.data() : nullptr,
               p.has_sum ? p.sum->data() : nullptr,
               p.destination->data(),
               p.has_slopes ? slopes.data() : nullptr};
  part.num_tiles = job.batch * count(job.out_height, WinogradShapeOf(job.kind).tile_height) *
                   count(job.out_width, WinogradShapeOf(job.kind).tile_width);
  part.num_channels = job.out_channels;
  part.tile_stride = count(job.in_channels, kWinogradBlock) * kWinogradBlock * count(part.num_tiles, 2) * 2;
  part.strip = strip;
  const std::int64_t products = WinogradShapeOf(job.kind).products(), element = 4 / WinogradPerUnit(job.kind);
  const std::int64_t sums = strip / kWinogradColumns * part.num_tiles * WinogradProductStride(products);
  const std::int64_t scales =
      WinogradMultipliesInt16(job.kind) ? products * count(job.in_channels, kWinogradChunk) * part.num_tiles : 0;
  const std::int64_t bytes = products * part.tile_stride * element + 4 * (scales + sums);
  const Guarded<char> scratch(static_cast<std::size_t>(count(bytes, 64) * 64));  // which begins at a multiple of 64
  variant.table->run[static_cast<int>(job.kind)](job, part, scratch.data());
}

TEST(Winograd, BitsDoNotDependOnStrips) {
  for (const WinogradVariant& variant : WinogradVariants()) {
    if (WinogradMultipliesBF16(variant.kind)) continue;  // one column at a time, always
    Draw draw(12);
    for (int i = 0; i < 30; ++i) {
      const WinogradProblem p = DrawWinograd(draw, variant);
      if (p.job.groups != 1 || p.job.stride > 0) continue;  // of which a part has one group, of one phase
      ComputeWinograd(variant, p, 1);
      const std::vector<char> expected = p.destination->bytes();
      for (const std::int64_t strip : {32, 64, 96}) {
        ComputeInStrips(variant, p, strip);
        EXPECT_EQ(p.destination->bytes(), expected) << NameOf(variant) << ", case " << i << ", strip " << strip;
      }
    }
  }
}

TEST(Winograd, AddsToItsDestination) {
  ExpectToAddToDestination(WinogradVariants(), DrawWinograd, ComputeWinogradInto, Results);
}

// One of arithmetic, and one of bits that are all set.
TEST(Winograd, ANaNStaysOne) {
  for (const WinogradVariant& variant : WinogradVariants()) {
    for (const float nan : {std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0xFFFFFFFFu)}) {
      Draw draw(11);
      WinogradProblem p = DrawWinograd(draw, variant);
      p.job.low = 0;
      p.job.high = 6;
      p.source->Set(p.source->IndexOf(0, 0, 0, 0, 0), nan);
      ComputeWinograd(variant, p, 1);
      EXPECT_TRUE(std::isnan(p.destination->Get(p.destination->IndexOf(0, 0, 0, 0, 0)))) << NameOf(variant);
    }
  }
}

// ---- fixed-point numbers ----

std::vector<WinogradVariant> IntegerVariants() {
  std::vector<WinogradVariant> variants = WinogradVariants();
  std::erase_if(variants, [](const WinogradVariant& v) { return !WinogradMultipliesInt16(v.kind); });
  return variants;
}

template <class F>
void SetImage(WinogradProblem* p, F&& f) {
  ForEachElement(SourceOf(p->job), [&](auto... at) { p->source->Set(p->source->IndexOf(at...), f(at...)); });
}

// All products of a sum have one sign and are as large as they can be: a sum of int32 that overflowed would be far off.
TEST(Winograd, SumsOfIntegersDoNotOverflow) {
  for (const WinogradVariant& variant : IntegerVariants()) {
    for (const std::int64_t channels : {1, 2, 16, 127, 128, 129, 600}) {
      for (const float sign : {1.0f, -1.0f}) {
        Draw draw(13);
        WinogradProblem p = SquareProblem(draw, variant, channels, 9);
        SetImage(&p, [&](auto...) { return 1.0f; });
        std::fill(p.weights.begin(), p.weights.end(), sign);
        ComputeWinograd(variant, p, 1);
        EXPECT_LE(RelativeError(p), WinogradBound(p)) << NameOf(variant) << ", " << channels << " channels";
        SetImage(&p, [&](auto, auto, auto, auto y, auto x) { return (x + y) % 2 == 0 ? 1.0f : -1.0f; });
        ComputeWinograd(variant, p, 1);
        EXPECT_LE(RelativeError(p), WinogradBound(p)) << NameOf(variant) << ", " << channels << " channels";
      }
    }
  }
}

// Scales follow the numbers: an image that is a power of two times as large gives the same bits but for the exponent.
TEST(Winograd, ScalesFollowTheImage) {
  for (const WinogradVariant& variant : IntegerVariants()) {
    Draw draw(14);
    WinogradProblem p = SquareProblem(draw, variant, 150, 10);
    ComputeWinograd(variant, p, 1);
    const std::vector<float> expected = Results(p, *p.destination);
    std::vector<float> source;
    SetImage(&p, [&](auto... at) {
      source.push_back(p.source->Get(p.source->IndexOf(at...)));
      return source.back();
    });
    for (const float factor : {0x1p-80f, 0x1p-20f, 0x1p60f}) {
      std::size_t i = 0;
      SetImage(&p, [&](auto...) { return source[i++] * factor; });
      ComputeWinograd(variant, p, 1);
      const std::vector<float> results = Results(p, *p.destination);
      for (std::size_t r = 0; r < results.size(); ++r) ASSERT_EQ(results[r], expected[r] * factor) << NameOf(variant);
    }
    SetImage(&p, [](auto...) { return 0.0f; });
    ComputeWinograd(variant, p, 1);
    for (const float result : Results(p, *p.destination)) ASSERT_EQ(result, 0) << NameOf(variant);
  }
}

// Channels that are large, with weights that are as much smaller, take no accuracy from the others.
TEST(Winograd, ChannelsMayDifferInSize) {
  for (const WinogradVariant& variant : IntegerVariants()) {
    Draw draw(16);
    WinogradProblem p = SquareProblem(draw, variant, 96, 10);
    const auto size_of = [](std::int64_t c) { return std::ldexp(1.3f, static_cast<int>(c % 7 * 5)); };
    SetImage(&p, [&](auto n, auto g, auto c, auto y, auto x) {
      return p.source->Get(p.source->IndexOf(n, g, c, y, x)) * size_of(c);
    });
    const std::int64_t window = WinogradShapeOf(variant.kind).window();
    for (std::size_t i = 0; i < p.weights.size(); ++i) {
      p.weights[i] /= size_of(static_cast<std::int64_t>(i) / window % 96);
    }
    ComputeWinograd(variant, p, 1);
    EXPECT_LE(RelativeError(p), WinogradBound(p)) << NameOf(variant);
  }
}

TEST(Winograd, WhatReadsAnInfinityIsNoNumber) {
  for (const WinogradVariant& variant : IntegerVariants()) {
    for (const bool in_weights : {false, true}) {
      Draw draw(15);
      WinogradProblem p = SquareProblem(draw, variant, 20, 8);
      if (in_weights) {
        p.weights[4] = kInfinity;
      } else {
        p.source->Set(p.source->IndexOf(0, 0, 0, 0, 0), kInfinity);
      }
      ComputeWinograd(variant, p, 1);
      EXPECT_FALSE(std::isfinite(p.destination->Get(p.destination->IndexOf(0, 0, 0, 0, 0)))) << NameOf(variant);
    }
  }
}

}  // namespace
}  // namespace amp::kernels
