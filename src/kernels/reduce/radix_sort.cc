#include "kernels/reduce/radix_sort.h"

#include <algorithm>
#include <array>
#include <utility>

namespace amp::kernels {
namespace {

constexpr std::int64_t kFew = 512;  // entries that comparisons sort sooner than digits
constexpr int kDigits = 4;
constexpr std::size_t kValues = 256;  // of a digit

std::size_t DigitOf(std::uint64_t entry, int digit) { return entry >> (32 + 8 * digit) & (kValues - 1); }

using Counts = std::array<std::int64_t, kValues>;

// Moves entries to where those of their digit's value begin.
void Distribute(const std::uint64_t* from, std::uint64_t* to, std::int64_t count, int digit, const Counts& counts) {
  Counts next{};
  for (std::size_t value = 1; value < kValues; ++value) next[value] = next[value - 1] + counts[value - 1];
  for (std::int64_t i = 0; i < count; ++i) to[next[DigitOf(from[i], digit)]++] = from[i];
}

}  // namespace

void SortByUpperHalf(std::uint64_t* entries, std::uint64_t* spare, std::int64_t count) {
  if (count < kFew) return std::sort(entries, entries + count);
  std::array<Counts, kDigits> counts{};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int digit = 0; digit < kDigits; ++digit) ++counts[static_cast<std::size_t>(digit)][DigitOf(entries[i], digit)];
  }
  std::uint64_t *from = entries, *to = spare;
  for (int digit = 0; digit < kDigits; ++digit) {
    const Counts& of_digit = counts[static_cast<std::size_t>(digit)];
    if (of_digit[DigitOf(entries[0], digit)] == count) continue;  // all have the same
    Distribute(from, to, count, digit, of_digit);
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, count, entries);
}

std::int64_t KeepSmallest(std::uint64_t* entries, std::int64_t count, std::int64_t chosen) {
  constexpr int kShifts[] = {21, 10, 0};  // of the digits of an upper half
  constexpr std::uint32_t kMasks[] = {0x7FF, 0x7FF, 0x3FF};
  if (count < kFew || count / 4 < chosen) return count;
  const auto key_of = [](std::uint64_t entry) { return static_cast<std::uint32_t>(entry >> 32); };
  // Digit by digit: the upper half `bound` below which, up to its lower digits, are the chosen ones.
  std::uint32_t bound = 0, known = 0;
  std::int64_t missing = chosen;  // of those that agree with the bound in the known digits
  for (int digit = 0; digit < 3; ++digit) {
    std::array<std::int32_t, 2048> counts{};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t key = key_of(entries[i]);
      if ((key & known) == bound) ++counts[key >> kShifts[digit] & kMasks[digit]];
    }
    std::uint32_t value = 0;
    while (missing > counts[value]) missing -= counts[value++];
    bound |= value << kShifts[digit];
    known |= kMasks[digit] << kShifts[digit];
    if (chosen - missing + counts[value] < chosen + kFew) break;
  }
  std::uint64_t* to = entries;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = entries[i];
    *to = entry;
    to += (key_of(entry) & known) <= bound;
  }
  return to - entries;
}

}  // namespace amp::kernels
