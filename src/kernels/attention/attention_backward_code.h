// The blocked gradient of attention, for the vectors of an instruction set. Of internal linkage, on purpose: see
// cast_table.h.
//
// Keys are taken in blocks, and against each of them all queries in blocks. Scores and the gradients of weights are
// products with keys and values that lie transposed in panels; P and dS then multiply the rows as they lie. Operands
// are widened to float32 as they are copied.
#pragma once

#include "kernels/attention/attention_backward.h"
#include "kernels/attention/attention_products_code.h"

namespace amp::kernels {
namespace {

constexpr Int kRowBlock = 96;  // queries of a block: whole strips
constexpr Int kMaxKeyBlock = 512;
constexpr Int kMaxStrips = UnitsOf(kMaxKeyBlock, kStrip);

// Panels of columns of a right-hand side, its rows `unit` apart.
struct Right {
  const float* data;
  Int panel, unit;
};

// Which part of a product a strip of its rows has.
struct StripRange {
  Int first_unit, end_unit, num_columns;
};

// c (num_rows, columns) = a b or is added to, in the range of each strip. A panel stays in the first-level cache.
template <class V>
void MultiplyBlock(Int num_rows, Int num_columns, Left<V> a, Right b, const StripRange* ranges, bool adds, float* c,
                   Int c_row) {
  constexpr Int kPanel = kernels::kPanel<V>;
  for (Int column = 0; column < num_columns; column += kPanel) {
    const float* panel = b.data + column / kPanel * b.panel;
    for (Int row = 0; row < num_rows; row += kStrip) {
      const StripRange& range = ranges[row / kStrip];
      const Int width = Min(kPanel, range.num_columns - column), depth = range.end_unit - range.first_unit;
      if (width <= 0 || (depth <= 0 && adds)) continue;  // sums of nothing are written, too
      const Left<V> left{a.data + row * a.row + range.first_unit * a.unit, a.row, a.unit};
      StripOf<V>(Min(kStrip, num_rows - row), width)(left, panel + range.first_unit * b.unit, b.unit, depth,
                                                     adds ? kOnes : nullptr, c + row * c_row + column, c_row);
    }
  }
}

// Scratch memory of one thread, in floats. Rows are a little longer than they need be: neighbours do not meet in the
// same lines of a cache.
template <class V>
struct BackwardSizes {
  Int block, row, value_row, weight_row;
  Int keys_across, values_across, keys, key_sums, value_sums, queries, out_gradients, weights, score_gradients, total;

