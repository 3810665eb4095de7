// Whole units of something. For files that every CPU may run; those for an instruction set have their own, of internal
// linkage (cast_table.h).
#pragma once

#include <cstdint>

namespace amp::kernels {

// How many units of `by` hold x.
constexpr std::int64_t CeilDiv(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }
// The next multiple of `to`, or x.
constexpr std::int64_t RoundUp(std::int64_t x, std::int64_t to) { return CeilDiv(x, to) * to; }

}  // namespace amp::kernels
