// What Winograd convolutions gain: `winograd_layers THREADS [NETWORK]` prints, for 3x3 layers of stride 1 of some
// networks, the time of oneDNN's direct convolution and of each of our kernels, with bias and relu. Weights are cold:
// each call takes the next of so many copies that caches do not hold them. Implementations take turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "dnnl/intercept_openmp.h"
#include "interleaved_calls.h"
#include "kernels/base/cpu.h"
#include "kernels/threads/parallel.h"
#include "kernels/winograd/winograd.h"

namespace {

using amp::kernels::Winograd;
using amp::kernels::WinogradKind;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

struct Layer {
  const char* network;
  std::int64_t batch, in, size, out;
  int count;  // in the network
};

constexpr Layer kLayers[] = {
    {"resnet50", 1, 64, 56, 64, 3},       {"resnet50", 1, 128, 28, 128, 4},     {"resnet50", 1, 256, 14, 256, 6},
    {"resnet50", 1, 512, 7, 512, 3},      {"resnet50_16", 16, 64, 56, 64, 3},   {"resnet50_16", 16, 128, 28, 128, 4},
    {"resnet50_16", 16, 256, 14, 256, 6}, {"resnet50_16", 16, 512, 7, 512, 3},  {"vgg16", 1, 64, 224, 64, 1},
    {"vgg16", 1, 64, 112, 128, 1},        {"vgg16", 1, 128, 112, 128, 1},       {"vgg16", 1, 128, 56, 256, 1},
    {"vgg16", 1, 256, 56, 256, 2},        {"vgg16", 1, 256, 28, 512, 1},        {"vgg16", 1, 512, 28, 512, 2},
    {"vgg16", 1, 512, 14, 512, 3},        {"vgg16_16", 16, 64, 224, 64, 1},     {"vgg16_16", 16, 256, 56, 256, 2},
    {"vgg16_16", 16, 512, 28, 512, 2},    {"vgg16_16", 16, 512, 14, 512, 3},    {"inception", 1, 32, 149, 64, 1},
    {"inception", 1, 64, 35, 96, 4},      {"inception", 1, 96, 35, 96, 3},      {"inception", 1, 448, 8, 384, 2},
    {"inception_16", 16, 64, 35, 96, 4},  {"inception_16", 16, 448, 8, 384, 2}, {"densenet", 1, 128, 56, 32, 6},
    {"densenet", 1, 128, 28, 32, 12},     {"densenet", 1, 128, 14, 32, 24},     {"densenet", 1, 128, 7, 32, 16},
    {"densenet_16", 16, 128, 56, 32, 6},  {"densenet_16", 16, 128, 14, 32, 24},
};

constexpr std::size_t kCold = std::size_t{96} << 20;
constexpr int kMaxCopies = 64;

int Copies(std::size_t bytes) { return static_cast<int>(std::clamp<std::size_t>(kCold / bytes, 2, kMaxCopies)); }

// Memory of pages of its own.
std::shared_ptr<char> Memory(std::size_t bytes) {
  void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  std::memset(memory, 0, bytes);
  return {static_cast<char*>(memory), std::free};
}

Call Direct(const Layer& l, Type type) {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc source({l.batch, l.in, l.size, l.size}, type, Tag::nhwc);
  const dnnl::memory::desc out({l.batch, l.out, l.size, l.size}, type, Tag::nhwc);
  const dnnl::memory::desc weights({l.out, l.in, 3, 3}, type, Tag::any), bias({l.out}, Type::f32, Tag::a);
  dnnl::post_ops ops;
  ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc pd(engine, dnnl::prop_kind::forward_inference,
                                                     dnnl::algorithm::convolution_direct, source, weights, bias, out,
                                                     {1, 1}, {1, 1}, {1, 1}, attributes);
  const std::size_t bytes = pd.weights_desc().get_size();
  const auto copies = Copies(bytes);
  std::vector<dnnl::memory> all;
  for (int i = 0; i < copies; ++i) {
    all.emplace_back(pd.weights_desc(), engine);
    std::memset(all.back().get_data_handle(), 0, bytes);
  }
  std::unordered_map<int, dnnl::memory> args{{DNNL_ARG_SRC, dnnl::memory(source, engine)},
                                             {DNNL_ARG_BIAS, dnnl::memory(bias, engine)},
                                             {DNNL_ARG_DST, dnnl::memory(out, engine)}};
  std::memset(args[DNNL_ARG_SRC].get_data_handle(), 0, source.get_size());
  std::memset(args[DNNL_ARG_BIAS].get_data_handle(), 0, bias.get_size());
  return [primitive = dnnl::convolution_forward(pd), all, args, stream = dnnl::stream(engine), next = 0]() mutable {
    args[DNNL_ARG_WEIGHTS] = all[next++ % static_cast<int>(all.size())];
    primitive.execute(stream, args);
  };
}

Call Own(const Layer& l, WinogradKind kind, bool is_bf16, int threads) {
  Winograd job;
  job.kind = kind;
  job.batch = l.batch;
  job.in_channels = l.in;
  job.out_channels = l.out;
  job.in_height = job.in_width = job.out_height = job.out_width = l.size;
  job.pad_top = job.pad_left = 1;
  job.source = {is_bf16, l.size * l.size * l.in, 0, 16, l.size * l.in, l.in};
  job.destination = {is_bf16, l.size * l.size * l.out, 0, 16, l.size * l.out, l.out};
  job.high = std::numeric_limits<float>::infinity();
  job.num_threads = threads;
  const std::size_t bytes = amp::kernels::PackedWinogradBytes(job);
  std::vector<std::shared_ptr<char>> weights;
  for (int i = Copies(bytes); i > 0; --i) weights.push_back(Memory(bytes));
  const std::size_t element = is_bf16 ? 2 : 4;
  const auto source = Memory(static_cast<std::size_t>(l.batch * job.source.batch) * element);
  const auto out = Memory(static_cast<std::size_t>(l.batch * job.destination.batch) * element);
  const auto bias = Memory(static_cast<std::size_t>(l.out) * sizeof(float));
  const auto scratch = Memory(amp::kernels::WinogradScratchBytes(job));
  return [=, next = std::size_t{0}]() mutable {
    amp::kernels::WinogradData data;
    data.source = source.get();
    data.weights = weights[next++ % weights.size()].get();
    data.bias = reinterpret_cast<const float*>(bias.get());
    data.destination = out.get();
    amp::kernels::RunWinograd(job, data, scratch.get());
  };
}

std::vector<double> Measure(const Layer& layer, int threads) {
  std::vector<Call> calls{Direct(layer, Type::f32), Own(layer, WinogradKind::kF4x4, false, threads),
                          Own(layer, WinogradKind::kF2x2, false, threads)};
  if (amp::kernels::CpuHasBF16()) {
    calls.push_back(Direct(layer, Type::bf16));
    calls.push_back(Own(layer, WinogradKind::kF4x4, true, threads));
  }
  if (amp::kernels::HasWinograd(WinogradKind::kF4x4Int16)) {
    for (const WinogradKind kind : {WinogradKind::kF4x4Int16, WinogradKind::kF4x2Int16, WinogradKind::kF2x2Int16}) {
      calls.push_back(Own(layer, kind, true, threads));
    }
  }
  if (amp::kernels::HasWinograd(WinogradKind::kF1x4BF16))
    calls.push_back(Own(layer, WinogradKind::kF1x4BF16, true, threads));
  return Times(calls, 250);
}

void Print(const Layer& l, const std::vector<double>& ms) {
  std::printf("%-13s %2ld %3ld %3ld %3ld | %8.3f %8.3f (%4.2f) %8.3f (%4.2f)", l.network, l.batch, l.in, l.size, l.out,
              ms[0], ms[1], ms[0] / ms[1], ms[2], ms[0] / ms[2]);
  if (ms.size() > 3) std::printf(" | %8.3f", ms[3]);
  for (std::size_t i = 4; i < ms.size(); ++i) std::printf("  %8.3f (%4.2f)", ms[i], ms[3] / ms[i]);
  std::printf("\n");
  std::fflush(stdout);
}

void PrintSums(const std::string& network, int threads) {
  std::vector<double> sums;
  Layer total{network.c_str(), 0, 0, 0, 0, 1};
  for (const Layer& layer : kLayers) {
    if (network != layer.network) continue;
    const std::vector<double> ms = Measure(layer, threads);
    Print(layer, ms);
    sums.resize(ms.size());
    for (std::size_t i = 0; i < ms.size(); ++i) sums[i] += layer.count * ms[i];
    total.batch = layer.batch;
  }
  if (!sums.empty()) Print(total, sums);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: winograd_layers THREADS [NETWORK]\n");
    return 2;
  }
  amp::onednn::InterceptOpenMp();
  const amp::kernels::ThreadScope scope(threads);
  std::printf(
      "ms; float32: direct, F(4x4), F(2x2) | bfloat16 images: direct, F(4x4) in float32, F(4x4), F(4x2), F(2x2) in "
      "int16\n");
  std::string last;
  for (const Layer& layer : kLayers) {
    if (layer.network == last) continue;
    last = layer.network;
    if (argc <= 2 || last == argv[2]) PrintSums(last, threads);
  }
}
