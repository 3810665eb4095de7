// Which nodes may not lose small numbers: CPUs' bfloat16 instructions treat denormals as zero, below 1.18e-38, and take
// no notice of the floating-point environment. The alternate implementation of a node keeps them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nnvm/graph.h"

namespace amp {

// What the alternate implementation of a sum of products does.
enum class AlternateMode : std::uint8_t {
  kAuto,    // looks at the operands of each run: bfloat16 instructions where they are harmless, else one of the others
  kF32,     // multiplies float32
  kScaled,  // multiplies bfloat16 operands that were scaled by a power of two, where that is exact; else as kF32
};
// "auto", "f32" or "scaled"; throws ArgumentError, which names `what`, for anything else.
AlternateMode AlternateModeFromName(const std::string& name, const std::string& what);
const char* NameOf(AlternateMode mode);

struct AlternateSettings {
  bool forward = false, backward = true;  // whether nodes of this phase run their alternate implementation
  AlternateMode mode = AlternateMode::kAuto;
  bool is_backward = false;  // nodes of the forward phase count as backward ones, too

  bool operator==(const AlternateSettings&) const = default;
  std::string Key() const;  // equal for equal settings
};

// What scopes of the calling thread, AMP_BF16_ALT_IMPL and AMP_BF16_ALT_MODE say now, the innermost first. Throws
// ArgumentError for a variable that is neither empty nor what it may be.
AlternateSettings CurrentAlternate();

// Holds for plans that the thread builds, and operators that it runs on arrays, until the end of the scope.
class AlternateScope {
 public:
  // What is nullopt stays as it is.
  AlternateScope(std::optional<bool> forward, std::optional<bool> backward, std::optional<AlternateMode> mode);
  ~AlternateScope();
  AlternateScope(const AlternateScope&) = delete;
  AlternateScope& operator=(const AlternateScope&) = delete;

 private:
  const AlternateScope* const outer_;
  const std::optional<bool> forward_, backward_;
  const std::optional<AlternateMode> mode_;
  friend AlternateSettings CurrentAlternate();
};

// "0" or "1" on a node: it runs its original or its alternate implementation, whatever the settings say. The gradient
// pass copies it from a node to those of its gradient.
inline constexpr const char* kAlternateAttr = "__alt_impl__";

// "1" on a copy of a forward node that the backward pass computes again: it runs as that node does.
inline constexpr const char* kRecomputeAttr = "__recompute__";

// Whether the settings of the backward phase hold for the node.
bool IsBackwardWork(const Node& node);

// How the node runs its alternate implementation; nullopt: it runs the original. Throws GraphError for a bad attribute.
std::optional<AlternateMode> AlternateOf(const Node& node, const AlternateSettings& settings);

}  // namespace amp
