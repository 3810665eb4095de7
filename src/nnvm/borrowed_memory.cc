#include "nnvm/borrowed_memory.h"

#include <algorithm>
#include <iterator>

namespace amp {

BorrowedMemory::BorrowedMemory(const ModelParams& params, bool are_given_away) {
  for (const NDArrayMap* group : {&params.args, &params.aux}) {
    for (const auto& [name, array] : *group) {
      if (are_given_away && !array.is_mapped()) continue;
      std::size_t& bytes = bytes_[static_cast<const char*>(array.data())];
      bytes = std::max(bytes, static_cast<std::size_t>(array.bytes()));  // two may begin in one place
    }
  }
}

bool BorrowedMemory::Has(const NDArray& array) const {
  const auto* begin = static_cast<const char*>(array.data());
  const auto after = bytes_.upper_bound(begin);
  if (after == bytes_.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  return begin == start || begin < start + bytes;
}

}  // namespace amp
