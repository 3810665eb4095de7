// The blocked kernel behind the tables for AVX-512, for either kind of arithmetic. Of internal linkage, on purpose: see
// cast_table.h.
//
// Both products are sums over units of 32 bits: a float32, or two bfloat16 that one instruction multiplies and adds.
// The right-hand side lies in panels of 64 columns: for each unit, 64 units side by side. Six rows of 64 columns are
// summed up in registers. Keys are taken in blocks: what was summed so far is scaled down where a later block has a
// larger score. A part has more queries than one pass over a block takes: keys and values are packed for all of them.
#pragma once

#include <immintrin.h>

#include "kernels/attention/attention.h"
#include "kernels/base/bf16_avx512.h"
#include "kernels/base/vectors_avx512.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kPanel = 64;
constexpr std::int64_t kRows = 6;
constexpr std::int64_t kScoreRows = 192;  // queries of one pass: whole strips of rows
constexpr std::int64_t kKeyBlock = 512;
constexpr int kChains = 4;            // sums of a row that do not wait for each other
constexpr std::int64_t kDepth = 128;  // units of a panel of values that stay in the first-level cache

inline std::int64_t RoundUp(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; }
inline std::int64_t Min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t KeyBlock(const Attention& job) { return job.key_block == 0 ? kKeyBlock : job.key_block; }
inline __m512i LoadUnits(const void* units) { return _mm512_loadu_si512(units); }

// f of all lanes, in each lane; in a fixed order.
template <class F>
__m512 Combined(__m512 x, F f) {
  x = f(x, _mm512_maskz_shuffle_f32x4(0xFFFF, x, x, 0x4E));
  x = f(x, _mm512_maskz_shuffle_f32x4(0xFFFF, x, x, 0xB1));
  x = f(x, _mm512_maskz_permute_ps(0xFFFF, x, 0x4E));
  return f(x, _mm512_maskz_permute_ps(0xFFFF, x, 0xB1));
}
// f of the vectors of all chains.
template <class F>
__m512 Joined(const __m512 (&x)[kChains], F f) {
  return f(f(x[0], x[1]), f(x[2], x[3]));
}
inline __m512 Plus(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
inline float FirstLane(__m512 x) { return _mm512_cvtss_f32(x); }

// c (kNumRows, 16 kNumVectors) = a b, added to factors[row] * c where there are factors. `a_row` and `c_row` are the
// distances of rows in units.
template <class Arithmetic, int kNumRows, int kNumVectors>
void Multiply(const std::int32_t* a, std::int64_t a_row, const std::int32_t* b, std::int64_t num_units,
              const float* factors, float* c, std::int64_t c_row) {
  __m512 sums[kNumRows][kNumVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) {
      sums[r][v] = factors == nullptr
                       ? _mm512_setzero_ps()
                       : _mm512_mul_ps(_mm512_set1_ps(factors[r]), _mm512_loadu_ps(c + r * c_row + v * kLanes));
    }
  }
  for (std::int64_t u = 0; u < num_units; ++u) {
    __m512i right[kNumVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) right[v] = LoadUnits(b + u * kPanel + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kNumRows; ++r) {
      const __m512i left = _mm512_set1_epi32(a[r * a_row + u]);
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) sums[r][v] = Arithmetic::MultiplyAdd(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) _mm512_storeu_ps(c + r * c_row + v * kLanes, sums[r][v]);
  }
}

using MultiplyFn = void (*)(const std::int32_t*, std::int64_t, const std::int32_t*, std::int64_t, const float*, float*,
                            std::int64_t);

template <class Arithmetic, int kNumRows>
constexpr MultiplyFn kByVectors[4] = {Multiply<Arithmetic, kNumRows, 1>, Multiply<Arithmetic, kNumRows, 2>,
                                      Multiply<Arithmetic, kNumRows, 3>, Multiply<Arithmetic, kNumRows, 4>};

// As above, for any number of rows up to kRows and of vectors up to a panel.
template <class Arithmetic>
MultiplyFn MultiplyOf(std::int64_t num_rows, std::int64_t num_columns) {
  constexpr const MultiplyFn* kByRows[kRows] = {kByVectors<Arithmetic, 1>, kByVectors<Arithmetic, 2>,
                                                kByVectors<Arithmetic, 3>, kByVectors<Arithmetic, 4>,
                                                kByVectors<Arithmetic, 5>, kByVectors<Arithmetic, 6>};
  return kByRows[num_rows - 1][(num_columns + kLanes - 1) / kLanes - 1];
}

