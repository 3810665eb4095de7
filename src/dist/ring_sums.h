// Sums over the steps of a ring, rounded as its variant says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dist/ring_layout.h"

namespace amp::dist {

// sum = round(sum + round(term)) for rows from `first` on: terms are rounded to ring.partial, sums have the type
// ring.accum. `term` and `sum` point to the beginning of arrays that lie alike.
void AddRows(const RingAttention& ring, const RingArray& array, std::int64_t first, std::int64_t count,
             const float* term, std::byte* sum);

// The partial result of one step: rows from step.first_query on, of the type ring.partial, and their log-sum-exps.
struct RingPartial {
  RingStep step;
  RingBuffer out, lse;
};

// out = the sum of all partial results, each weighted by exp(its lse - lse), in the order of steps; rounded to
// ring.accum after each addition, and to ring.dtype at the end. The log-sum-exps are added in float64.
void MergePartials(const RingAttention& ring, const RingArrays& arrays, const std::vector<RingPartial>& partials,
                   void* out, float* lse);

}  // namespace amp::dist
