// What the CPU we run on can do. No answer changes during the life of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

// The table of the strongest instruction set that AllowedIsa() permits and this build has code for. A table is a struct
// with static functions Generic, Avx2 and Avx512 (see target.h), which give a table or, but for the first, null. None
// is called on a CPU that lacks its instruction set: it is compiled for that.
template <class Table>
const Table& BestTable() {
  static const Table& best = []() -> const Table& {
    const Table* wide = AllowedIsa() >= Isa::kAvx512 ? Table::Avx512() : nullptr;
    if (wide == nullptr && AllowedIsa() >= Isa::kAvx2) wide = Table::Avx2();
    return wide != nullptr ? *wide : *Table::Generic();
  }();
  return best;
}

// All tables that this CPU can run and this build has code for, whatever AllowedIsa() permits.
template <class Table>
std::vector<const Table*> TablesOfThisCpu() {
  std::vector<const Table*> tables{Table::Generic()};
  if (CpuIsa() >= Isa::kAvx2) tables.push_back(Table::Avx2());
  if (CpuIsa() >= Isa::kAvx512) tables.push_back(Table::Avx512());
  std::erase(tables, nullptr);
  return tables;
}

// The table of what multiplies int16: for AVX512_VNNI, else for AVX2; null where neither runs. The former rounds to
// bfloat16 by the instruction of AVX512_BF16.
template <class Table>
const Table* Int16Table() {
  if (AllowedIsa() >= Isa::kAvx512 && CpuHasVNNI() && CpuHasBF16()) return Table::Avx512VNNI();
  return AllowedIsa() >= Isa::kAvx2 ? Table::Avx2() : nullptr;
}

}  // namespace amp::kernels
