#include "kernels/elementwise/map.h"

#ifdef __AVX2__

#include "kernels/elementwise/map_code.h"

namespace amp::kernels {

const MapTable* MapTableAvx2() {
  using Code = MapCode<Isa::kAvx2, 8>;
  static constexpr MapTable kTable = {Isa::kAvx2, Code::Range, Code::Apply};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const MapTable* MapTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
