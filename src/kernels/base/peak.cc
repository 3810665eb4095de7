#include "kernels/base/peak.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Functions for one instruction set carry it as an attribute: none of them is more than a loop of one instruction.
namespace amp::kernels {
namespace {

constexpr int kChains = 12;  // independent accumulators: latency 4, two per cycle, and some more
constexpr int kInner = 1000;

// Each returns the floating point operations done. Accumulators are separate variables: arrays may spill.
// clang-format off
#define EACH_CHAIN(X, ...) \
  X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(5, __VA_ARGS__) \
  X(6, __VA_ARGS__) X(7, __VA_ARGS__) X(8, __VA_ARGS__) X(9, __VA_ARGS__) X(10, __VA_ARGS__) X(11, __VA_ARGS__)
// clang-format on
#define START_CHAIN(i, all) auto c##i = all(i);
#define STEP_CHAIN(i, step, a, b) c##i = step(c##i, a, b);
#define STORE_CHAIN(i, store, lanes) store(sink + lanes * (i), c##i);
// c = step(c, a, b) in all chains; lanes of a vector, its constructor and its store.
#define RUN_CHAINS(lanes, all, store, step, a, b) \
  EACH_CHAIN(START_CHAIN, all)                    \
  for (int n = 0; n < kInner; ++n) {              \
    EACH_CHAIN(STEP_CHAIN, step, a, b)            \
  }                                               \
  EACH_CHAIN(STORE_CHAIN, store, lanes)

using Burst = double (*)(float* sink);

float MultiplyAdd(float c, float a, float b) { return c * a + b; }
void StoreOne(float* to, float x) { *to = x; }

double PlainMultiplyAdd(float* sink) {
  RUN_CHAINS(1, static_cast<float>, StoreOne, MultiplyAdd, 0.999F, 1e-6F)
  return 2.0 * kChains * kInner;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double Avx512Fma(float* sink) {
  const __m512 a = _mm512_set1_ps(0.999F), b = _mm512_set1_ps(1e-6F);
  RUN_CHAINS(16, _mm512_set1_ps, _mm512_storeu_ps, _mm512_fmadd_ps, a, b)
  return 2.0 * 16 * kChains * kInner;
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) double Avx512Bf16(float* sink) {
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3c003c00);
  RUN_CHAINS(16, _mm512_set1_ps, _mm512_storeu_ps, _mm512_dpbf16_ps, a, a)
  return 4.0 * 16 * kChains * kInner;
}

__attribute__((target("avx2,fma"))) double Avx2Fma(float* sink) {
  const __m256 a = _mm256_set1_ps(0.999F), b = _mm256_set1_ps(1e-6F);
  RUN_CHAINS(8, _mm256_set1_ps, _mm256_storeu_ps, _mm256_fmadd_ps, a, b)
  return 2.0 * 8 * kChains * kInner;
}

Burst Fp32Burst() {
  if (__builtin_cpu_supports("avx512f")) return Avx512Fma;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2Fma;
  return PlainMultiplyAdd;
}

// Without instructions for bfloat16 such models run in fp32.
Burst Bf16Burst() { return __builtin_cpu_supports("avx512bf16") ? Avx512Bf16 : Fp32Burst(); }

#else

Burst Fp32Burst() { return PlainMultiplyAdd; }
Burst Bf16Burst() { return PlainMultiplyAdd; }

#endif

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr double kSeconds = 0.05;

// Operations per second of one thread.
double Rate(Burst burst) {
  std::vector<float> sink(16 * kChains);
  double done = 0;
  const auto begin = Clock::now();
  do done += burst(sink.data());
  while (SecondsSince(begin) < kSeconds);
  return done / SecondsSince(begin);
}

double RateOfAll(int threads, Burst burst) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::thread> crew;
  for (double& rate : rates) crew.emplace_back([&rate, burst] { rate = Rate(burst); });
  for (std::thread& thread : crew) thread.join();
  double total = 0;
  for (const double rate : rates) total += rate;
  return total;
}

// The best of three: other programs can only make it slower.
double Gflops(int threads, Burst burst) {
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) best = std::max(best, RateOfAll(threads, burst));
  return best / 1e9;
}

}  // namespace

ArithmeticPeak MeasurePeak(int threads) { return {Gflops(threads, Fp32Burst()), Gflops(threads, Bf16Burst())}; }

}  // namespace amp::kernels
