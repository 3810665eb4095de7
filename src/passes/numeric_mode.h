// What a run promises of its numbers.
#pragma once

#include <string_view>

namespace amp {

// Exact: every tensor of the given graph has the value that it would have if each node ran alone (float32 sums, one
// rounding at its output), so only rearrangements that round nothing differently are made. Fast: chains stay float32
// inside, batch norms are folded, algorithms may change.
enum class NumericMode { kFast, kExact };

// Throws ArgumentError for anything but "fast" and "exact".
NumericMode NumericModeFromName(std::string_view name);

}  // namespace amp
