// What our 1x1 convolutions gain: `gemm_layers THREADS [NETWORK [BATCH]]` prints, for 1x1 layers of some networks,
// the time of oneDNN's convolution and of our kernel with bias and relu, and with a sum before the relu, how much
// of the bound they reach without it; then our kernel's by Strassen's algorithm, over the plain one's. The bound is the
// longer of the arithmetic at its peak and of a pass over all operands without arithmetic. Weights are cold: each call
// takes the next of so many copies that caches do not hold them. Implementations take turns.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interleaved_calls.h"
#include "kernels/base/peak.h"
#include "kernels/gemm/gemm.h"
#include "layer_benchmark.h"

namespace {

using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;
using amp::kernels::ComputeType;

constexpr ComputeType kAll[] = {ComputeType::kFloat32, ComputeType::kBFloat16, ComputeType::kInt16};

struct Layer {
  const char* network;
  std::int64_t in, size, out, stride;  // size: of the result
  int count;                           // in the network
};

constexpr Layer kLayers[] = {
    {"resnet50", 64, 56, 64, 1, 1},     {"resnet50", 64, 56, 256, 1, 4},     {"resnet50", 256, 56, 64, 1, 2},
    {"resnet50", 256, 28, 128, 2, 1},   {"resnet50", 256, 28, 512, 2, 1},    {"resnet50", 128, 28, 512, 1, 4},
    {"resnet50", 512, 28, 128, 1, 3},   {"resnet50", 512, 14, 256, 2, 1},    {"resnet50", 512, 14, 1024, 2, 1},
    {"resnet50", 256, 14, 1024, 1, 6},  {"resnet50", 1024, 14, 256, 1, 5},   {"resnet50", 1024, 7, 512, 2, 1},
    {"resnet50", 1024, 7, 2048, 2, 1},  {"resnet50", 512, 7, 2048, 1, 3},    {"resnet50", 2048, 7, 512, 1, 2},
    {"mobilenetv2", 32, 112, 32, 1, 1}, {"mobilenetv2", 32, 112, 16, 1, 1},  {"mobilenetv2", 16, 112, 96, 1, 1},
    {"mobilenetv2", 96, 56, 24, 1, 1},  {"mobilenetv2", 24, 56, 144, 1, 2},  {"mobilenetv2", 144, 56, 24, 1, 1},
    {"mobilenetv2", 144, 28, 32, 1, 1}, {"mobilenetv2", 32, 28, 192, 1, 3},  {"mobilenetv2", 192, 28, 32, 1, 2},
    {"mobilenetv2", 192, 14, 64, 1, 1}, {"mobilenetv2", 64, 14, 384, 1, 4},  {"mobilenetv2", 384, 14, 64, 1, 3},
    {"mobilenetv2", 384, 14, 96, 1, 1}, {"mobilenetv2", 96, 14, 576, 1, 3},  {"mobilenetv2", 576, 14, 96, 1, 2},
    {"mobilenetv2", 576, 7, 160, 1, 1}, {"mobilenetv2", 160, 7, 960, 1, 3},  {"mobilenetv2", 960, 7, 160, 1, 2},
    {"mobilenetv2", 960, 7, 320, 1, 1}, {"mobilenetv2", 320, 7, 1280, 1, 1}, {"densenet", 64, 56, 128, 1, 1},
    {"densenet", 160, 56, 128, 1, 3},   {"densenet", 224, 56, 128, 1, 2},    {"densenet", 256, 56, 128, 1, 1},
    {"densenet", 128, 28, 128, 1, 2},   {"densenet", 256, 28, 128, 1, 4},    {"densenet", 416, 28, 128, 1, 6},
    {"densenet", 512, 28, 256, 1, 1},   {"densenet", 256, 14, 128, 1, 6},    {"densenet", 512, 14, 128, 1, 8},
    {"densenet", 864, 14, 128, 1, 10},  {"densenet", 1024, 14, 512, 1, 1},   {"densenet", 640, 7, 128, 1, 8},
    {"densenet", 864, 7, 128, 1, 8},    {"inception", 64, 73, 80, 1, 1},     {"inception", 192, 35, 64, 1, 2},
    {"inception", 256, 35, 64, 1, 3},   {"inception", 288, 35, 64, 1, 4},    {"inception", 288, 35, 48, 1, 2},
    {"inception", 768, 17, 192, 1, 10}, {"inception", 768, 17, 128, 1, 2},   {"inception", 768, 17, 160, 1, 4},
    {"inception", 1280, 8, 320, 1, 1},  {"inception", 1280, 8, 448, 1, 1},   {"inception", 2048, 8, 384, 1, 1},
    {"inception", 2048, 8, 448, 1, 1},  {"inception", 2048, 8, 320, 1, 1},   {"inception", 2048, 8, 192, 1, 1},
    {"bert", 768, 8, 2304, 1, 12},      {"bert", 768, 8, 768, 1, 12},        {"bert", 768, 8, 3072, 1, 12},
    {"bert", 3072, 8, 768, 1, 12},
};

constexpr std::size_t kCold = std::size_t{96} << 20;
constexpr int kMaxCopies = 64;

int Copies(std::size_t bytes) { return static_cast<int>(std::clamp<std::size_t>(kCold / bytes, 2, kMaxCopies)); }

// Memory of pages of its own.
std::shared_ptr<char> Memory(std::size_t bytes) {
  const std::size_t size = (bytes + 4095) / 4096 * 4096;
  void* memory = std::aligned_alloc(4096, size);
  std::memset(memory, 0, size);
  return {static_cast<char*>(memory), std::free};
}

Call Library(const Layer& l, std::int64_t batch, Type type, bool sums) {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const std::int64_t in_size = (l.size - 1) * l.stride + 1;
  const dnnl::memory::desc source({batch, l.in, in_size, in_size}, type, Tag::nhwc);
  const dnnl::memory::desc out({batch, l.out, l.size, l.size}, type, Tag::nhwc);
  const dnnl::memory::desc weights({l.out, l.in, 1, 1}, type, Tag::any), bias({l.out}, Type::f32, Tag::a);
  dnnl::post_ops ops;
  if (sums) ops.append_sum(1);
  ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc pd(engine, dnnl::prop_kind::forward_inference,
                                                     dnnl::algorithm::convolution_direct, source, weights, bias, out,
                                                     {l.stride, l.stride}, {0, 0}, {0, 0}, attributes);
  const std::size_t bytes = pd.weights_desc().get_size();
  std::vector<dnnl::memory> all;
  for (int i = Copies(bytes); i > 0; --i) {
    all.emplace_back(pd.weights_desc(), engine);
    std::memset(all.back().get_data_handle(), 0, bytes);
  }
  std::unordered_map<int, dnnl::memory> args{{DNNL_ARG_SRC, dnnl::memory(source, engine)},
                                             {DNNL_ARG_BIAS, dnnl::memory(bias, engine)},
                                             {DNNL_ARG_DST, dnnl::memory(out, engine)}};
  for (auto& [arg, memory] : args) std::memset(memory.get_data_handle(), 0, memory.get_desc().get_size());
  return [primitive = dnnl::convolution_forward(pd), all, args, stream = dnnl::stream(engine),
          next = std::size_t{0}]() mutable {
    args[DNNL_ARG_WEIGHTS] = all[next++ % all.size()];
    primitive.execute(stream, args);
  };
}

Call Own(const Layer& l, std::int64_t batch, ComputeType compute_type, bool sums, int threads, bool strassen = false) {
  amp::kernels::Gemm job;
  job.strassen = strassen;
  const std::int64_t in_size = (l.size - 1) * l.stride + 1;
  const bool is_bf16 = compute_type != ComputeType::kFloat32;
  job.compute_type = compute_type;
  job.batch = batch;
  job.height = job.width = l.size;
  job.in_channels = l.in;
  job.out_channels = l.out;
  job.source = {is_bf16, in_size * in_size * l.in, in_size * l.in * l.stride, l.in * l.stride};
  job.sum = job.destination = {is_bf16, l.out};
  job.high = std::numeric_limits<float>::infinity();
  job.num_threads = threads;
  const std::size_t bytes = amp::kernels::PackedGemmBytes(job), element = is_bf16 ? 2 : 4;
  std::vector<std::shared_ptr<char>> weights;
  for (int i = Copies(bytes); i > 0; --i) weights.push_back(Memory(bytes));
  const auto source = Memory(static_cast<std::size_t>(batch * job.source.batch) * element);
  const auto out = Memory(static_cast<std::size_t>(job.rows() * l.out) * element);
  const auto bias = Memory(static_cast<std::size_t>(l.out) * sizeof(float));
  const auto scratch = Memory(amp::kernels::GemmScratchBytes(job));
  return [=, next = std::size_t{0}]() mutable {
    amp::kernels::GemmData data;
    data.source = source.get();
    data.weights = weights[next++ % weights.size()].get();
    data.bias = reinterpret_cast<const float*>(bias.get());
    data.destination = out.get();
    if (sums) data.sum = out.get();
    amp::kernels::RunGemm(job, data, scratch.get());
  };
}

volatile std::uint64_t sink;

// One number of each line.
void Read(const char* from, std::size_t bytes) {
  std::uint64_t sum = 0, number = 0;
  for (std::size_t i = 0; i + sizeof number <= bytes; i += 64) {
    std::memcpy(&number, from + i, sizeof number);
    sum |= number;
  }
  sink = sum;
}

// Everything read and written once, by all threads.
Call Pass(const Layer& l, std::int64_t batch, std::size_t element, int threads) {
  const std::size_t in = static_cast<std::size_t>(batch * l.size * l.size * l.in) * element;
  const std::size_t out = static_cast<std::size_t>(batch * l.size * l.size * l.out) * element;
  const std::size_t bytes = static_cast<std::size_t>(l.in * l.out) * element;
  std::vector<std::shared_ptr<char>> weights;
  for (int i = Copies(bytes); i > 0; --i) weights.push_back(Memory(bytes));
  return [=, source = Memory(in), result = Memory(out), next = std::size_t{0}]() mutable {
    const char* w = weights[next++ % weights.size()].get();
    const auto parts = static_cast<std::size_t>(threads) * 4;
    amp::kernels::ParallelFor(threads * 4, 1, [&](std::int64_t i) {
      const auto p = static_cast<std::size_t>(i);
      Read(w + bytes / parts * p, bytes / parts);
      constexpr std::size_t kRow = 8192;  // reads and writes take turns
      const std::size_t rows = std::max<std::size_t>(1, std::max(in, out) / parts / kRow);
      for (std::size_t r = 0; r < rows; ++r) {
        Read(source.get() + in / parts * p + in / parts / rows * r, in / parts / rows);
        std::memset(result.get() + out / parts * p + out / parts / rows * r, static_cast<int>(r), out / parts / rows);
      }
    });
  };
}

constexpr int kTimes = 5;  // oneDNN, ours, both with a sum, ours by Strassen's algorithm, where there is code

struct Sums {
  double ms[kTimes] = {}, bound = 0;
};

void Print(const double* ms, double bound) {
  std::printf(" | %8.3f %8.3f (%4.2f) %8.3f %8.3f (%4.2f) %3.0f%% %3.0f%%", ms[0], ms[1], ms[0] / ms[1], ms[2], ms[3],
              ms[2] / ms[3], 100 * bound / ms[0], 100 * bound / ms[1]);
  if (ms[4] > 0) std::printf(" S %8.3f (%4.2f)", ms[4], ms[4] / ms[1]);
}

// What is not float32 has sources and results in bfloat16, but in oneDNN on a CPU without it.
void Measure(const Layer& l, std::int64_t batch, int threads, ComputeType compute_type, double peak, Sums* sums) {
  const bool is_bf16 = compute_type != ComputeType::kFloat32;
  const Type type = is_bf16 && amp::kernels::CpuHasBF16() ? Type::bf16 : Type::f32;
  std::vector<Call> calls{Pass(l, batch, is_bf16 ? 2 : 4, threads), Library(l, batch, type, false),
                          Own(l, batch, compute_type, false, threads), Library(l, batch, type, true),
                          Own(l, batch, compute_type, true, threads)};
  const bool has_strassen = compute_type != ComputeType::kBFloat16;
  if (has_strassen) calls.push_back(Own(l, batch, compute_type, false, threads, true));
  std::vector<double> ms = Times(calls, 60);
  const double flops = 2e-6 * static_cast<double>(batch * l.size * l.size * l.in * l.out);
  const double bound = std::max(flops / peak, ms[0]);
  ms.erase(ms.begin());
  ms.resize(kTimes);
  Print(ms.data(), bound);
  for (int i = 0; i < kTimes; ++i) sums->ms[i] += l.count * ms[static_cast<std::size_t>(i)];
  sums->bound += l.count * bound;
}

void PrintNetwork(const std::string& network, std::int64_t batch, int threads) {
  const amp::kernels::ArithmeticPeak peak = amp::kernels::MeasurePeak(threads);
  std::printf("%s, batch %ld, %d threads; peaks %.0f and %.0f GFLOP/s\n", network.c_str(), batch, threads,
              peak.fp32_gflops, peak.bf16_gflops);
  Sums sums[amp::kernels::kNumComputeTypes];
  const double peaks[] = {peak.fp32_gflops, peak.bf16_gflops, 2 * peak.fp32_gflops};
  for (const Layer& layer : kLayers) {
    if (network != layer.network) continue;
    std::printf("%2ld %4ld %3ld %4ld /%ld x%-2d", batch, layer.in, layer.size, layer.out, layer.stride, layer.count);
    for (const ComputeType compute_type : kAll) {
      const auto i = static_cast<std::size_t>(compute_type);
      if (amp::kernels::HasGemm(compute_type)) Measure(layer, batch, threads, compute_type, peaks[i], &sums[i]);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("sum                      ");
  for (const Sums& of : sums) {
    if (of.bound > 0) Print(of.ms, of.bound);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return PrintNetworks<Layer>(
      argc, argv, kLayers,
      "ms of oneDNN and ours, the same with a sum, how much of the bound both reach, S: ours by "
      "Strassen's algorithm; float32 | bfloat16 | int16",
      PrintNetwork);
}
