// What a number may not lose that is a divisor, or that a logarithm or a root reads: it must not become 0, or change
// its sign, because something else that it is computed from was rounded.
#pragma once

#include <vector>

#include "passes/precision/value_ranges.h"

namespace amp {

// What is asked of a node whose output 0 is such a number.
enum class PoleSensitivity : std::uint8_t {
  kNone,     // whatever is rounded before it, it stays what it is
  kWrite,    // only that it is written in float32
  kPass,     // the same as of its output, of what it reads: signs and relative errors are passed on
  kCompute,  // float32, up to and including the products that it comes from: terms cancel, or nothing is known
};

class PoleRules {
 public:
  // `smallest`: positive numbers of the target from here on.
  PoleRules(const Graph& graph, const Types& types, const std::vector<ValueRange>& ranges, double smallest)
      : graph_(graph), ranges_(ranges), smallest_(smallest), evaluator_(graph, types) {}

  PoleSensitivity Of(NodeId id);
  // Something that is not 0 may become 0 by rounding the tensor itself.
  bool MayVanish(EntryId entry) const { return !(ranges_[entry].SmallestMagnitude() >= smallest_); }

 private:
  PoleSensitivity OfSum(NodeId id, double offset);
  bool TermsHaveOneSign(NodeId id, double offset) const;
  bool IsFarFromZero(NodeId id, double offset) const;
  // The interval of output 0 where every input is 0.
  ValueRange AtZero(NodeId id);

  const Graph& graph_;
  const std::vector<ValueRange>& ranges_;
  const double smallest_;
  RangeEvaluator evaluator_;
};

}  // namespace amp
