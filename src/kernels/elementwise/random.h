// Random numbers without a state: each is a function of a key and of its position. The generator is Philox 4x32 with 10
// rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <array>
#include <cstdint>

namespace amp::kernels {

class RandomStream {
 public:
  // Streams with other seeds, runs or numbers are independent.
  RandomStream(std::uint64_t seed, std::uint64_t run, std::uint64_t number) {
    // The counter has room for 64 bits beside the position: what tells streams apart is mixed into key and counter.
    const std::uint64_t mixed = Mix(seed ^ Mix(number));
    key_ = {Low(mixed), High(mixed)};
    upper_ = {Low(run), High(run) ^ Low(number)};
  }

  // The four numbers at positions 4 * index, ..., 4 * index + 3.
  std::array<std::uint32_t, 4> Block(std::uint64_t index) const {
    std::array<std::uint32_t, 4> x{Low(index), High(index), upper_[0], upper_[1]};
    std::array<std::uint32_t, 2> key = key_;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0], b = std::uint64_t{0xCD9E8D57} * x[2];
      x = {High(b) ^ x[1] ^ key[0], Low(b), High(a) ^ x[3] ^ key[1], Low(a)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    return x;
  }

  const std::array<std::uint32_t, 2>& key() const { return key_; }
  const std::array<std::uint32_t, 2>& upper() const { return upper_; }  // half of the counter

 private:
  static std::uint32_t Low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static std::uint32_t High(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
  // Each bit of the result depends on all bits of x.
  static std::uint64_t Mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  std::array<std::uint32_t, 2> key_, upper_;
};

}  // namespace amp::kernels
