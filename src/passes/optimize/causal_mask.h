// Masks that let each query see one key more than the query before.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "nnvm/shape.h"

namespace amp {

// What an element of a mask says of a score.
enum class Sight : std::uint8_t { kSeen, kHidden, kNeither };
using SightOf = std::function<Sight(double element)>;

// The offset of a mask that hides nothing.
inline constexpr std::int64_t kSeesAll = std::numeric_limits<std::int64_t>::max();

// The offset where query i sees key j iff j <= i + offset, for all heads, and each query sees some key; nullopt for
// all other masks. `shape`: of the mask, which is broadcast to that of scores (heads..., M, N).
std::optional<std::int64_t> RowOffsetOfMask(std::span<const double> mask, const Shape& shape, const Shape& scores,
                                            const SightOf& sight);
// The offset of lengths (heads..., M), where a query sees the first so many keys.
std::optional<std::int64_t> RowOffsetOfLengths(std::span<const double> lengths, const Shape& scores);

}  // namespace amp