// Scratch memory of one thread, in units.
struct Sizes {
  std::int64_t key_units;    // of a key
  std::int64_t query_row;    // of a query, padded
  std::int64_t block;        // keys of a block, padded
  std::int64_t score_row;    // of the scores of a query
  std::int64_t value_row;    // of a result, padded
  std::int64_t value_units;  // of a block of values: units along the keys
  std::int64_t keys, values, queries, scores, sums, total;

  Sizes(const Attention& job, std::int64_t per_unit) {
    const std::int64_t num_queries = Min(job.num_queries, kMaxQueries);
    key_units = (job.size + per_unit - 1) / per_unit;
    query_row = RoundUp(key_units, kLanes);
    block = RoundUp(Min(job.num_keys, KeyBlock(job)), kPanel);
    value_row = RoundUp(job.value_size, kPanel);
    value_units = block / per_unit;
    score_row = block + kLanes;  // neighbours do not meet in the same lines of a cache
    keys = 0;
    values = keys + block * key_units;
    queries = values + value_row * value_units;
    scores = queries + num_queries * query_row;
    sums = scores + Min(num_queries, kScoreRows) * score_row;
    total = sums + num_queries * value_row;
  }
};

// What is known of a query after some blocks of keys.
struct RowState {
  float largest, sum;
};

// Calls f for the vectors of `count` keys: with the first of them, the lanes that are seen, and a number below kChains,
// so that sums need not wait for each other. Most vectors are seen as a whole: code for them needs no lanes.
template <class F>
void ForSeenKeys(const std::uint8_t* mask, std::int64_t seen, std::int64_t count, F f) {
  std::int64_t key = 0;
  for (; mask == nullptr && key + kChains * kLanes <= seen; key += kChains * kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < kChains; ++i) f(key + i * kLanes, __mmask16{0xFFFF}, i);
  }
  for (; key < count; key += kLanes) {
    const __mmask16 lanes = Lanes(seen - key);
    const __m128i bytes = mask == nullptr ? _mm_set1_epi8(1) : _mm_maskz_loadu_epi8(lanes, mask + key);
    f(key, static_cast<__mmask16>(lanes & _mm_test_epi8_mask(bytes, bytes)), 0);
  }
}

// Rows [begin, end) of a head, `distance` elements apart. Inlined: compilers drop calls without an effect.
[[gnu::always_inline]] inline void PrefetchRows(const Attention& job, const void* data, std::int64_t distance,
                                                std::int64_t begin, std::int64_t end, std::int64_t size) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t element = job.is_bf16 ? 2 : 4;
  for (std::int64_t row = begin; data != nullptr && row < end; ++row) {
    const char* first = static_cast<const char*>(data) + row * distance * element;
    for (std::int64_t at = 0; at < size * element; at += kLine) __builtin_prefetch(first + at, 0, 2);
  }
}

// Beside each query a share of what the next part reads first.
[[gnu::always_inline]] inline void PrefetchNext(const Attention& job, const AttentionPart& part, std::int64_t row) {
  const std::int64_t keys = Min(job.num_keys, KeyBlock(job));
  const std::int64_t begin = row * keys / part.num_queries, end = (row + 1) * keys / part.num_queries;
  PrefetchRows(job, part.next_queries, job.queries.row, row, row + 1, job.size);
  PrefetchRows(job, part.next_keys, job.keys.row, begin, end, job.size);
  PrefetchRows(job, part.next_values, job.values.row, begin, end, job.value_size);
}

template <class Arithmetic>
class Kernel {
 public:
  Kernel(const Attention& job, const AttentionPart& part, void* scratch)
      : job_(job), part_(part), sizes_(job, Arithmetic::kPerUnit), units_(static_cast<std::int32_t*>(scratch)) {}

