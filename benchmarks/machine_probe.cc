// What the machine can do at the moment: `machine_probe THREADS` prints one JSON object with the arithmetic peak in
// fp32 and bf16 (GFLOP/s), the bandwidth of memory (GB/s), all over THREADS threads, and a core-to-core round trip
// (ns).
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/base/peak.h"

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

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
  const amp::kernels::ArithmeticPeak peak = amp::kernels::MeasurePeak(threads);
  std::printf("{\"threads\": %d, \"fp32_gflops\": %.1f, \"bf16_gflops\": %.1f, ", threads, peak.fp32_gflops,
              peak.bf16_gflops);
  std::printf("\"triad_gbs\": %.1f, \"round_trip_ns\": %.0f}\n", TriadGbs(threads), RoundTripNs(threads));
}
