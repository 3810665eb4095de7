// The reference code of attention and its gradient: loops over queries and keys.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/float_bits.h"
#include "ops/attention/interleaved_attention_work.h"
#include "ops/common/numeric.h"

namespace amp {
namespace {

constexpr std::int64_t kKeyBlock = 512;

std::int64_t At(const kernels::HeadRows& rows, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return batch * rows.batch + head * rows.head + row * rows.row;
}

// A query: its place, and the head of keys that it sees.
struct Query {
  std::int64_t batch, head, row, kv_head;
};

template <class F>
void ForEachQuery(const kernels::Attention& job, F&& f) {
  const std::int64_t group = job.num_kv_heads == 0 ? 1 : job.num_heads / job.num_kv_heads;
  for (std::int64_t batch = 0; batch < job.num_batch; ++batch) {
    for (std::int64_t head = 0; head < job.num_heads; ++head) {
      for (std::int64_t row = 0; row < job.num_queries; ++row) f(Query{batch, head, row, head / group});
    }
  }
}

template <class T>
class Operands {
 public:
  Operands(const AttentionWork& work, std::span<const NDArray> in) : work_(work), job_(work.job) {
    for (std::size_t i = 0; i < work.num_operands(); ++i) arrays_.push_back(Numbers<T>(in[i]));
    if (work.masking == Masking::kLength) lengths_ = Numbers<std::int64_t>(in[work.num_operands()]);
    if (work.masking == Masking::kMask) mask_ = Numbers<double>(in[work.num_operands()]);
  }

  const T* query(const Query& q) const { return arrays_[0].data() + At(job_.queries, q.batch, q.head, q.row); }
  const T* key(const Query& q, std::int64_t key) const {
    const T* all = work_.interleaved ? arrays_[0].data() + job_.size : arrays_[1].data();
    return all + At(job_.keys, q.batch, q.kv_head, key);
  }
  const T* value(const Query& q, std::int64_t key) const {
    const T* all = work_.interleaved ? arrays_[0].data() + 2 * job_.size : arrays_[2].data();
    return all + At(job_.values, q.batch, q.kv_head, key);
  }

  // How many of the keys a query may see: the first of them.
  std::int64_t NumSeen(const Query& q) const {
    std::int64_t count = job_.num_keys;
    if (work_.masking == Masking::kLength) count = std::min(count, lengths_[At(job_.seen, q.batch, q.head, q.row)]);
    if (job_.causal) count = std::min(count, q.row + job_.row_offset + 1);
    return std::max<std::int64_t>(0, count);
  }
  bool IsHidden(const Query& q, std::int64_t key) const {
    return work_.masking == Masking::kMask && mask_[At(job_.seen, q.batch, q.head, q.row) + key] == 0;
  }

  T Score(const Query& q, std::int64_t key) const {
    return Dot(query(q), this->key(q, key), job_.size) * static_cast<T>(job_.scale);
  }
  static T Dot(const T* a, const T* b, std::int64_t size) {
    T sum{0};
    for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
  }

  // A number as P and dS enter their products.
  T Rounded(T x) const {
    if (work_.p_dtype == DType::kBFloat16) return kernels::BF16ToFloat(kernels::FloatToBF16(static_cast<float>(x)));
    if (work_.p_dtype == DType::kFloat16) return kernels::HalfToFloat(kernels::FloatToHalf(static_cast<float>(x)));
    return x;
  }

 private:
  const AttentionWork& work_;
  const kernels::Attention& job_;
  std::vector<std::vector<T>> arrays_;
  std::vector<std::int64_t> lengths_;
  std::vector<double> mask_;
};

// The state of a query that goes on from block to block.
template <class T>
struct State {
  T largest = -std::numeric_limits<T>::infinity(), sum{0};
  std::vector<T> sums;
};

template <class T>
void AddBlock(const Operands<T>& x, const Query& q, std::int64_t first, std::int64_t end, State<T>* state) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  std::vector<T> scores;
  const T before = state->largest;
  for (std::int64_t key = first; key < end; ++key) {
    scores.push_back(x.IsHidden(q, key) ? kHidden : x.Score(q, key));
    state->largest = std::max(state->largest, scores.back());
  }
  const T base = state->largest == kHidden ? T{0} : state->largest;
  const T factor = before == kHidden ? T{0} : std::exp(before - base);
  state->sum *= factor;
  for (T& sum : state->sums) sum *= factor;
  for (std::int64_t key = first; key < end; ++key) {
    if (x.IsHidden(q, key)) continue;
    const T p = std::exp(scores[key - first] - base), weight = x.Rounded(p);
    state->sum += p;
    for (std::size_t i = 0; i < state->sums.size(); ++i) state->sums[i] += weight * x.value(q, key)[i];
  }
}

template <class T>
State<T> Attend(const AttentionWork& work, const Operands<T>& x, const Query& q) {
  const kernels::Attention& job = work.job;
  State<T> state;
  state.sums.resize(job.value_size);
  const std::int64_t block = job.key_block == 0 ? kKeyBlock : job.key_block, num_seen = x.NumSeen(q);
  const std::int64_t num_blocks = (num_seen + block - 1) / block;
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    const std::int64_t first = (job.last_key_first ? num_blocks - 1 - i : i) * block;
    AddBlock(x, q, first, std::min(num_seen, first + block), &state);
  }
  return state;
}

