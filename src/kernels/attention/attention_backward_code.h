// The blocked gradient of attention, for the vectors of an instruction set. Of internal linkage, on purpose: see
// cast_table.h.
//
// Keys are taken in blocks, and against each of them all queries in blocks. Scores and the gradients of weights are
// products with keys and values that lie transposed in panels; P and dS then multiply the rows as they lie. Six rows of
// a panel are summed up in registers. Operands are widened to float32 as they are copied.
#pragma once

#include <utility>

#include "kernels/attention/attention_backward.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kStrip = 6;      // rows that are summed up together
constexpr std::int64_t kRowBlock = 96;  // queries of a block: whole strips
constexpr std::int64_t kMaxKeyBlock = 512;
constexpr std::int64_t kMaxStrips = (kMaxKeyBlock + kStrip - 1) / kStrip;

inline std::int64_t RoundUp(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; }
inline std::int64_t Min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t Greater(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// Element (r, u) of a left-hand side, `row` and `unit` apart.
struct Left {
  const float* data;
  std::int64_t row, unit;
};

// Panels of columns of a right-hand side, its rows `unit` apart.
struct Right {
  const float* data;
  std::int64_t panel, unit;
};

// Which part of a product a strip of its rows has.
struct StripRange {
  std::int64_t first_unit, end_unit, num_columns;
};

// c (kNumRows, kNumVectors vectors) = a b, or is added to.
template <class V, int kNumRows, int kNumVectors>
void MultiplyStrip(Left a, const float* b, std::int64_t b_unit, std::int64_t depth, bool adds, float* c,
                   std::int64_t c_row) {
  typename V::Vector sums[kNumRows][kNumVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) sums[r][v] = adds ? V::Load(c + r * c_row + v * V::kLanes) : V::All(0);
  }
  for (std::int64_t u = 0; u < depth; ++u) {
    typename V::Vector right[kNumVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) right[v] = V::Load(b + u * b_unit + v * V::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kNumRows; ++r) {
      const typename V::Vector left = V::All(a.data[r * a.row + u * a.unit]);
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) sums[r][v] = V::MultiplyAdd(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) V::Store(c + r * c_row + v * V::kLanes, sums[r][v]);
  }
}

template <class V>
using StripFunction = void (*)(Left, const float*, std::int64_t, std::int64_t, bool, float*, std::int64_t);

template <class V, int kNumRows, int... kNumVectors>
StripFunction<V> StripOf(std::int64_t num_vectors, std::integer_sequence<int, kNumVectors...>) {
  constexpr StripFunction<V> kFunctions[] = {MultiplyStrip<V, kNumRows, kNumVectors + 1>...};
  return kFunctions[num_vectors - 1];
}

template <class V>
StripFunction<V> StripOf(std::int64_t num_rows, std::int64_t num_vectors) {
  constexpr std::make_integer_sequence<int, V::kVectors> kCounts{};
  switch (num_rows) {
    case 1:
      return StripOf<V, 1>(num_vectors, kCounts);
    case 2:
      return StripOf<V, 2>(num_vectors, kCounts);
    case 3:
      return StripOf<V, 3>(num_vectors, kCounts);
    case 4:
      return StripOf<V, 4>(num_vectors, kCounts);
    case 5:
      return StripOf<V, 5>(num_vectors, kCounts);
    default:
      return StripOf<V, 6>(num_vectors, kCounts);
  }
}

// c (num_rows, columns) = a b or is added to, in the range of each strip. A panel stays in the first-level cache.
template <class V>
void MultiplyBlock(std::int64_t num_rows, std::int64_t num_columns, Left a, Right b, const StripRange* ranges,
                   bool adds, float* c, std::int64_t c_row) {
  constexpr std::int64_t kPanel = V::kVectors * V::kLanes;
  for (std::int64_t column = 0; column < num_columns; column += kPanel) {
    const float* panel = b.data + column / kPanel * b.panel;
    for (std::int64_t row = 0; row < num_rows; row += kStrip) {
      const StripRange& range = ranges[row / kStrip];
      const std::int64_t width = Min(kPanel, range.num_columns - column), depth = range.end_unit - range.first_unit;
      if (width <= 0 || (depth <= 0 && adds)) continue;  // sums of nothing are written, too
      const Left left{a.data + row * a.row + range.first_unit * a.unit, a.row, a.unit};
      StripOf<V>(Min(kStrip, num_rows - row), (width + V::kLanes - 1) / V::kLanes)(
          left, panel + range.first_unit * b.unit, b.unit, depth, adds, c + row * c_row + column, c_row);
    }
  }
}

