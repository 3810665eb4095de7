// What our depthwise blocks gain: `depthwise_layers THREADS [NETWORK [BATCH]]` prints, for the blocks of some networks,
// the time of oneDNN's chain of convolutions (1x1 where the block expands, depthwise, 1x1) and of our one kernel, in
// float32 and, where there are instructions, in bfloat16. Memory is warm. Implementations take turns.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dnnl.hpp>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interleaved_calls.h"
#include "kernels/depthwise/fused_depthwise.h"
#include "layer_benchmark.h"

namespace {

using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;
using amp::kernels::ComputeType;

struct Layer {
  const char* network;
  std::int64_t in, channels, out, size, stride;  // in: 0 where the block does not expand; size: of the source
  int count;                                     // in the network
};

constexpr Layer kLayers[] = {
    {"mobilenetv2", 0, 32, 16, 112, 1, 1},   {"mobilenetv2", 16, 96, 24, 112, 2, 1},
    {"mobilenetv2", 24, 144, 24, 56, 1, 1},  {"mobilenetv2", 24, 144, 32, 56, 2, 1},
    {"mobilenetv2", 32, 192, 32, 28, 1, 2},  {"mobilenetv2", 32, 192, 64, 28, 2, 1},
    {"mobilenetv2", 64, 384, 64, 14, 1, 3},  {"mobilenetv2", 64, 384, 96, 14, 1, 1},
    {"mobilenetv2", 96, 576, 96, 14, 1, 2},  {"mobilenetv2", 96, 576, 160, 14, 2, 1},
    {"mobilenetv2", 160, 960, 160, 7, 1, 2}, {"mobilenetv2", 160, 960, 320, 7, 1, 1},
    {"mobilenet", 0, 32, 64, 112, 1, 1},     {"mobilenet", 0, 64, 128, 112, 2, 1},
    {"mobilenet", 0, 128, 128, 56, 1, 1},    {"mobilenet", 0, 128, 256, 56, 2, 1},
    {"mobilenet", 0, 256, 256, 28, 1, 1},    {"mobilenet", 0, 256, 512, 28, 2, 1},
    {"mobilenet", 0, 512, 512, 14, 1, 5},    {"mobilenet", 0, 512, 1024, 14, 2, 1},
    {"mobilenet", 0, 1024, 1024, 7, 1, 1},
};

// Memory of pages of its own, filled with zeros.
std::shared_ptr<char> Memory(std::size_t bytes) {
  const std::size_t size = (bytes + 4096) / 4096 * 4096;
  void* memory = std::aligned_alloc(4096, size);
  std::memset(memory, 0, size);
  return {static_cast<char*>(memory), std::free};
}

struct Window {
  std::int64_t kernel, stride, pad, groups;
};

dnnl::convolution_forward::primitive_desc Describe(const dnnl::engine& engine, const dnnl::memory::desc& source,
                                                   const dnnl::memory::desc& out, const Window& w, Type type) {
  const std::int64_t in = source.get_dims()[1], channels = out.get_dims()[1];
  const dnnl::memory::dims dims = w.groups > 1 ? dnnl::memory::dims{w.groups, 1, 1, w.kernel, w.kernel}
                                               : dnnl::memory::dims{channels, in, w.kernel, w.kernel};
  dnnl::post_ops ops;
  ops.append_eltwise(dnnl::algorithm::eltwise_clip, 0, 6);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  return {engine,
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          source,
          dnnl::memory::desc(dims, type, Tag::any),
          dnnl::memory::desc({channels}, Type::f32, Tag::a),
          out,
          {w.stride, w.stride},
          {w.pad, w.pad},
          {w.pad, w.pad},
          attributes};
}

Call Library(const Layer& l, std::int64_t batch, Type type) {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const std::int64_t out_size = (l.size + 2 - 3) / l.stride + 1;
  const auto image = [&](std::int64_t channels, std::int64_t size) {
    return dnnl::memory::desc({batch, channels, size, size}, type, Tag::nhwc);
  };
  std::vector<dnnl::memory::desc> images;
  if (l.in != 0) images.push_back(image(l.in, l.size));
  images.push_back(image(l.channels, l.size));
  images.push_back(image(l.channels, out_size));
  images.push_back(image(l.out, out_size));
  std::vector<Window> windows{{3, l.stride, 1, l.channels}, {1, 1, 0, 1}};
  if (l.in != 0) windows.insert(windows.begin(), {1, 1, 0, 1});
  std::vector<std::pair<dnnl::convolution_forward, std::unordered_map<int, dnnl::memory>>> chain;
  std::vector<dnnl::memory> memories;
  for (const auto& desc : images) memories.emplace_back(desc, engine);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto pd = Describe(engine, images[i], images[i + 1], windows[i], type);
    const dnnl::memory weights(pd.weights_desc(), engine), bias(pd.bias_desc(), engine);
    chain.push_back({dnnl::convolution_forward(pd),
                     {{DNNL_ARG_SRC, memories[i]},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_BIAS, bias},
                      {DNNL_ARG_DST, memories[i + 1]}}});
    for (auto& [arg, memory] : chain.back().second) {
      std::memset(memory.get_data_handle(), 0, memory.get_desc().get_size());
    }
  }
  return [chain, stream = dnnl::stream(engine)]() mutable {
    for (auto& [primitive, args] : chain) primitive.execute(stream, args);
  };
}

