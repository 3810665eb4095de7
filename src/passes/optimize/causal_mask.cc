#include "passes/optimize/causal_mask.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace amp {
namespace {

using Counts = std::vector<std::int64_t>;  // of the keys that a row sees, row by row

std::int64_t RowsOf(const Shape& scores) { return scores[scores.rank() - 2]; }
std::int64_t KeysOf(const Shape& scores) { return scores[scores.rank() - 1]; }

// The number of keys that a row sees where these are the first ones; nullopt for other rows.
std::optional<std::int64_t> NumSeen(std::span<const double> row, const SightOf& sight) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Sight found = sight(row[i]);
    if (found == Sight::kNeither) return std::nullopt;
    if (found == Sight::kHidden) continue;
    if (count != static_cast<std::int64_t>(i)) return std::nullopt;
    ++count;
  }
  return count;
}

// `rows`: of one head; 1 where all rows are alike.
std::optional<std::int64_t> OffsetOf(const Counts& counts, std::int64_t rows, const Shape& scores) {
  const std::int64_t keys = KeysOf(scores), queries = RowsOf(scores);
  if (counts.empty() || queries == 0 || keys == 0 || counts[0] < 1) return std::nullopt;
  const std::int64_t offset = counts[0] == keys ? kSeesAll : counts[0] - 1;
  for (std::size_t first = 0; first < counts.size(); first += static_cast<std::size_t>(rows)) {
    for (std::int64_t row = 0; row < queries; ++row) {
      const std::int64_t expected = offset == kSeesAll ? keys : std::min(keys, row + offset + 1);
      if (counts[first + static_cast<std::size_t>(rows == 1 ? 0 : row)] != expected) return std::nullopt;
    }
  }
  return offset;
}

bool IsBroadcastTo(const Shape& shape, const Shape& scores) {
  const int skipped = scores.rank() - shape.rank();
  if (shape.rank() < 2 || skipped < 0) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && shape[i] != scores[skipped + i]) return false;
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> RowOffsetOfMask(std::span<const double> mask, const Shape& shape, const Shape& scores,
                                            const SightOf& sight) {
  if (!IsBroadcastTo(shape, scores)) return std::nullopt;
  const std::int64_t size = KeysOf(shape), keys_of_element = KeysOf(scores) == size ? 1 : KeysOf(scores);
  Counts counts;
  for (std::size_t first = 0; first < mask.size(); first += static_cast<std::size_t>(size)) {
    const std::optional<std::int64_t> count = NumSeen(mask.subspan(first, static_cast<std::size_t>(size)), sight);
    if (!count) return std::nullopt;
    counts.push_back(*count * keys_of_element);
  }
  return OffsetOf(counts, RowsOf(shape), scores);
}

std::optional<std::int64_t> RowOffsetOfLengths(std::span<const double> lengths, const Shape& scores) {
  Counts counts;
  for (const double length : lengths) {
    if (std::trunc(length) != length) return std::nullopt;
    counts.push_back(static_cast<std::int64_t>(std::clamp(length, 0.0, static_cast<double>(KeysOf(scores)))));
  }
  return OffsetOf(counts, RowsOf(scores), scores);
}

}  // namespace amp
