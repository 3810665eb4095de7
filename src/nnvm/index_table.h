// Open-addressing hash index into an external array (6 to 12 bytes per element, one allocation).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace amp {

// `HashOf` is a function object: position -> hash of the element there.
class IndexTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The position of an element with this hash for which `is_it(position)`, or kNone.
  template <class IsIt>
  std::uint32_t Find(std::size_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return kNone;
    for (std::size_t slot = First(hash);; slot = Next(slot)) {
      if (slots_[slot] == kNone || is_it(slots_[slot])) return slots_[slot];
    }
  }

  // Adds an element that is not supported yet.
  template <class HashOf>
  void Insert(std::uint32_t position, const HashOf& hash_of) {
    if (3 * (size_ + 1) > 2 * slots_.size()) Grow(hash_of);
    Place(position, hash_of(position));
    ++size_;
  }

  // Gives every element another position.
  template <class Map>
  void Renumber(const Map& map) {
    for (std::uint32_t& position : slots_) {
      if (position != kNone) position = map(position);
    }
  }

 private:
  // Hashes of pointers and names alike are spread by a multiplication; its upper bits are the good ones.
  std::size_t First(std::size_t hash) const {
    return (std::uint64_t{hash} * 0x9E3779B97F4A7C15u) >> (64 - std::countr_zero(slots_.size()));
  }
  std::size_t Next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  void Place(std::uint32_t position, std::size_t hash) {
    std::size_t slot = First(hash);
    while (slots_[slot] != kNone) slot = Next(slot);
    slots_[slot] = position;
  }

  template <class HashOf>
  void Grow(const HashOf& hash_of) {
    std::vector<std::uint32_t> old(slots_.empty() ? 16 : 2 * slots_.size(), kNone);
    old.swap(slots_);
    for (const std::uint32_t position : old) {
      if (position != kNone) Place(position, hash_of(position));
    }
  }

  std::vector<std::uint32_t> slots_;  // a power of two of them, or none
  std::size_t size_ = 0;
};

}  // namespace amp
