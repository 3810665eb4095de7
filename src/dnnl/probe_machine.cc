#include "dnnl/probe_machine.h"

#include <algorithm>
#include <cstring>
#include <dnnl.hpp>
#include <vector>

#include "dnnl/clock.h"
#include "dnnl/cpu_info.h"
#include "dnnl/engine.h"
#include "kernels/threads/parallel.h"

namespace amp {
namespace {

using onednn::Clock;

constexpr std::int64_t kSize = 512;           // of the matrices: 3 MB, and 0.3 GFLOP
constexpr std::size_t kCopyBytes = 16 << 20;  // per side
constexpr int kRepetitions = 4;
constexpr double kSteady = 1.25;                         // the second best against the best
constexpr auto kBudget = std::chrono::milliseconds(14);  // of one measurement of three

struct Timing {
  double best = 1e9, second = 1e9;  // seconds
  void Add(double seconds) {
    second = std::min(second, std::max(best, seconds));
    best = std::min(best, seconds);
  }
};

// The first call, which finds nothing prepared, does not count.
template <class Work>
Timing TimeOf(Work work) {
  Timing timing;
  const auto end = Clock::now() + kBudget;
  work();
  for (int i = 0; i < kRepetitions && (i < 2 || Clock::now() < end); ++i) {
    const auto begin = Clock::now();
    work();
    timing.Add(onednn::SecondsSince(begin));
  }
  return timing;
}

Timing TimeProduct(dnnl::memory::data_type dtype) {
  const dnnl::memory::desc desc({kSize, kSize}, dtype, dnnl::memory::format_tag::ab);
  const dnnl::engine& engine = onednn::CpuEngine();
  dnnl::stream stream(engine);
  dnnl::primitive_attr attr;
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  const dnnl::matmul product(dnnl::matmul::primitive_desc(engine, desc, desc, desc, attr));
  std::vector<dnnl::memory> memories;
  for (int i = 0; i < 3; ++i) {
    memories.emplace_back(desc, engine);
    std::memset(memories.back().get_data_handle(), 0, desc.get_size());
  }
  return TimeOf([&] {
    product.execute(stream,
                    {{DNNL_ARG_SRC, memories[0]}, {DNNL_ARG_WEIGHTS, memories[1]}, {DNNL_ARG_DST, memories[2]}});
    stream.wait();
  });
}

}  // namespace

MachineProbe ProbeMachine(int num_threads) {
  const kernels::ThreadScope threads(num_threads);
  constexpr double kFlops = 2.0 * kSize * kSize * kSize;
  MachineProbe probe;
  const Timing float32 = TimeProduct(dnnl::memory::data_type::f32);
  probe.float32_flops = kFlops / float32.best;
  probe.is_steady = float32.second < kSteady * float32.best;
  if (OneDnnHasBF16()) {
    const Timing bfloat16 = TimeProduct(dnnl::memory::data_type::bf16);
    probe.bfloat16_flops = kFlops / bfloat16.best;
    probe.is_steady = probe.is_steady && bfloat16.second < kSteady * bfloat16.best;
  }
  std::vector<char> from(kCopyBytes), to(kCopyBytes);
  const Timing copy = TimeOf([&] { std::memcpy(to.data(), from.data(), kCopyBytes); });
  probe.bytes_per_second = 2.0 * kCopyBytes / copy.best;
  return probe;
}

}  // namespace amp
