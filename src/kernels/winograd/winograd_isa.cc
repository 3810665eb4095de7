// targets: generic avx2 avx512 avx512vnni
#include "kernels/base/int16_vectors.h"
#include "kernels/base/target.h"
#include "kernels/winograd/winograd_int16_code.h"
#include "kernels/winograd/winograd_product_code.h"

namespace amp::kernels {
namespace {

constexpr WinogradTable WinogradTableOfTarget() {
  WinogradTable table{kIsa, {}, {}, WinogradFloats::kRows};
#if AMP_COMPUTES_FLOAT32
  AddWinogradFloats<WinogradFloats>(&table);
#endif
#if AMP_COMPUTES_INT16
  AddWinogradIntegers<WinogradInt16<Int16Vectors>>(&table);
#endif
  return table;
}

}  // namespace

AMP_KERNEL_TABLE(WinogradTable, WinogradTableOfTarget())

}  // namespace amp::kernels
