#include "kernels/recurrence.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/vectors_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

// The sums of sixteen vectors' lanes, side by side. The order of additions is fixed.
inline __m512 SumsOf(__m512 (&x)[16]) {
  __m512i t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) t[i] = _mm512_castps_si512(x[i]);
  Transpose(t);
  __m512 sum = _mm512_castsi512_ps(t[0]);
#pragma GCC unroll 15
  for (int i = 1; i < 16; ++i) sum = _mm512_add_ps(sum, _mm512_castsi512_ps(t[i]));
  return sum;
}

// kNumRows times 16 / kNumRows products, from row r and column c on; those beyond the ends are computed again and
// dropped.
template <int kNumRows>
void Block(const RowProducts& job, std::int64_t r, std::int64_t c) {
  constexpr int kNumColumns = 16 / kNumRows;
  const float *a[kNumRows], *b[kNumColumns];
  for (int i = 0; i < kNumRows; ++i) a[i] = job.a + (r + i < job.rows ? r + i : job.rows - 1) * job.a_row;
  for (int j = 0; j < kNumColumns; ++j) b[j] = job.b + (c + j < job.columns ? c + j : job.columns - 1) * job.b_row;
  __m512 sums[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) sums[i] = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < job.size; k += kLanes) {
    const __mmask16 lanes = Lanes(job.size - k);
    __m512 left[kNumRows];
#pragma GCC unroll 4
    for (int i = 0; i < kNumRows; ++i) left[i] = _mm512_maskz_loadu_ps(lanes, a[i] + k);
#pragma GCC unroll 16
    for (int j = 0; j < kNumColumns; ++j) {
      const __m512 right = _mm512_maskz_loadu_ps(lanes, b[j] + k);
#pragma GCC unroll 4
      for (int i = 0; i < kNumRows; ++i) {
        sums[i * kNumColumns + j] = _mm512_fmadd_ps(left[i], right, sums[i * kNumColumns + j]);
      }
    }
  }
  float results[16];
  _mm512_storeu_ps(results, SumsOf(sums));
  for (int i = 0; i < kNumRows && r + i < job.rows; ++i) {
    for (int j = 0; j < kNumColumns && c + j < job.columns; ++j) {
      job.y[(r + i) * job.y_row + c + j] = results[i * kNumColumns + j];
    }
  }
}

template <int kNumRows>
void Rows(const RowProducts& job, std::int64_t r) {
  for (std::int64_t c = 0; c < job.columns; c += 16 / kNumRows) Block<kNumRows>(job, r, c);
}

void Products(const RowProducts& job) {
  for (std::int64_t r = 0; r < job.rows; r += 4) {
    const std::int64_t left = job.rows - r;
    if (left == 1) {
      Rows<1>(job, r);
    } else if (left == 2) {
      Rows<2>(job, r);
    } else {
      Rows<4>(job, r);
    }
  }
}

// Exp does not know infinity; a NaN stays one, as the second operand.
inline __m512 SigmoidOf(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 power = _mm512_maskz_min_ps(0xFFFF, _mm512_set1_ps(100.0f), _mm512_sub_ps(_mm512_setzero_ps(), x));
  return _mm512_div_ps(one, _mm512_add_ps(one, Exp(power)));
}

// 2 sigmoid(2 x) - 1.
inline __m512 TanhOf(__m512 x) {
  return _mm512_fmadd_ps(_mm512_set1_ps(2.0f), SigmoidOf(_mm512_add_ps(x, x)), _mm512_set1_ps(-1.0f));
}

template <__m512 (*kFunction)(__m512)>
void Map(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = Lanes(count - i);
    _mm512_mask_storeu_ps(x + i, lanes, kFunction(_mm512_maskz_loadu_ps(lanes, x + i)));
  }
}

constexpr RecurrenceTable kTable = {Isa::kAvx512, Products, Map<SigmoidOf>, Map<TanhOf>};

}  // namespace

const RecurrenceTable* RecurrenceTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RecurrenceTable* RecurrenceTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
