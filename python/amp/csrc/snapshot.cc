// Which of some arrays have changed since a moment.
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bindings.h"

namespace amp::python {
namespace {

constexpr std::uint64_t kPrime = 0x9E3779B185EBCA87;

// Each step is invertible in both arguments: arrays that differ in one word have different digests.
std::uint64_t Mixed(std::uint64_t digest, std::uint64_t word) { return std::rotl((digest ^ word) * kPrime, 29); }

std::uint64_t DigestOf(const NDArray& array) {
  constexpr std::size_t kLanes = 4, kWord = sizeof(std::uint64_t), kBlock = kLanes * kWord;
  const char* data = array.As<char>();
  const auto bytes = static_cast<std::size_t>(array.bytes());
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock) {
    std::uint64_t words[kLanes];
    std::memcpy(words, data + at, kBlock);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = Mixed(lanes[i], words[i]);
  }
  std::uint64_t rest[kLanes] = {};
  if (at < bytes) std::memcpy(rest, data + at, bytes - at);
  std::uint64_t digest = bytes;
  for (std::size_t i = 0; i < kLanes; ++i) digest = Mixed(digest, Mixed(lanes[i], rest[i]));
  return digest;
}

// Contents are compared by their digests, and only where they may have changed.
class Snapshot {
 public:
  explicit Snapshot(const std::vector<Array>& arrays) {
    for (const Array& array : arrays) {
      const std::uint64_t count = array.writes->count;
      entries_.push_back({array, count, DigestOf(array.array)});
    }
  }

  std::vector<std::size_t> Changed() {
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      if (entry.array.writes->was_left) {
        changed.push_back(i);
        continue;
      }
      const std::uint64_t count = entry.array.writes->count;
      if (count == entry.count && entry.array.writes->views == 0) continue;
      if (DigestOf(entry.array.array) != entry.digest) {
        changed.push_back(i);
      } else {
        entry.count = count;
      }
    }
    return changed;
  }

 private:
  struct Entry {
    Array array;
    std::uint64_t count;  // of writes, when the contents were those of the digest
    std::uint64_t digest;
  };
  std::vector<Entry> entries_;
};

}  // namespace

void BindSnapshot(py::module_& module) {
  py::class_<Snapshot>(module, "Snapshot")
      .def(py::init<const std::vector<Array>&>(), py::arg("arrays"))
      .def("changed", &Snapshot::Changed, "Positions of the arrays whose contents are not what they were.");
}

}  // namespace amp::python