  void Run() {
    FindSeen();
    for (std::int64_t row = 0; row < part_.num_queries; ++row) Begin(row);
    CopyQueries();
    const std::int64_t block = KeyBlock(job_), num_blocks = (most_seen_ + block - 1) / block;
    for (std::int64_t i = 0; i < num_blocks; ++i) {
      const std::int64_t first = (job_.last_key_first ? num_blocks - 1 - i : i) * block;
      const std::int64_t count = Min(block, most_seen_ - first);
      PackKeys(first, count);
      PackValues(first, count);
      AddBlock(first, count);
    }
    for (std::int64_t row = 0; row < part_.num_queries; ++row) Finish(row);
  }

 private:
  // How many keys each query sees.
  void FindSeen() {
    most_seen_ = 0;
    for (std::int64_t row = 0; row < part_.num_queries; ++row) {
      seen_[row] = NumSeenKeys(job_, part_, row);
      most_seen_ = seen_[row] > most_seen_ ? seen_[row] : most_seen_;
    }
  }

  void Begin(std::int64_t row) {
    states_[row] = {-__builtin_inff(), 0};
    const float* before = nullptr;
    if (job_.continues) {
      states_[row] = {part_.data.largest[row * job_.statistics.row], part_.data.sum[row * job_.statistics.row]};
      before = part_.data.sums + row * job_.sums.row;
    }
    for (std::int64_t i = 0; i < sizes_.value_row; i += kLanes) {
      const __mmask16 lanes = before == nullptr ? 0 : Lanes(job_.value_size - i);
      _mm512_storeu_ps(Sums(row) + i, _mm512_maskz_loadu_ps(lanes, before + i));
    }
  }

  const char* Row(const void* data, std::int64_t distance, std::int64_t row) const {
    return static_cast<const char*>(data) + row * distance * (job_.is_bf16 ? 2 : 4);
  }
  float* Sums(std::int64_t row) { return reinterpret_cast<float*>(units_ + sizes_.sums + row * sizes_.value_row); }
  // Scores become weights in their place. Those of one pass are there.
  float* Scores(std::int64_t row) {
    return reinterpret_cast<float*>(units_ + sizes_.scores + row % kScoreRows * sizes_.score_row);
  }

  // Keys as panels of columns; those beyond the last are 0.
  void PackKeys(std::int64_t first, std::int64_t count) {
    for (std::int64_t key = 0; key < RoundUp(count, kLanes); key += kLanes) {
      std::int32_t* to = units_ + sizes_.keys + key / kPanel * kPanel * sizes_.key_units + key % kPanel;
      for (std::int64_t unit = 0; unit < sizes_.key_units; unit += kLanes) {
        __m512i rows[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
          rows[i] = key + i < count ? LoadRow(part_.data.keys, job_.keys.row, first + key + i, unit, job_.size)
                                    : _mm512_setzero_si512();
        }
        Transpose(rows);
        const std::int64_t num_units = Min(kLanes, sizes_.key_units - unit);
        for (std::int64_t i = 0; i < num_units; ++i) _mm512_storeu_si512(to + (unit + i) * kPanel, rows[i]);
      }
    }
  }

  // Sixteen units of a row of `size` elements; 0 beyond.
  __m512i LoadRow(const void* data, std::int64_t distance, std::int64_t row, std::int64_t unit,
                  std::int64_t size) const {
    return Arithmetic::Load(Row(data, distance, row), job_.is_bf16, unit, size);
  }

  // Values are right-hand sides as they lie, but that units go along the keys.
  void PackValues(std::int64_t first, std::int64_t count) {
    constexpr std::int64_t kPer = Arithmetic::kPerUnit;
    for (std::int64_t key = 0; key < count; key += kPer) {
      const char* row = Row(part_.data.values, job_.values.row, first + key);
      const char* next = key + 1 < count ? Row(part_.data.values, job_.values.row, first + key + 1) : nullptr;
      for (std::int64_t column = 0; column < job_.value_size; column += kLanes) {
        std::int32_t* to =
            units_ + sizes_.values + (column / kPanel * sizes_.value_units + key / kPer) * kPanel + column % kPanel;
        _mm512_storeu_si512(to, Arithmetic::LoadColumns(row, next, job_.is_bf16, column, job_.value_size));
      }
    }
  }

  void AddBlock(std::int64_t first, std::int64_t count) {
    FindBlockSeen(first, count);
    for (std::int64_t row = 0; row < part_.num_queries; row += kScoreRows) {
      AddRows(row, Min(part_.num_queries, row + kScoreRows), first, count);
    }
  }