  BackwardSizes(const Attention& job, Int num_keys) {
    constexpr Int kPanel = kernels::kPanel<V>, kPadding = 16, kBlockFloats = 1 << 15;
    const Int fitting = kBlockFloats / Max(1, Max(job.size, job.value_size)) / 64 * 64;
    block = Min(num_keys, Min(kMaxKeyBlock, Max(64, fitting)));
    row = Padded(job.size, V::kLanes) + kPadding;
    value_row = Padded(job.value_size, V::kLanes) + kPadding;
    weight_row = Padded(block, kPanel) + kPadding;
    keys_across = 0;
    values_across = keys_across + Padded(block, kPanel) * job.size;
    keys = values_across + Padded(block, kPanel) * job.value_size;
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
    const Int group = forward_.num_heads / forward_.num_kv_heads;
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
  using Vector = typename V::Floats;
  static constexpr Int kPanel = kernels::kPanel<V>;

  static const char* Row(const void* data, bool is_bf16, const HeadRows& rows, Int head, Int row) {
    return static_cast<const char*>(data) + (head * rows.head + row * rows.row) * (is_bf16 ? 2 : 4);
  }

  static void Clear(float* to, Int count) {
    for (Int i = 0; i < count; ++i) to[i] = 0;
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

  // Copies rows as panels of columns; those beyond the last are 0.
  void CopyAcross(const char* from, Int distance, Int size, float* to) const {
    const Int bytes = distance * (forward_.is_bf16 ? 2 : 4);
    for (Int key = 0; key < num_keys_; key += V::kLanes) {
      float* columns = to + key / kPanel * kPanel * size + key % kPanel;
      for (Int i = 0; i < size; i += V::kLanes) {
        Vector rows[V::kLanes];
#pragma GCC unroll 16
        for (int k = 0; k < V::kLanes; ++k) {
          rows[k] = key + k < num_keys_ ? V::LoadPart(from + (key + k) * bytes, forward_.is_bf16, i, size) : V::All(0);
        }
        V::Transpose(rows);
        for (Int k = 0; k < Min(V::kLanes, size - i); ++k) V::Store(columns + (i + k) * kPanel, rows[k]);
      }
    }
  }

  static void CopyRows(const char* from, bool is_bf16, Int distance, Int count, Int size, float* to, Int to_row) {
    for (Int row = 0; row < count; ++row) {
      const char* line = from + row * distance * (is_bf16 ? 2 : 4);
      for (Int i = 0; i < size; i += V::kLanes) {
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
    for (Int row = 0; row < num_rows_; ++row) Weigh(row);
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
    for (Int row = 0; row < num_rows_; ++row) {
      const float lse = data.lse[head_ * forward_.statistics.head + (first_row_ + row) * forward_.statistics.row];
      const Int count = NumSeenKeys(forward_, seen, first_row_ + row) - first_key_;
      seen_[row] = lse == -__builtin_inff() ? 0 : Min(num_keys_, Max(0, count));
      Int& of_strip = strip_seen_[row / kStrip];
      of_strip = row % kStrip == 0 ? seen_[row] : Max(of_strip, seen_[row]);
      most_seen_ = Max(most_seen_, seen_[row]);
    }
  }

  void MultiplyByColumns(Int rows, Int row, Int columns, Int size, Int to) {
    StripRange ranges[kRowBlock / kStrip];
    for (Int i = 0; i * kStrip < num_rows_; ++i) ranges[i] = {0, size, strip_seen_[i]};
    MultiplyBlock<V>(num_rows_, most_seen_, {memory_ + rows, row, 1}, {memory_ + columns, kPanel * size, kPanel},
                     ranges, false, memory_ + to, sizes_.weight_row);
  }

  Vector Rounded(Vector x) const { return forward_.p_is_bf16 ? V::Widened(V::Rounded(x)) : x; }

  // Scores become P, what stands beside them dS; zeros where nothing is seen.
  void Weigh(Int row) {
    float* weights = memory_ + sizes_.weights + row * sizes_.weight_row;
    float* gradients = memory_ + sizes_.score_gradients + row * sizes_.weight_row;
    const Int at = head_ * forward_.num_queries + first_row_ + row;
    const Int statistic = head_ * forward_.statistics.head + (first_row_ + row) * forward_.statistics.row;
    const Vector scale = V::All(forward_.scale * kLog2E), delta = V::All(part_.deltas[at]);
    const Vector base = V::All(-kLog2E * part_.data.forward.lse[statistic]);
    const std::uint8_t* mask = part_.data.forward.mask;
    if (mask != nullptr) mask += head_ * forward_.seen.head + (first_row_ + row) * forward_.seen.row + first_key_;
    const auto store = [&](Int at_key, Vector weight, auto keep) {
      const Vector gradient = weight * (V::Load(gradients + at_key) - delta);
      V::Store(weights + at_key, Rounded(weight));
      V::Store(gradients + at_key, keep(Rounded(gradient)));
    };
    const auto weight_at = [&](Int at_key) { return V::Exp2(V::MultiplyAdd(V::Load(weights + at_key), scale, base)); };
    Int key = 0;
    for (; mask == nullptr && key + V::kLanes <= seen_[row]; key += V::kLanes) {
      store(key, weight_at(key), [](Vector x) { return x; });
    }
    for (; key < seen_[row]; key += V::kLanes) {
      const Int count = seen_[row] - key;
      const auto seen = mask == nullptr ? V::FirstLanes(count) : V::SeenLanes(mask + key, count);
      store(key, V::Keep(seen, weight_at(key)), [&](Vector x) { return V::Keep(seen, x); });
    }
    for (; key < most_seen_; key += V::kLanes) {
      V::Store(weights + key, V::All(0));
      V::Store(gradients + key, V::All(0));
    }
  }

  void AddToQueries() {
    StripRange ranges[kRowBlock / kStrip];
    for (Int i = 0; i * kStrip < num_rows_; ++i) ranges[i] = {0, strip_seen_[i], forward_.size};
    const Int row = QuerySumRow(job_);
    float* sums = part_.query_sums + (head_ * forward_.num_queries + first_row_) * row;
    MultiplyBlock<V>(num_rows_, forward_.size, {memory_ + sizes_.score_gradients, sizes_.weight_row, 1},
                     {memory_ + sizes_.keys, kPanel, sizes_.row}, ranges, true, sums, row);
  }

  // From which query on keys are seen, by strip of keys.
  void FindRowsOfKeys() {
    for (Int i = 0; i * kStrip < most_seen_; ++i) {
      Int row = 0;
      while (seen_[row] <= i * kStrip) ++row;
      first_of_keys_[i] = row;
    }
  }

  void AddToKeys(Int weights, Int rows, Int to, Int row, Int size) {
    StripRange ranges[kMaxStrips];
    for (Int i = 0; i * kStrip < most_seen_; ++i) ranges[i] = {first_of_keys_[i], num_rows_, size};
    MultiplyBlock<V>(most_seen_, size, {memory_ + weights, 1, sizes_.weight_row}, {memory_ + rows, kPanel, row}, ranges,
                     true, memory_ + to, row);
  }

  void StoreKeys(void* gradient, Int distance, Int from, Int row, Int size, float scale) const {
    for (Int key = 0; key < num_keys_; ++key) {
      char* to = static_cast<char*>(gradient) + (first_key_ + key) * distance * (job_.gradients_are_bf16 ? 2 : 4);
      for (Int i = 0; i < size; i += V::kLanes) {
        const Vector x = V::Load(memory_ + from + key * row + i) * scale;
        const Vector sum = job_.adds ? V::LoadPart(to, false, i, size) + x : x;
        V::StorePart(to, job_.gradients_are_bf16, i, size, sum);
      }
    }
  }

  const AttentionBackward& job_;
  const Attention& forward_;
  const AttentionBackwardPart& part_;
  const BackwardSizes<V> sizes_;
  float* const memory_;
  Int first_key_ = 0, num_keys_ = 0, head_ = 0, first_row_ = 0, num_rows_ = 0;  // of the blocks at hand
  Int most_seen_ = 0, seen_[kRowBlock], strip_seen_[kRowBlock / kStrip], first_of_keys_[kMaxStrips];
};

template <class V>
std::size_t BackwardScratchBytes(const AttentionBackward& job, Int num_keys) {
  return static_cast<std::size_t>(BackwardSizes<V>(job.forward, num_keys).total) * sizeof(float);
}

template <class V>
void RunBackward(const AttentionBackward& job, const AttentionBackwardPart& part, void* scratch) {
  BackwardKernel<V>(job, part, scratch).Run();
}

template <class V>
constexpr AttentionBackwardTable BackwardTableOf(Isa isa) {
  return {isa, BackwardScratchBytes<V>, RunBackward<V>};
}

}  // namespace
}  // namespace amp::kernels
