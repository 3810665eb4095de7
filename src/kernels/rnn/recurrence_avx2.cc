#include "kernels/rnn/recurrence.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {
namespace {

struct MultiplyAdd {
  static __m256 Of(__m256 x, __m256 y, __m256 z) { return _mm256_fmadd_ps(x, y, z); }
};

}  // namespace

const RecurrenceTable* RecurrenceTable::Avx2() {
  using Code = RecurrenceCode<Isa::kAvx2, 8, MultiplyAdd>;
  static constexpr RecurrenceTable kTable = {Isa::kAvx2, Code::Product, Code::Step};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RecurrenceTable* RecurrenceTable::Avx2() { return nullptr; }

}  // namespace amp::kernels

#endif