  // The queries from `begin` on, before `end`.
  void AddRows(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count) {
    MultiplyByKeys(begin, end, count);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t seen = strip_seen_[row / kRows];
      if (seen > 0) factors_[row] = Weigh(row, first, seen);
      if (first == 0) PrefetchNext(job_, part_, row);
    }
    for (std::int64_t unit = 0; unit * Arithmetic::kPerUnit < count; unit += kDepth) MultiplyByValues(begin, end, unit);
  }

  // How many keys of the block any row of a strip sees.
  void FindBlockSeen(std::int64_t first, std::int64_t count) {
    for (std::int64_t row = 0; row < part_.num_queries; ++row) {
      const std::int64_t own = Min(seen_[row] - first, count);
      std::int64_t& seen = strip_seen_[row / kRows];
      seen = row % kRows == 0 || own > seen ? own : seen;
    }
  }

  // A panel of keys stays in the first-level cache while all queries meet it; so does a part of a panel of values.
  void MultiplyByKeys(std::int64_t begin, std::int64_t end, std::int64_t count) {
    for (std::int64_t key = 0; key < count; key += kPanel) {
      const std::int32_t* panel = units_ + sizes_.keys + key * sizes_.key_units;
      for (std::int64_t row = begin; row < end; row += kRows) {
        const std::int64_t seen = Min(kPanel, strip_seen_[row / kRows] - key);
        if (seen <= 0) continue;
        MultiplyOf<Arithmetic>(Min(kRows, end - row), seen)(units_ + sizes_.queries + row * sizes_.query_row,
                                                            sizes_.query_row, panel, sizes_.key_units, nullptr,
                                                            Scores(row) + key, sizes_.score_row);
      }
    }
  }

  // Adds what some units of weights give, from `unit` on; the first ones scale what is there.
  void MultiplyByValues(std::int64_t begin, std::int64_t end, std::int64_t unit) {
    constexpr float kOnes[kRows] = {1, 1, 1, 1, 1, 1};
    for (std::int64_t column = 0; column < job_.value_size; column += kPanel) {
      const std::int32_t* panel = units_ + sizes_.values + (column / kPanel * sizes_.value_units + unit) * kPanel;
      for (std::int64_t row = begin; row < end; row += kRows) {
        const std::int64_t seen = strip_seen_[row / kRows];
        const std::int64_t num_units = Min(kDepth, (seen + Arithmetic::kPerUnit - 1) / Arithmetic::kPerUnit - unit);
        if (seen <= 0 || num_units <= 0) continue;
        MultiplyOf<Arithmetic>(Min(kRows, end - row), Min(kPanel, job_.value_size - column))(
            reinterpret_cast<std::int32_t*>(Scores(row)) + unit, sizes_.score_row, panel, num_units,
            unit == 0 ? factors_ + row : kOnes, Sums(row) + column, sizes_.value_row);
      }
    }
  }

  void CopyQueries() {
    for (std::int64_t row = 0; row < part_.num_queries; ++row) {
      for (std::int64_t unit = 0; unit < sizes_.key_units; unit += kLanes) {
        _mm512_storeu_si512(units_ + sizes_.queries + row * sizes_.query_row + unit,
                            LoadRow(part_.data.queries, job_.queries.row, row, unit, job_.size));
      }
    }
  }

  template <class F>
  void ForSeen(std::int64_t row, std::int64_t first, std::int64_t count, F f) const {
    const std::uint8_t* mask = part_.data.mask == nullptr ? nullptr : part_.data.mask + row * job_.seen.row + first;
    ForSeenKeys(mask, Min(seen_[row] - first, count), count, f);
  }

  // What the query has seen so far now is relative to its largest score; returns the factor of what was summed up.
  float FindLargest(std::int64_t row, std::int64_t first, std::int64_t count) {
    const float* scores = Scores(row);
    const __m512 scale = _mm512_set1_ps(job_.scale);
    __m512 largest[kChains];
    for (__m512& x : largest) x = _mm512_set1_ps(-__builtin_inff());
    ForSeen(row, first, count, [&](std::int64_t key, __mmask16 seen, int i) {
      const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(scores + key), scale);
      largest[i] = _mm512_mask_max_ps(largest[i], seen, scaled, largest[i]);
    });
    RowState& state = states_[row];
    const float before = state.largest, now = FirstLane(Combined(Joined(largest, Larger), Larger));
    if (!(now > before)) return 1;
    state.largest = now;
    const float factor = before == -__builtin_inff() ? 0 : FirstLane(Exp2(_mm512_set1_ps((before - now) * kLog2E)));
    state.sum *= factor;
    return factor;
  }

  // Scores become weights, relative to the largest score so far; returns what earlier sums are to be multiplied by.
  float Weigh(std::int64_t row, std::int64_t first, std::int64_t count) {
    const float factor = FindLargest(row, first, count);
    RowState& state = states_[row];
    float* scores = Scores(row);
    const float base = state.largest == -__builtin_inff() ? 0 : state.largest;
    const __m512 binary_scale = _mm512_set1_ps(job_.scale * kLog2E), binary_base = _mm512_set1_ps(base * kLog2E);
    __m512 sums[kChains];
    for (__m512& x : sums) x = _mm512_setzero_ps();
    auto* weights = reinterpret_cast<std::int32_t*>(scores);  // those of a vector are no longer than its scores
    ForSeen(row, first, count, [&](std::int64_t key, __mmask16 seen, int i) {
      const __m512 x = _mm512_fmsub_ps(_mm512_loadu_ps(scores + key), binary_scale, binary_base);
      const __m512 weight = _mm512_maskz_mov_ps(seen, Exp2(x));
      sums[i] = _mm512_add_ps(sums[i], weight);
      Arithmetic::StoreWeights(weights, key, weight, job_.p_is_bf16);
    });
    state.sum += FirstLane(Combined(Joined(sums, Plus), Plus));
    return factor;
  }

  void Finish(std::int64_t row) {
    const RowState& state = states_[row];
    const bool sees_nothing = state.sum == 0 && (seen_[row] == 0 || part_.data.mask != nullptr);
    if (part_.data.out != nullptr) StoreResult(row, sees_nothing);
    const std::int64_t statistic = row * job_.statistics.row;
    if (part_.data.lse != nullptr) {
      part_.data.lse[statistic] = sees_nothing ? -__builtin_inff() : state.largest + __builtin_logf(state.sum);
    }
    if (part_.data.sums == nullptr) return;
    part_.data.largest[statistic] = state.largest;
    part_.data.sum[statistic] = state.sum;
    float* sums = part_.data.sums + row * job_.sums.row;
    for (std::int64_t i = 0; i < job_.value_size; i += kLanes) {
      _mm512_mask_storeu_ps(sums + i, Lanes(job_.value_size - i), _mm512_loadu_ps(Sums(row) + i));
    }
  }

  void StoreResult(std::int64_t row, bool sees_nothing) {
    const __m512 sum = _mm512_set1_ps(states_[row].sum);
    char* to = static_cast<char*>(part_.data.out) + row * job_.out.row * (job_.out_is_bf16 ? 2 : 4);
    for (std::int64_t i = 0; i < job_.value_size; i += kLanes) {
      const __m512 y = sees_nothing ? _mm512_setzero_ps() : _mm512_div_ps(_mm512_loadu_ps(Sums(row) + i), sum);
      const __mmask16 lanes = Lanes(job_.value_size - i);
      if (job_.out_is_bf16) {
        _mm256_mask_storeu_epi16(to + 2 * i, lanes, RoundToBF16(_mm512_castps_si512(y)));
      } else {
        _mm512_mask_storeu_ps(to + 4 * i, lanes, y);
      }
    }
  }

  const Attention& job_;
  const AttentionPart& part_;
  const Sizes sizes_;
  std::int32_t* const units_;
  std::int64_t most_seen_ = 0;
  std::int64_t seen_[kMaxQueries], strip_seen_[kMaxQueries / kRows];
  RowState states_[kMaxQueries];
  float factors_[kMaxQueries];
};

template <class Arithmetic>
std::size_t ScratchBytesFor(const Attention& job) {
  return static_cast<std::size_t>(Sizes(job, Arithmetic::kPerUnit).total) * sizeof(std::int32_t);
}

template <class Arithmetic>
void RunPart(const Attention& job, const AttentionPart& part, void* scratch) {
  Kernel<Arithmetic>(job, part, scratch).Run();
}

}  // namespace
}  // namespace amp::kernels