Call Own(const Layer& l, std::int64_t batch, bool is_bf16, ComputeType compute_type, int threads) {
  amp::kernels::FusedDepthwise job;
  const std::int64_t in = l.in == 0 ? l.channels : l.in;
  job.compute_type = compute_type;
  job.expands = l.in != 0;
  job.batch = batch;
  job.height = job.width = l.size;
  job.out_height = job.out_width = (l.size + 2 - 3) / l.stride + 1;
  job.in_channels = in;
  job.channels = l.channels;
  job.out_channels = l.out;
  job.stride = l.stride;
  job.pad_top = job.pad_left = 1;
  job.source = {is_bf16, l.size * l.size * in, l.size * in, in};
  job.sum = job.destination = {is_bf16, l.out};
  job.expanded = job.between = {0, 6};
  job.result = {0, 6};
  job.num_threads = threads;
  const std::size_t element = is_bf16 ? 2 : 4;
  const auto source = Memory(static_cast<std::size_t>(batch * job.source.batch) * element);
  const auto out = Memory(static_cast<std::size_t>(batch * job.out_height * job.out_width * l.out) * element);
  const auto expand = Memory(amp::kernels::PackedGemmBytes(job.Expansion()));
  const auto project = Memory(amp::kernels::PackedGemmBytes(job.Projection()));
  const auto weights = Memory(amp::kernels::PackedDepthwiseBytes(job));
  const auto bias = Memory(static_cast<std::size_t>(l.channels + l.out) * sizeof(float));
  const auto scratch = Memory(amp::kernels::FusedDepthwiseScratchBytes(job));
  return [=] {
    amp::kernels::FusedDepthwiseData data;
    data.source = source.get();
    data.expand_weights = expand.get();
    data.project_weights = project.get();
    data.weights = reinterpret_cast<const float*>(weights.get());
    data.expand_bias = data.bias = data.project_bias = reinterpret_cast<const float*>(bias.get());
    data.destination = out.get();
    amp::kernels::RunFusedDepthwise(job, data, scratch.get());
  };
}

struct Sums {
  double library = 0, own = 0;
};

// The library computes in float32 where a CPU has no bfloat16.
void Measure(const Layer& l, std::int64_t batch, int threads, bool is_bf16, Sums* sums) {
  std::vector<Call> calls{Library(l, batch, is_bf16 && amp::kernels::CpuHasBF16() ? Type::bf16 : Type::f32),
                          Own(l, batch, is_bf16, ComputeType::kFloat32, threads)};
  for (const ComputeType compute_type : {ComputeType::kBFloat16, ComputeType::kInt16}) {
    if (is_bf16 && amp::kernels::HasGemm(compute_type)) calls.push_back(Own(l, batch, true, compute_type, threads));
  }
  const std::vector<double> ms = Times(calls, 60);
  const double own = *std::min_element(ms.begin() + 1, ms.end());
  std::printf(" |");
  for (const double time : ms) std::printf(" %8.3f", time);
  std::printf(" (%4.2f)", ms[0] / own);
  sums->library += l.count * ms[0];
  sums->own += l.count * own;
}

void PrintNetwork(const std::string& network, std::int64_t batch, int threads) {
  std::printf("%s, batch %ld, %d threads\n", network.c_str(), batch, threads);
  Sums floats, halves;
  for (const Layer& l : kLayers) {
    if (network != l.network) continue;
    std::printf("%2ld %4ld %4ld %4ld %4ld /%ld x%d", batch, l.in, l.channels, l.out, l.size, l.stride, l.count);
    Measure(l, batch, threads, false, &floats);
    if (amp::kernels::HasGemm(amp::kernels::ComputeType::kInt16)) Measure(l, batch, threads, true, &halves);
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("sum: float32 %.3f %.3f (%.2f)", floats.library, floats.own, floats.library / floats.own);
  if (halves.own > 0)
    std::printf(", bfloat16 %.3f %.3f (%.2f)", halves.library, halves.own, halves.library / halves.own);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return PrintNetworks<Layer>(
      argc, argv, kLayers,
      "ms of oneDNN and ours; tensors in bfloat16: oneDNN, ours with products of float32, of bfloat16 "
      "where the CPU has them, and of int16",
      PrintNetwork);
}