// Scratch memory of one thread, in floats. Rows are a little longer than they need be: neighbours do not meet in the
// same lines of a cache.
template <class V>
struct BackwardSizes {
  std::int64_t block, row, value_row, weight_row;
  std::int64_t keys_across, values_across, keys, key_sums, value_sums, queries, out_gradients, weights, score_gradients,
      total;

  BackwardSizes(const Attention& job, std::int64_t num_keys) {
    constexpr std::int64_t kPanel = V::kVectors * V::kLanes, kPadding = 16, kBlockFloats = 1 << 15;
    const std::int64_t fitting = kBlockFloats / Greater(1, Greater(job.size, job.value_size)) / 64 * 64;
    block = Min(num_keys, Min(kMaxKeyBlock, Greater(64, fitting)));
    row = RoundUp(job.size, V::kLanes) + kPadding;
    value_row = RoundUp(job.value_size, V::kLanes) + kPadding;
    weight_row = RoundUp(block, kPanel) + kPadding;
    keys_across = 0;
    values_across = keys_across + RoundUp(block, kPanel) * job.size;
    keys = values_across + RoundUp(block, kPanel) * job.value_size;
    key_sums = keys + block * row;
    value_sums = key_sums + block * row;
    queries = value_sums + block * value_row;
    out_gradients = queries + kRowBlock * row;
    weights = out_gradients + kRowBlock * value_row;
    score_gradients = weights + kRowBlock * weight_row;
    total = score_gradients + kRowBlock * weight_row;
  }
};

template <class V>
class BackwardKernel {
 public:
  BackwardKernel(const AttentionBackward& job, const AttentionBackwardPart& part, void* scratch)
      : job_(job),
        forward_(job.forward),
        part_(part),
        sizes_(job.forward, part.end_key - part.first_key),
        memory_(static_cast<float*>(scratch)) {}

  void Run() {
    const std::int64_t group = forward_.num_heads / forward_.num_kv_heads;
    Clear(part_.query_sums, group * forward_.num_queries * QuerySumRow(job_));
    for (first_key_ = part_.first_key; first_key_ < part_.end_key; first_key_ += sizes_.block) {
      num_keys_ = Min(sizes_.block, part_.end_key - first_key_);
      BeginKeys();
      for (head_ = 0; head_ < group; ++head_) {
        for (first_row_ = 0; first_row_ < forward_.num_queries; first_row_ += kRowBlock) {
          num_rows_ = Min(kRowBlock, forward_.num_queries - first_row_);
          AddRows();
        }
      }
      StoreKeys(part_.data.key_gradient, job_.key_gradient.row, sizes_.key_sums, sizes_.row, forward_.size,
                forward_.scale);
      StoreKeys(part_.data.value_gradient, job_.value_gradient.row, sizes_.value_sums, sizes_.value_row,
                forward_.value_size, 1);
    }
  }

 private:
  using Vector = typename V::Vector;
  static constexpr std::int64_t kPanel = V::kVectors * V::kLanes;

  static const char* Row(const void* data, bool is_bf16, const HeadRows& rows, std::int64_t head, std::int64_t row) {
    return static_cast<const char*>(data) + (head * rows.head + row * rows.row) * (is_bf16 ? 2 : 4);
  }

  static void Clear(float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = 0;
  }

  // Rows of a block of keys.
  void BeginKeys() {
    const AttentionData& data = part_.data.forward;
    const char* keys = Row(data.keys, forward_.is_bf16, forward_.keys, 0, first_key_);
    const char* values = Row(data.values, forward_.is_bf16, forward_.values, 0, first_key_);
    CopyAcross(keys, forward_.keys.row, forward_.size, memory_ + sizes_.keys_across);
    CopyAcross(values, forward_.values.row, forward_.value_size, memory_ + sizes_.values_across);
    CopyRows(keys, forward_.is_bf16, forward_.keys.row, num_keys_, forward_.size, memory_ + sizes_.keys, sizes_.row);
    Clear(memory_ + sizes_.key_sums, num_keys_ * sizes_.row);
    Clear(memory_ + sizes_.value_sums, num_keys_ * sizes_.value_row);
  }

