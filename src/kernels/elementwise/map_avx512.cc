#include "kernels/elementwise/map.h"

#ifdef __AVX512F__

#include "kernels/elementwise/map_code.h"

namespace amp::kernels {

const MapTable* MapTableAvx512() {
  using Code = MapCode<Isa::kAvx512, 16>;
  static constexpr MapTable kTable = {Isa::kAvx512, Code::Range, Code::Apply};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const MapTable* MapTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
