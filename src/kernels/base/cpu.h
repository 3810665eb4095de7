// What the CPU we run on can do. No answer changes during the life of the process.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace amp::kernels {

// The instruction sets that have kernels of their own, weakest first.
enum class Isa : std::uint8_t {
  kGeneric,  // what the compiler assumes without special flags
  kAvx2,     // AVX2, FMA and F16C
  kAvx512,   // kAvx2 and AVX-512 F, BW, VL and DQ
};

const char* IsaName(Isa isa);

// The inverse of IsaName; nothing for an unknown name.
std::optional<Isa> ParseIsa(std::string_view name);

// The best one that CPU and operating system support.
Isa CpuIsa();

// CpuIsa(), but at most what the environment variable AMP_MAX_ISA=generic|avx2|avx512 allows. It is
// read once, at the first call. A value that is none of these is ignored with one line on stderr.
Isa AllowedIsa();

// Whether the CPU multiplies bfloat16 natively (AVX512_BF16, with the registers enabled by the
// operating system). AMP_MAX_ISA has no say in this: it governs our own kernels only.
bool CpuHasBF16();

// Whether the CPU sums up products of integers (AVX512_VNNI).
bool CpuHasVNNI();

// Whether kernels may multiply by tiles (AMX): the CPU has them, the operating system lets this process use them, which
// the first call asks it for, and AMP_MAX_ISA sets no limit, not even avx512.
bool AllowsTiles();

// Numbers in float32 that a vector of our kernels has.
std::int64_t VectorFloats();

// The second-level cache of a core; 1 MiB where the system does not say.
std::int64_t SecondLevelCacheBytes();

// The kernels of the strongest instruction set that AllowedIsa() permits and this build has code for. `getters`: from
// the weakest on; the first gives a table in every build, the others may give null. None is called on a CPU that lacks
// its instruction set: it is compiled for that.
template <class Table>
const Table& BestTable(std::initializer_list<std::pair<Isa, const Table* (*)()>> getters) {
  const Table* best = nullptr;
  for (const auto& [isa, getter] : getters) {
    const Table* table = isa <= AllowedIsa() ? getter() : nullptr;
    if (table != nullptr) best = table;
  }
  return *best;
}

// The same of what multiplies int16: kernels for AVX512_VNNI, else for AVX2; null where neither runs. The former round
// to bfloat16 by the instruction of AVX512_BF16.
template <class Table>
const Table* Int16Table(const Table* (*vnni)(), const Table* (*avx2)()) {
  if (AllowedIsa() >= Isa::kAvx512 && CpuHasVNNI() && CpuHasBF16()) return vnni();
  return AllowedIsa() >= Isa::kAvx2 ? avx2() : nullptr;
}

}  // namespace amp::kernels
