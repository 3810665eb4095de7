// The clock that runs are timed by.
#pragma once

#include <chrono>

namespace amp::onednn {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace amp::onednn
