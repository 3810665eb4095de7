// What random numbers of training depend on.
#pragma once

#include <cstdint>

namespace amp {

// Equal keys give equal numbers, whatever the number of threads.
struct RandomKey {
  std::int64_t seed = 0;
  std::int64_t run = 0;
};

}  // namespace amp
