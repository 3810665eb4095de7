// Compares, over all 2^32 float32 values, three things: the definition of rounding to nearest even,
// the scalar conversions of float_bits.h, and the vector code of every instruction set that this
// CPU has. Exits with 1 on any difference. Build with optimisation and OpenMP, or it takes long.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/elementwise/cast_table.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr uint32_t kChunk = uint32_t{1} << 20;  // values; 2^11 chunks share each sign
constexpr int kChunks = 1 << 12;
constexpr uint64_t kShownDifferences = 20;

std::atomic<uint64_t> differences{0};

void CheckEqual(const char* isa, const char* what, uint32_t source, uint32_t actual, uint32_t expected) {
  if (actual == expected) return;
  if (differences.fetch_add(1) >= kShownDifferences) return;
  std::printf("%s %s of %08x: got %x, expected %x\n", isa, what, source, actual, expected);
}

// A 16-bit format by its definition. The values are listed by arithmetic, and a number rounds to
// the code whose value is nearest: it lies between the middles of that code with its two
// neighbours, on a middle only if the code is even.
class Format {
 public:
  Format(const char* name, int exponent_bits, int mantissa_bits)
      : name_(name), exponent_bits_(exponent_bits), mantissa_bits_(mantissa_bits) {
    // Up to and including infinity's code, which rounding treats as the number that would follow.
    for (uint32_t code = 0; code < Infinity(); ++code) middles_.push_back((Value(code) + Value(code + 1)) / 2);
  }

  const char* name() const { return name_; }

  // The codes of the kChunk float32 bit patterns that start at `first`; their magnitudes ascend.
  std::vector<uint16_t> Round(uint32_t first) const {
    const uint32_t sign = first >> 31 << (exponent_bits_ + mantissa_bits_);
    const uint32_t magnitude = first & 0x7FFFFFFFu;
    std::vector<uint16_t> codes(kChunk);
    uint32_t code = magnitude < kNaN ? FirstGuess(magnitude) : 0;
    for (uint32_t i = 0; i < kChunk; ++i) {
      code = magnitude + i < kNaN ? Advance(code, std::bit_cast<float>(magnitude + i)) : NaN(magnitude + i);
      codes[i] = static_cast<uint16_t>(sign | code);
    }
    return codes;
  }

 private:
  static constexpr uint32_t kNaN = 0x7F800001u;  // the first of them

  uint32_t Infinity() const { return ((1u << exponent_bits_) - 1) << mantissa_bits_; }

  double Value(uint32_t code) const {
    const int bias = (1 << (exponent_bits_ - 1)) - 1;
    const int field = static_cast<int>(code >> mantissa_bits_);
    const double fraction = std::ldexp(code & ((1u << mantissa_bits_) - 1), -mantissa_bits_);
    return field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
  }

  // At most the right code, and no farther from it than the next code.
  uint32_t FirstGuess(uint32_t magnitude) const {
    const double value = std::bit_cast<float>(magnitude);
    return static_cast<uint32_t>(std::lower_bound(middles_.begin(), middles_.end(), value) - middles_.begin());
  }

  uint32_t Advance(uint32_t code, double value) const {
    while (code < Infinity() && (value > middles_[code] || (value == middles_[code] && code % 2 == 1))) ++code;
    return code;
  }

  uint32_t NaN(uint32_t magnitude) const {
    const uint32_t quiet = 1u << (mantissa_bits_ - 1);
    return Infinity() | quiet | (magnitude & 0x7FFFFFu) >> (23 - mantissa_bits_);
  }

  const char* name_;
  int exponent_bits_;
  int mantissa_bits_;
  std::vector<double> middles_;  // between each code and the next
};

using Narrow = void (*)(const void* src, void* dst, std::size_t count);

void CheckTable(const char* isa, Narrow narrow, const Format& format, const std::vector<uint32_t>& bits,
                const std::vector<uint16_t>& expected) {
  std::vector<uint16_t> actual(bits.size());
  narrow(bits.data(), actual.data(), bits.size());
  if (actual == expected) return;
  for (std::size_t i = 0; i < bits.size(); ++i) CheckEqual(isa, format.name(), bits[i], actual[i], expected[i]);
}

