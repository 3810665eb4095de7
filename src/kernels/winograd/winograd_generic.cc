#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_product_code.h"

namespace amp::kernels {
namespace {

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kGeneric, {}, {}, WinogradFloats::kRows};
  AddWinogradFloats<WinogradFloats>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTableGeneric() { return &kTable; }

}  // namespace amp::kernels
