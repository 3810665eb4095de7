// Times of calls that take turns.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

using Call = std::function<void()>;

inline double Milliseconds(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

inline double Median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// The median of each call, in milliseconds: five rounds, and more until all calls took so long together.
inline std::vector<double> Times(const std::vector<Call>& calls, double milliseconds_of_all) {
  std::vector<std::vector<double>> times(calls.size());
  for (const Call& call : calls) Milliseconds(call);
  double total = 0;
  for (int round = 0; round < 5 || (total < milliseconds_of_all && round < 200); ++round) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      times[i].push_back(Milliseconds(calls[i]));
      total += times[i].back();
    }
  }
  std::vector<double> medians;
  for (auto& of_call : times) medians.push_back(Median(of_call));
  return medians;
}
