#include "kernels/winograd/winograd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/winograd/winograd_product_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kAvx512, {}, {}, WinogradFloats::kRows};
  AddWinogradFloats<WinogradFloats>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
