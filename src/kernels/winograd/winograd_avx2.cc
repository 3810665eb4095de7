#include "kernels/winograd/winograd.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/int16_vectors_avx2.h"
#include "kernels/winograd/winograd_int16_code.h"
#include "kernels/winograd/winograd_product_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Integers = WinogradInt16<Int16Vectors>;

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kAvx2, {}, {}, WinogradFloats::kRows};
  AddWinogradFloats<WinogradFloats>(&table);
  AddWinogradIntegers<Integers>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
