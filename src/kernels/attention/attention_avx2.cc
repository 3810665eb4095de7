#include "kernels/attention/attention.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/vectors_avx2.h"

// The kernel of attention_avx512.h for sixteen registers of eight lanes: float32 sums, to which bfloat16 operands are
// widened as they are packed. The right-hand side of a product lies in panels of 16 columns; six rows of a panel are
// summed up in registers. See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr std::int64_t kPanel = 16;
constexpr std::int64_t kRows = 6;
constexpr std::int64_t kKeyBlock = 512;

inline std::int64_t RoundUp(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; }
inline std::int64_t Min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t KeyBlock(const Attention& job) { return job.key_block == 0 ? kKeyBlock : job.key_block; }
inline __m256 Plus(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }

// f of all lanes, in a fixed order.
template <class F>
float Combined(__m256 x, F f) {
  x = f(x, _mm256_permute2f128_ps(x, x, 1));
  x = f(x, _mm256_permute_ps(x, 0x4E));
  return _mm256_cvtss_f32(f(x, _mm256_permute_ps(x, 0xB1)));
}

// c (kNumRows, 8 kNumVectors) = a b, added to factors[row] * c where there are factors. `a_row` and `c_row` are the
// distances of rows.
template <int kNumRows, int kNumVectors>
void Multiply(const float* a, std::int64_t a_row, const float* b, std::int64_t depth, const float* factors, float* c,
              std::int64_t c_row) {
  __m256 sums[kNumRows][kNumVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kNumVectors; ++v) {
      sums[r][v] = factors == nullptr
                       ? _mm256_setzero_ps()
                       : _mm256_mul_ps(_mm256_set1_ps(factors[r]), _mm256_loadu_ps(c + r * c_row + v * kLanes));
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    __m256 right[kNumVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kNumVectors; ++v) right[v] = _mm256_loadu_ps(b + k * kPanel + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kNumRows; ++r) {
      const __m256 left = _mm256_broadcast_ss(a + r * a_row + k);
#pragma GCC unroll 2
      for (int v = 0; v < kNumVectors; ++v) sums[r][v] = _mm256_fmadd_ps(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kNumVectors; ++v) _mm256_storeu_ps(c + r * c_row + v * kLanes, sums[r][v]);
  }
}

using MultiplyFn = void (*)(const float*, std::int64_t, const float*, std::int64_t, const float*, float*, std::int64_t);

constexpr MultiplyFn kMultiply[kRows][2] = {{Multiply<1, 1>, Multiply<1, 2>}, {Multiply<2, 1>, Multiply<2, 2>},
                                            {Multiply<3, 1>, Multiply<3, 2>}, {Multiply<4, 1>, Multiply<4, 2>},
                                            {Multiply<5, 1>, Multiply<5, 2>}, {Multiply<6, 1>, Multiply<6, 2>}};

// As above, for any number of rows up to kRows and of columns; panels lie `panel` elements apart.
void MultiplyPanels(std::int64_t num_rows, std::int64_t num_columns, const float* a, std::int64_t a_row, const float* b,
                    std::int64_t panel, std::int64_t depth, const float* factors, float* c, std::int64_t c_row) {
  for (std::int64_t column = 0; column < num_columns; column += kPanel) {
    const int is_wide = num_columns - column > kLanes ? 1 : 0;
    kMultiply[num_rows - 1][is_wide](a, a_row, b + column / kPanel * panel, depth, factors, c + column, c_row);
  }
}

// Scratch memory of one thread, in floats.
struct Sizes {
  std::int64_t query_row, block, value_row;  // of a query, keys of a block, of a result: padded
  std::int64_t keys, values, queries, scores, weights, sums, total;

  explicit Sizes(const Attention& job) {
    query_row = RoundUp(job.size, kLanes);
    block = RoundUp(Min(job.num_keys, KeyBlock(job)), kPanel);
    value_row = RoundUp(job.value_size, kPanel);
    keys = 0;
    values = keys + block * job.size;
    queries = values + value_row * block;
    scores = queries + kRows * query_row;
    weights = scores + kRows * block;
    sums = weights + kRows * block;
    total = sums + Min(job.num_queries, kMaxQueries) * value_row;
  }
};

// What is known of a query after some blocks of keys.
struct RowState {
  float largest, sum;
};

class Kernel {
 public:
  Kernel(const Attention& job, const AttentionPart& part, void* scratch)
      : job_(job), part_(part), sizes_(job), memory_(static_cast<float*>(scratch)) {}

  void Run() {
    FindSeen();
    for (std::int64_t row = 0; row < part_.num_queries; ++row) Begin(row);
    const std::int64_t block = KeyBlock(job_), num_blocks = (most_seen_ + block - 1) / block;
    for (std::int64_t i = 0; i < num_blocks; ++i) {
      const std::int64_t first = (job_.last_key_first ? num_blocks - 1 - i : i) * block;
      const std::int64_t count = Min(block, most_seen_ - first);
      PackKeys(first, count);
      PackValues(first, count);
      for (std::int64_t row = 0; row < part_.num_queries; row += kRows) AddBlock(row, first, count);
    }
    for (std::int64_t row = 0; row < part_.num_queries; ++row) Finish(row);
  }

 private:
  // How many keys each query sees.
  void FindSeen() {
    for (std::int64_t row = 0; row < part_.num_queries; ++row) {
      seen_[row] = NumSeenKeys(job_, part_, row);
      most_seen_ = seen_[row] > most_seen_ ? seen_[row] : most_seen_;
    }
  }

  void Begin(std::int64_t row) {
    states_[row] = {-__builtin_inff(), 0};
    for (std::int64_t i = 0; i < sizes_.value_row; ++i) Sums(row)[i] = 0;
    if (!job_.continues) return;
    states_[row] = {part_.data.largest[row * job_.statistics.row], part_.data.sum[row * job_.statistics.row]};
    const float* before = part_.data.sums + row * job_.sums.row;
    for (std::int64_t i = 0; i < job_.value_size; ++i) Sums(row)[i] = before[i];
  }

  const char* Row(const void* data, std::int64_t distance, std::int64_t row) const {
    return static_cast<const char*>(data) + row * distance * (job_.is_bf16 ? 2 : 4);
  }
  float* Sums(std::int64_t row) { return memory_ + sizes_.sums + row * sizes_.value_row; }
  float* Scores(std::int64_t r) { return memory_ + sizes_.scores + r * sizes_.block; }
  float* Weights(std::int64_t r) { return memory_ + sizes_.weights + r * sizes_.block; }

  // Keys as panels of columns; those beyond the last are 0.
  void PackKeys(std::int64_t first, std::int64_t count) {
    for (std::int64_t key = 0; key < count; key += kLanes) {
      float* to = memory_ + sizes_.keys + key / kPanel * kPanel * job_.size + key % kPanel;
      for (std::int64_t i = 0; i < job_.size; i += kLanes) {
        __m256 rows[8];
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) {
          rows[k] = key + k < count
                        ? LoadElements(Row(part_.data.keys, job_.keys.row, first + key + k), job_.is_bf16, i, job_.size)
                        : _mm256_setzero_ps();
        }
        Transpose(rows);
        const std::int64_t depth = Min(kLanes, job_.size - i);
        for (std::int64_t k = 0; k < depth; ++k) _mm256_storeu_ps(to + (i + k) * kPanel, rows[k]);
      }
    }
  }

  // Values are right-hand sides as they lie.
  void PackValues(std::int64_t first, std::int64_t count) {
    for (std::int64_t key = 0; key < count; ++key) {
      const char* row = Row(part_.data.values, job_.values.row, first + key);
      for (std::int64_t i = 0; i < job_.value_size; i += kLanes) {
        float* to = memory_ + sizes_.values + (i / kPanel * sizes_.block + key) * kPanel + i % kPanel;
        _mm256_storeu_ps(to, LoadElements(row, job_.is_bf16, i, job_.value_size));
      }
    }
  }

  void AddBlock(std::int64_t row, std::int64_t first, std::int64_t count) {
    const std::int64_t num_rows = Min(kRows, part_.num_queries - row);
    std::int64_t seen = 0;  // of this block, by any of the rows
    for (std::int64_t r = 0; r < num_rows; ++r) {
      const std::int64_t own = Min(seen_[row + r] - first, count);
      seen = own > seen ? own : seen;
    }
    if (seen <= 0) return;
    CopyQueries(row, num_rows);
    MultiplyPanels(num_rows, seen, memory_ + sizes_.queries, sizes_.query_row, memory_ + sizes_.keys,
                   kPanel * job_.size, job_.size, nullptr, Scores(0), sizes_.block);
    float factors[kRows];
    for (std::int64_t r = 0; r < num_rows; ++r) factors[r] = Weigh(row + r, r, first, seen);
    MultiplyPanels(num_rows, job_.value_size, Weights(0), sizes_.block, memory_ + sizes_.values, kPanel * sizes_.block,
                   seen, factors, Sums(row), sizes_.value_row);
  }

  void CopyQueries(std::int64_t row, std::int64_t num_rows) {
    for (std::int64_t r = 0; r < num_rows; ++r) {
      for (std::int64_t i = 0; i < job_.size; i += kLanes) {
        const char* query = Row(part_.data.queries, job_.queries.row, row + r);
        _mm256_storeu_ps(memory_ + sizes_.queries + r * sizes_.query_row + i,
                         LoadElements(query, job_.is_bf16, i, job_.size));
      }
    }
  }

  // The keys from `key` on, before `end`, that the query sees.
  __m256 SeenLanes(std::int64_t row, std::int64_t key, std::int64_t end) const {
    const std::uint8_t* mask = part_.data.mask == nullptr ? nullptr : part_.data.mask + row * job_.seen.row + key;
    return amp::kernels::SeenLanes(mask, Min(seen_[row], end) - key);
  }

  // Scores become weights, relative to the largest score so far; returns what earlier sums are to be multiplied by.
  float Weigh(std::int64_t row, std::int64_t r, std::int64_t first, std::int64_t count) {
    float* scores = Scores(r);
    const __m256 scale = _mm256_set1_ps(job_.scale), nothing = _mm256_set1_ps(-__builtin_inff());
    __m256 largest = nothing;
    for (std::int64_t key = 0; key < count; key += kLanes) {
      const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(scores + key), scale);
      const __m256 seen = _mm256_blendv_ps(nothing, scaled, SeenLanes(row, first + key, first + count));
      _mm256_storeu_ps(scores + key, seen);
      largest = Larger(seen, largest);
    }
    RowState& state = states_[row];
    const float before = state.largest, now = Combined(largest, Larger);
    if (now > before) state.largest = now;
    const float base = state.largest == -__builtin_inff() ? 0 : state.largest;
    const __m256 binary_base = _mm256_set1_ps(base * kLog2E);
    __m256 sum = _mm256_setzero_ps();
    for (std::int64_t key = 0; key < count; key += kLanes) {
      const __m256 score = _mm256_loadu_ps(scores + key);
      const __m256 weight = Exp2(_mm256_fmsub_ps(score, _mm256_set1_ps(kLog2E), binary_base));
      sum = Plus(sum, weight);
      const __m256i bits = _mm256_castps_si256(weight);
      const __m256 rounded = job_.p_is_bf16 ? WidenBF16(Halves(RoundToBF16(bits))) : weight;
      _mm256_storeu_ps(Weights(r) + key, rounded);
    }
    const bool is_first = before == -__builtin_inff();
    const float factor = is_first ? 0 : _mm256_cvtss_f32(Exp2(_mm256_set1_ps((before - base) * kLog2E)));
    state.sum = state.sum * factor + Combined(sum, Plus);
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
    for (std::int64_t i = 0; i < job_.value_size; ++i) sums[i] = Sums(row)[i];
  }

  void StoreResult(std::int64_t row, bool sees_nothing) {
    const __m256 sum = _mm256_set1_ps(states_[row].sum);
    char* to = static_cast<char*>(part_.data.out) + row * job_.out.row * (job_.out_is_bf16 ? 2 : 4);
    for (std::int64_t i = 0; i < job_.value_size; i += kLanes) {
      const __m256 y = sees_nothing ? _mm256_setzero_ps() : _mm256_div_ps(_mm256_loadu_ps(Sums(row) + i), sum);
      StoreElements(to, job_.out_is_bf16, i, job_.value_size, y);
    }
  }

  const Attention& job_;
  const AttentionPart& part_;
  const Sizes sizes_;
  float* const memory_;
  std::int64_t most_seen_ = 0;
  std::int64_t seen_[kMaxQueries];
  RowState states_[kMaxQueries];
};

std::size_t ScratchBytes(const Attention& job) { return static_cast<std::size_t>(Sizes(job).total) * sizeof(float); }

void RunPart(const Attention& job, const AttentionPart& part, void* scratch) { Kernel(job, part, scratch).Run(); }

constexpr AttentionTable kTable = {Isa::kAvx2, false, ScratchBytes, RunPart};

}  // namespace

const AttentionTable* AttentionTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionTable* AttentionTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
