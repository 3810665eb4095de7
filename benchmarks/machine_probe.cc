// What the machine can do at the moment: `machine_probe THREADS` prints one JSON object with the arithmetic peak in
// fp32 and bf16 (GFLOP/s), the bandwidth of memory (GB/s), all over THREADS threads, and a core-to-core round trip
// (ns).
#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr int kChains = 12;  // independent accumulators: latency 4, two per cycle, and some more
constexpr int kInner = 1000;

// Each returns the floating point operations done. Accumulators are separate variables: arrays may spill.
#define EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

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

using Burst = double (*)(float* sink);

Burst Fp32Burst() {
  if (__builtin_cpu_supports("avx512f")) return Avx512Fma;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2Fma;
  return PlainMultiplyAdd;
}

// Without instructions for bfloat16 such models run in fp32.
Burst Bf16Burst() { return __builtin_cpu_supports("avx512bf16") ? Avx512Bf16 : Fp32Burst(); }

// The sum of work(thread) over all threads per second, each repeating for `seconds`; best of three.
double Rate(int threads, double seconds, const std::function<double(int)>& work) {
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::vector<double> rates(threads);
    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        double done = 0;
        const auto begin = Clock::now();
        do done += work(t);
        while (SecondsSince(begin) < seconds);
        rates[t] = done / SecondsSince(begin);
      });
    }
    for (std::thread& thread : crew) thread.join();
    double total = 0;
    for (const double rate : rates) total += rate;
    best = std::max(best, total);
  }
  return best;
}

double Gflops(int threads, Burst burst) {
  std::vector<std::vector<float>> sinks(threads, std::vector<float>(16 * kChains));
  return Rate(threads, 0.05, [&](int t) { return burst(sinks[t].data()); }) / 1e9;
}

// a = b + 3 c over arrays far larger than caches; three streams are counted.
double TriadGbs(int threads) {
  constexpr std::size_t kElements = std::size_t{1} << 24;
  std::vector<std::vector<float>> arrays(3 * threads, std::vector<float>(kElements, 1.0F));
  return Rate(threads, 0.05,
              [&](int t) {
                float* a = arrays[3 * t].data();
                const float* b = arrays[3 * t + 1].data();
                const float* c = arrays[3 * t + 2].data();
                for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + 3 * c[i];
                return 3.0 * sizeof(float) * kElements;
              }) /
         1e9;
}

// A counter handed to and fro between two threads for 50 ms; 0 where there is one thread.
double RoundTripNs(int threads) {
  if (threads < 2) return 0;
  std::atomic<int> ball{0};
  std::thread other([&] {
    for (int next = 1; next > 0; next += 2) {
      int now = ball.load(std::memory_order_acquire);
      for (; now != next && now >= 0; now = ball.load(std::memory_order_acquire)) _mm_pause();
      if (now < 0) return;
      ball.store(next + 1, std::memory_order_release);
    }
  });
  int trips = 0;
  const auto begin = Clock::now();
  do {
    ball.store(2 * trips + 1, std::memory_order_release);
    while (ball.load(std::memory_order_acquire) != 2 * trips + 2) _mm_pause();
    ++trips;
  } while (SecondsSince(begin) < 0.05);
  const double seconds = SecondsSince(begin);
  ball.store(-1, std::memory_order_release);
  other.join();
  return seconds / trips * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: machine_probe THREADS\n");
    return 2;
  }
  std::printf(
      "{\"threads\": %d, \"fp32_gflops\": %.1f, \"bf16_gflops\": %.1f, \"triad_gbs\": %.1f, \"round_trip_ns\": %.0f}\n",
      threads, Gflops(threads, Fp32Burst()), Gflops(threads, Bf16Burst()), TriadGbs(threads), RoundTripNs(threads));
}