template <class T>
void Forward(const AttentionWork& work, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::Attention& job = work.job;
  const Operands<T> x(work, in);
  const auto rows = static_cast<std::size_t>(job.num_batch * job.num_heads * job.num_queries);
  std::vector<T> result(rows * static_cast<std::size_t>(job.value_size)), lse(rows), sums(result.size());
  ForEachQuery(job, [&](const Query& q) {
    const State<T> state = Attend(work, x, q);
    // masked_softmax counts what is -inf as hidden.
    const bool sees_nothing = state.sum == 0 && (x.NumSeen(q) == 0 || work.masking == Masking::kMask);
    lse[At(job.statistics, q.batch, q.head, q.row)] =
        sees_nothing ? state.largest : state.largest + std::log(state.sum);
    T* to = result.data() + At(job.out, q.batch, q.head, q.row);
    T* sums_to = sums.data() + At(job.sums, q.batch, q.head, q.row);
    for (std::size_t i = 0; i < state.sums.size(); ++i) {
      to[i] = sees_nothing ? T{0} : state.sums[i] / state.sum;
      sums_to[i] = state.sums[i];
    }
  });
  if (out[0].defined()) Store(result, out[0]);
  if (out.size() > 1 && out[1].defined()) Store(lse, out[1]);
  if (out.size() > 2 && out[2].defined()) Store(sums, out[2]);
}

template <class T>
class Backward {
 public:
  Backward(const AttentionWork& work, std::span<const NDArray> in)
      : job_(work.job),
        first_(in.size() - work.num_inputs() - 2),
        x_(work, in.subspan(first_)),
        gradient_(Numbers<T>(in[0])),
        out_(Numbers<T>(in[in.size() - 2])),
        lse_(Numbers<T>(in[in.size() - 1])) {
    if (first_ == 2) lse_gradient_ = Numbers<T>(in[1]);
  }

  // To gradients that hold zeros.
  void Run(T* queries, T* keys, T* values) const {
    ForEachQuery(job_, [&](const Query& q) {
      const T* gradient = gradient_.data() + At(job_.out, q.batch, q.head, q.row);
      const std::int64_t statistic = At(job_.statistics, q.batch, q.head, q.row);
      const T lse = lse_[statistic];
      if (lse == -std::numeric_limits<T>::infinity()) return;
      T delta = Operands<T>::Dot(gradient, out_.data() + At(job_.out, q.batch, q.head, q.row), job_.value_size);
      if (!lse_gradient_.empty()) delta -= lse_gradient_[statistic];
      T* query = queries + At(job_.queries, q.batch, q.head, q.row);
      for (std::int64_t key = 0; key < x_.NumSeen(q); ++key) {
        if (x_.IsHidden(q, key)) continue;
        const T p = std::exp(x_.Score(q, key) - lse);
        const T product = Operands<T>::Dot(gradient, x_.value(q, key), job_.value_size);
        const T score = x_.Rounded(p * (product - delta)) * static_cast<T>(job_.scale);
        Add(score, x_.key(q, key), job_.size, query);
        Add(score, x_.query(q), job_.size, keys + At(job_.keys, q.batch, q.kv_head, key));
        Add(x_.Rounded(p), gradient, job_.value_size, values + At(job_.values, q.batch, q.kv_head, key));
      }
    });
  }

 private:
  static void Add(T factor, const T* from, std::int64_t size, T* to) {
    for (std::int64_t i = 0; i < size; ++i) to[i] += factor * from[i];
  }

  const kernels::Attention& job_;
  const std::size_t first_;  // of the forward operator's inputs
  const Operands<T> x_;
  const std::vector<T> gradient_, out_, lse_;
  std::vector<T> lse_gradient_;
};

template <class T>
void ComputeGradient(const AttentionWork& work, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::span<const NDArray> operands = in.subspan(in.size() - work.num_inputs() - 2, work.num_operands());
  std::vector<std::vector<T>> gradients;
  for (const NDArray& operand : operands) gradients.emplace_back(static_cast<std::size_t>(operand.size()), T{0});
  T* queries = gradients[0].data();
  T* keys = work.interleaved ? queries + work.job.size : gradients[1].data();
  T* values = work.interleaved ? queries + 2 * work.job.size : gradients[2].data();
  Backward<T>(work, in).Run(queries, keys, values);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (out[i].defined()) Store(gradients[i], out[i]);
  }
}

}  // namespace

void AttentionReference(const AttentionWork& work, std::span<const NDArray> in, std::span<NDArray> out) {
  WithFloatType(in[0].dtype(), [&](auto zero) { Forward<decltype(zero)>(work, in, out); });
}

void AttentionGradientReference(const AttentionWork& work, std::span<const NDArray> in, std::span<NDArray> out) {
  WithFloatType(in[0].dtype(), [&](auto zero) { ComputeGradient<decltype(zero)>(work, in, out); });
}

}  // namespace amp
