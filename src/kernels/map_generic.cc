#include "kernels/map.h"
#include "kernels/map_code.h"

namespace amp::kernels {

const MapTable* MapTableGeneric() {
  static constexpr MapTable kTable = {Isa::kGeneric, MapCode<Isa::kGeneric, 4>::Range};
  return &kTable;
}

}  // namespace amp::kernels
