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
#define EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

using Burst = double (*)(float* sink);

double PlainMultiplyAdd(float* sink) {
#define DECLARE(i) float c##i = i;
  EACH_CHAIN(DECLARE)
#undef DECLARE
  for (int n = 0; n < kInner; ++n) {
#define STEP(i) c##i = c##i * 0.999F + 1e-6F;
    EACH_CHAIN(STEP)
#undef STEP
  }
#define STORE(i) sink[i] = c##i;
  EACH_CHAIN(STORE)
#undef STORE
  return 2.0 * kChains * kInner;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double Avx512Fma(float* sink) {
  const __m512 a = _mm512_set1_ps(0.999F), b = _mm512_set1_ps(1e-6F);
#define DECLARE(i) __m512 c##i = _mm512_set1_ps(i);
  EACH_CHAIN(DECLARE)
#undef DECLARE
  for (int n = 0; n < kInner; ++n) {
#define STEP(i) c##i = _mm512_fmadd_ps(c##i, a, b);
    EACH_CHAIN(STEP)
#undef STEP
  }
#define STORE(i) _mm512_storeu_ps(sink + 16 * (i), c##i);
  EACH_CHAIN(STORE)
#undef STORE
  return 2.0 * 16 * kChains * kInner;
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) double Avx512Bf16(float* sink) {
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3c003c00);
#define DECLARE(i) __m512 c##i = _mm512_set1_ps(i);
  EACH_CHAIN(DECLARE)
#undef DECLARE
  for (int n = 0; n < kInner; ++n) {
#define STEP(i) c##i = _mm512_dpbf16_ps(c##i, a, a);
    EACH_CHAIN(STEP)
#undef STEP
  }
#define STORE(i) _mm512_storeu_ps(sink + 16 * (i), c##i);
  EACH_CHAIN(STORE)
#undef STORE
  return 4.0 * 16 * kChains * kInner;
}

__attribute__((target("avx2,fma"))) double Avx2Fma(float* sink) {
  const __m256 a = _mm256_set1_ps(0.999F), b = _mm256_set1_ps(1e-6F);
#define DECLARE(i) __m256 c##i = _mm256_set1_ps(i);
  EACH_CHAIN(DECLARE)
#undef DECLARE
  for (int n = 0; n < kInner; ++n) {
#define STEP(i) c##i = _mm256_fmadd_ps(c##i, a, b);
    EACH_CHAIN(STEP)
#undef STEP
  }
#define STORE(i) _mm256_storeu_ps(sink + 8 * (i), c##i);
  EACH_CHAIN(STORE)
#undef STORE
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