  // As panels of columns; those beyond the last are 0.
  void CopyAcross(const char* from, std::int64_t distance, std::int64_t size, float* to) const {
    const std::int64_t bytes = distance * (forward_.is_bf16 ? 2 : 4);
    for (std::int64_t key = 0; key < num_keys_; key += V::kLanes) {
      float* columns = to + key / kPanel * kPanel * size + key % kPanel;
      for (std::int64_t i = 0; i < size; i += V::kLanes) {
        Vector rows[V::kLanes];
#pragma GCC unroll 16
        for (int k = 0; k < V::kLanes; ++k) {
          rows[k] = key + k < num_keys_ ? V::LoadPart(from + (key + k) * bytes, forward_.is_bf16, i, size) : V::All(0);
        }
        V::Transpose(rows);
        for (std::int64_t k = 0; k < Min(V::kLanes, size - i); ++k) V::Store(columns + (i + k) * kPanel, rows[k]);
      }
    }
  }

  static void CopyRows(const char* from, bool is_bf16, std::int64_t distance, std::int64_t count, std::int64_t size,
                       float* to, std::int64_t to_row) {
    for (std::int64_t row = 0; row < count; ++row) {
      const char* line = from + row * distance * (is_bf16 ? 2 : 4);
      for (std::int64_t i = 0; i < size; i += V::kLanes) {
        V::Store(to + row * to_row + i, V::LoadPart(line, is_bf16, i, size));
      }
    }
  }

  // A block of queries against the block of keys.
  void AddRows() {
    FindSeen();
    if (most_seen_ == 0) return;
    const AttentionData& data = part_.data.forward;
    CopyRows(Row(data.queries, forward_.is_bf16, forward_.queries, head_, first_row_), forward_.is_bf16,
             forward_.queries.row, num_rows_, forward_.size, memory_ + sizes_.queries, sizes_.row);
    CopyRows(Row(part_.data.out_gradient, job_.out_gradient_is_bf16, job_.out_gradient, head_, first_row_),
             job_.out_gradient_is_bf16, job_.out_gradient.row, num_rows_, forward_.value_size,
             memory_ + sizes_.out_gradients, sizes_.value_row);
    MultiplyByColumns(sizes_.queries, sizes_.row, sizes_.keys_across, forward_.size, sizes_.weights);
    MultiplyByColumns(sizes_.out_gradients, sizes_.value_row, sizes_.values_across, forward_.value_size,
                      sizes_.score_gradients);
    for (std::int64_t row = 0; row < num_rows_; ++row) Weigh(row);
    AddToQueries();
    FindRowsOfKeys();
    AddToKeys(sizes_.weights, sizes_.out_gradients, sizes_.value_sums, sizes_.value_row, forward_.value_size);
    AddToKeys(sizes_.score_gradients, sizes_.queries, sizes_.key_sums, sizes_.row, forward_.size);
  }

  // How many keys of the block each query sees, and each strip.
  void FindSeen() {
    AttentionPart seen;
    const AttentionData& data = part_.data.forward;
    if (data.lengths != nullptr) seen.data.lengths = data.lengths + head_ * forward_.seen.head;
    most_seen_ = 0;
    for (std::int64_t row = 0; row < num_rows_; ++row) {
      const float lse = data.lse[head_ * forward_.statistics.head + (first_row_ + row) * forward_.statistics.row];
      const std::int64_t count = NumSeenKeys(forward_, seen, first_row_ + row) - first_key_;
      seen_[row] = lse == -__builtin_inff() ? 0 : Min(num_keys_, Greater(0, count));
      std::int64_t& of_strip = strip_seen_[row / kStrip];
      of_strip = row % kStrip == 0 ? seen_[row] : Greater(of_strip, seen_[row]);
      most_seen_ = Greater(most_seen_, seen_[row]);
    }
  }

  void MultiplyByColumns(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t size,
                         std::int64_t to) {
    StripRange ranges[kRowBlock / kStrip];
    for (std::int64_t i = 0; i * kStrip < num_rows_; ++i) ranges[i] = {0, size, strip_seen_[i]};
    MultiplyBlock<V>(num_rows_, most_seen_, {memory_ + rows, row, 1}, {memory_ + columns, kPanel * size, kPanel},
                     ranges, false, memory_ + to, sizes_.weight_row);
  }

