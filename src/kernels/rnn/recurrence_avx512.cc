#include "kernels/rnn/recurrence.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include <immintrin.h>

#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {
namespace {

struct MultiplyAdd {
  static __m512 Of(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
};

}  // namespace

const RecurrenceTable* RecurrenceTable::Avx512() {
  using Code = RecurrenceCode<Isa::kAvx512, 16, MultiplyAdd>;
  static constexpr RecurrenceTable kTable = {Isa::kAvx512, Code::Product, Code::Step};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RecurrenceTable* RecurrenceTable::Avx512() { return nullptr; }

}  // namespace amp::kernels

#endif
