#include "kernels/map.h"

#ifdef __AVX512F__

#include "kernels/map_code.h"

namespace amp::kernels {

const MapTable* MapTableAvx512() {
  static constexpr MapTable kTable = {Isa::kAvx512, MapCode<Isa::kAvx512, 16>::Range};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const MapTable* MapTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
