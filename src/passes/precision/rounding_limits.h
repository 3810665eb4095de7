// What rounding to low precision would damage, as far as data flow and intervals tell.
#pragma once

#include <vector>

#include "passes/infer.h"
#include "passes/precision/reason.h"
#include "passes/value_range.h"

namespace amp {

struct RoundingLimits {
  // Why the tensor is never read rounded: it counts as integers and may exceed what the target tells apart, or is used
  // as a position; it may overflow; it keeps a divisor from becoming 0. kReadsLow: it may be rounded. By EntryId.
  std::vector<ReasonKind> tensors;
  // The tensor is written in float32, because of `tensors` or because the smallest change matters to a reader. By
  // EntryId.
  std::vector<bool> written_exactly;
  // The tensor is used as a position, directly or moved. By EntryId.
  std::vector<bool> positions;
  // Why the node computes in float32: it writes what must not be rounded, or errors of its result would be amplified.
  // kReadsLow: it need not; IsRoundingLimit: whatever the caller asks for. An operator that accumulates can write
  // float32 beside low inputs. By NodeId.
  std::vector<Reason> nodes;
};

// In linear time. `ranges`: the values of all tensors (FindValueRanges).
RoundingLimits FindRoundingLimits(const Graph& graph, const Types& types, DType target,
                                  const std::vector<ValueRange>& ranges);

}  // namespace amp