  // Scores become P, what stands beside them dS; zeros where nothing is seen.
  void Weigh(std::int64_t row) {
    float* weights = memory_ + sizes_.weights + row * sizes_.weight_row;
    float* gradients = memory_ + sizes_.score_gradients + row * sizes_.weight_row;
    const std::int64_t at = head_ * forward_.num_queries + first_row_ + row;
    const std::int64_t statistic = head_ * forward_.statistics.head + (first_row_ + row) * forward_.statistics.row;
    const Vector scale = V::All(forward_.scale * kLog2E), delta = V::All(part_.deltas[at]);
    const Vector base = V::All(-kLog2E * part_.data.forward.lse[statistic]);
    const std::uint8_t* mask = part_.data.forward.mask;
    if (mask != nullptr) mask += head_ * forward_.seen.head + (first_row_ + row) * forward_.seen.row + first_key_;
    const auto store = [&](std::int64_t at_key, Vector weight, auto keep) {
      const Vector gradient = V::Multiply(weight, V::Subtract(V::Load(gradients + at_key), delta));
      V::Store(weights + at_key, forward_.p_is_bf16 ? V::Rounded(weight) : weight);
      V::Store(gradients + at_key, keep(forward_.p_is_bf16 ? V::Rounded(gradient) : gradient));
    };
    const auto weight_at = [&](std::int64_t at_key) {
      return V::Exp2(V::MultiplyAdd(V::Load(weights + at_key), scale, base));
    };
    std::int64_t key = 0;
    for (; mask == nullptr && key + V::kLanes <= seen_[row]; key += V::kLanes) {
      store(key, weight_at(key), [](Vector x) { return x; });
    }
    for (; key < seen_[row]; key += V::kLanes) {
      const auto seen = V::Seen(mask == nullptr ? nullptr : mask + key, seen_[row] - key);
      store(key, V::Keep(seen, weight_at(key)), [&](Vector x) { return V::Keep(seen, x); });
    }
    for (; key < most_seen_; key += V::kLanes) {
      V::Store(weights + key, V::All(0));
      V::Store(gradients + key, V::All(0));
    }
  }

  void AddToQueries() {
    StripRange ranges[kRowBlock / kStrip];
    for (std::int64_t i = 0; i * kStrip < num_rows_; ++i) ranges[i] = {0, strip_seen_[i], forward_.size};
    const std::int64_t row = QuerySumRow(job_);
    float* sums = part_.query_sums + (head_ * forward_.num_queries + first_row_) * row;
    MultiplyBlock<V>(num_rows_, forward_.size, {memory_ + sizes_.score_gradients, sizes_.weight_row, 1},
                     {memory_ + sizes_.keys, kPanel, sizes_.row}, ranges, true, sums, row);
  }

  // From which query on keys are seen, by strip of keys.
  void FindRowsOfKeys() {
    for (std::int64_t i = 0; i * kStrip < most_seen_; ++i) {
      std::int64_t row = 0;
      while (seen_[row] <= i * kStrip) ++row;
      first_of_keys_[i] = row;
    }
  }

  void AddToKeys(std::int64_t weights, std::int64_t rows, std::int64_t to, std::int64_t row, std::int64_t size) {
    StripRange ranges[kMaxStrips];
    for (std::int64_t i = 0; i * kStrip < most_seen_; ++i) ranges[i] = {first_of_keys_[i], num_rows_, size};
    MultiplyBlock<V>(most_seen_, size, {memory_ + weights, 1, sizes_.weight_row}, {memory_ + rows, kPanel, row}, ranges,
                     true, memory_ + to, row);
  }

  void StoreKeys(void* gradient, std::int64_t distance, std::int64_t from, std::int64_t row, std::int64_t size,
                 float scale) const {
    for (std::int64_t key = 0; key < num_keys_; ++key) {
      char* to = static_cast<char*>(gradient) + (first_key_ + key) * distance * (job_.gradients_are_bf16 ? 2 : 4);
      for (std::int64_t i = 0; i < size; i += V::kLanes) {
        const Vector x = V::Multiply(V::Load(memory_ + from + key * row + i), V::All(scale));
        const Vector sum = job_.adds ? V::Add(V::LoadPart(to, false, i, size), x) : x;
        V::StorePart(to, job_.gradients_are_bf16, i, size, sum);
      }
    }
  }

  const AttentionBackward& job_;
  const Attention& forward_;
  const AttentionBackwardPart& part_;
  const BackwardSizes<V> sizes_;
  float* const memory_;
  std::int64_t first_key_ = 0, num_keys_ = 0, head_ = 0, first_row_ = 0, num_rows_ = 0;  // of the blocks at hand
  std::int64_t most_seen_ = 0, seen_[kRowBlock], strip_seen_[kRowBlock / kStrip], first_of_keys_[kMaxStrips];
};

template <class V>
std::size_t BackwardScratchBytes(const AttentionBackward& job, std::int64_t num_keys) {
  return static_cast<std::size_t>(BackwardSizes<V>(job.forward, num_keys).total) * sizeof(float);
}

template <class V>
void RunBackward(const AttentionBackward& job, const AttentionBackwardPart& part, void* scratch) {
  BackwardKernel<V>(job, part, scratch).Run();
}

}  // namespace
}  // namespace amp::kernels
