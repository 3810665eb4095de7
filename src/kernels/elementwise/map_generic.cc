#include "kernels/elementwise/map.h"
#include "kernels/elementwise/map_code.h"

namespace amp::kernels {

const MapTable* MapTableGeneric() {
  using Code = MapCode<Isa::kGeneric, 4>;
  static constexpr MapTable kTable = {Isa::kGeneric, Code::Range, Code::Apply};
  return &kTable;
}

}  // namespace amp::kernels
