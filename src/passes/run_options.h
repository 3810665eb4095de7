// What is asked of the passes between a model and its plan.
#pragma once

#include <array>
#include <string_view>

namespace amp {

// What a run promises of its numbers. Exact: every tensor of the given graph has the value that it would have if each
// node ran alone (float32 sums, one rounding at its output), so only rearrangements that round nothing differently are
// made. Fast: chains stay float32 inside, batch norms are folded, algorithms may change.
enum class NumericMode { kFast, kExact };

// Throws ArgumentError for anything but "fast" and "exact".
NumericMode NumericModeFromName(std::string_view name);

// What AMP_DISABLE_PASSES may name.
inline constexpr std::array<std::string_view, 7> kOptionalPasses = {
    "Simplify", "FuseAttention", "PropagateStrides", "FoldBatchNorm", "FusePostOps", "AliasConcats", "ChooseLayouts",
};

// Whether AMP_DISABLE_PASSES, a list of names between commas, leaves the pass on. Throws ArgumentError where the list
// holds a name that is none.
bool PassEnabled(std::string_view pass);

}  // namespace amp