void CheckChunk(uint32_t first, const Format& bf16, const Format& half, const std::vector<const CastTable*>& tables) {
  std::vector<uint32_t> bits(kChunk);
  for (uint32_t i = 0; i < kChunk; ++i) bits[i] = first + i;
  const std::vector<uint16_t> expected_bf16 = bf16.Round(first);
  const std::vector<uint16_t> expected_half = half.Round(first);
  for (uint32_t i = 0; i < kChunk; ++i) {
    const float value = std::bit_cast<float>(bits[i]);
    CheckEqual("scalar", "bf16", bits[i], FloatToBF16(value), expected_bf16[i]);
    CheckEqual("scalar", "half", bits[i], FloatToHalf(value), expected_half[i]);
    CheckEqual("scalar", "bf16 from double", bits[i], DoubleToBF16(value), expected_bf16[i]);
    CheckEqual("scalar", "half from double", bits[i], DoubleToHalf(value), expected_half[i]);
  }
  for (const CastTable* table : tables) {
    CheckTable(IsaName(table->isa), table->float_to_bf16, bf16, bits, expected_bf16);
    CheckTable(IsaName(table->isa), table->float_to_half, half, bits, expected_half);
  }
}

void CheckWidening(const CastTable& table) {
  std::vector<uint16_t> codes(1 << 16);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  std::vector<uint32_t> from_bf16(codes.size());
  std::vector<uint32_t> from_half(codes.size());
  table.bf16_to_float(codes.data(), from_bf16.data(), codes.size());
  table.half_to_float(codes.data(), from_half.data(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const char* isa = IsaName(table.isa);
    CheckEqual(isa, "float from bf16", codes[i], from_bf16[i], std::bit_cast<uint32_t>(BF16ToFloat(codes[i])));
    CheckEqual(isa, "float from half", codes[i], from_half[i], std::bit_cast<uint32_t>(HalfToFloat(codes[i])));
  }
}

std::vector<const CastTable*> AvailableTables() {
  std::vector<const CastTable*> tables;
  using Getter = const CastTable* (*)();
  for (const auto& [isa, getter] : {std::pair<Isa, Getter>{Isa::kGeneric, CastTable::Generic},
                                    {Isa::kAvx2, CastTable::Avx2},
                                    {Isa::kAvx512, CastTable::Avx512}}) {
    const CastTable* table = isa <= CpuIsa() ? getter() : nullptr;
    std::printf("%s: %s\n", IsaName(isa), table != nullptr ? "checked" : "not available here, skipped");
    if (table != nullptr) tables.push_back(table);
  }
  return tables;
}

// Gigabytes per second, read plus written, of one thread on arrays that stay in the second-level
// cache.
void PrintSpeeds(const CastTable& table) {
  constexpr std::size_t kCount = 1 << 16;
  constexpr int kRuns = 2000;
  std::vector<float> wide(kCount, 1.5f);
  std::vector<uint16_t> narrow(kCount);
  const auto print = [&](const char* what, Narrow cast, const void* src, void* dst) {
    cast(src, dst, kCount);
    const auto begin = std::chrono::steady_clock::now();
    for (int run = 0; run < kRuns; ++run) cast(src, dst, kCount);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("  %s %.1f GB/s", what, 6.0 * kCount * kRuns / seconds.count() / 1e9);
  };
  std::printf("%-8s", IsaName(table.isa));
  print("float->bf16", table.float_to_bf16, wide.data(), narrow.data());
  print("bf16->float", table.bf16_to_float, narrow.data(), wide.data());
  print("float->half", table.float_to_half, wide.data(), narrow.data());
  print("half->float", table.half_to_float, narrow.data(), wide.data());
  std::printf("\n");
}

void CheckEverything(const std::vector<const CastTable*>& tables) {
  const Format bf16("bf16", 8, 7);
  const Format half("half", 5, 10);
  std::atomic<int> done{0};
  ParallelFor(kChunks, 1, [&](std::int64_t chunk) {
    CheckChunk(static_cast<uint32_t>(chunk) * kChunk, bf16, half, tables);
    const int count = ++done;
    if (count % (kChunks / 16) == 0) {
      std::printf("%3d %%\n", 100 * count / kChunks);
      std::fflush(stdout);
    }
  });
  for (const CastTable* table : tables) CheckWidening(*table);
}

}  // namespace
}  // namespace amp::kernels

int main() {
  using namespace amp::kernels;
  const std::vector<const CastTable*> tables = AvailableTables();
  for (const CastTable* table : tables) PrintSpeeds(*table);

  const auto begin = std::chrono::steady_clock::now();
  CheckEverything(tables);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%llu differences over all 2^32 floats, %.0f s\n", static_cast<unsigned long long>(differences.load()),
              seconds.count());
  return differences.load() == 0 ? 0 : 1;
}
