#include "kernels/winograd/winograd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)

#include "kernels/base/int16_vectors_avx512.h"
#include "kernels/winograd/winograd_int16_code.h"
#include "kernels/winograd/winograd_kinds_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Integers = WinogradInt16<Int16Vectors>;

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kAvx512, {}, {}, TileVectors::kRows};
  AddWinogradIntegers<Integers>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTable::Avx512VNNI() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTable::Avx512VNNI() { return nullptr; }

}  // namespace amp::kernels

#endif
