#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_backward.h"
#include "kernels/base/float_bits.h"

namespace amp::kernels {
namespace {

float Load(const void* data, bool is_bf16, std::int64_t i) {
  return is_bf16 ? BF16ToFloat(static_cast<const std::uint16_t*>(data)[i]) : static_cast<const float*>(data)[i];
}

class Part {
 public:
  Part(const AttentionBackward& job, const AttentionBackwardPart& part, void* scratch)
      : job_(job),
        forward_(job.forward),
        part_(part),
        key_sums_(static_cast<float*>(scratch)),
        value_sums_(key_sums_ + (part.end_key - part.first_key) * forward_.size) {}

  void Run() const {
    std::fill_n(key_sums_, (part_.end_key - part_.first_key) * (forward_.size + forward_.value_size), 0.0F);
    const std::int64_t group = forward_.num_heads / forward_.num_kv_heads;
    for (std::int64_t head = 0; head < group; ++head) {
      for (std::int64_t row = 0; row < forward_.num_queries; ++row) AddRow(head, row);
    }
    StoreAll(part_.data.key_gradient, job_.key_gradient.row, key_sums_, forward_.size, forward_.scale);
    StoreAll(part_.data.value_gradient, job_.value_gradient.row, value_sums_, forward_.value_size, 1);
  }

 private:
  struct Elements {
    const void* data;
    bool is_bf16;
    std::int64_t first;
    float operator[](std::int64_t i) const { return Load(data, is_bf16, first + i); }
  };

  static Elements At(const void* data, bool is_bf16, const HeadRows& rows, std::int64_t head, std::int64_t row) {
    return {data, is_bf16, head * rows.head + row * rows.row};
  }

  static float Dot(const Elements& a, const Elements& b, std::int64_t size) {
    float sum = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
  }

  float Rounded(float x) const { return forward_.p_is_bf16 ? BF16ToFloat(FloatToBF16(x)) : x; }

  void AddRow(std::int64_t head, std::int64_t row) const {
    const std::int64_t at = head * forward_.num_queries + row;
    float* sums = part_.query_sums + at * QuerySumRow(job_);
    std::fill_n(sums, forward_.size, 0.0F);
    const AttentionData& data = part_.data.forward;
    const float lse = data.lse[head * forward_.statistics.head + row * forward_.statistics.row];
    if (lse == -std::numeric_limits<float>::infinity()) return;  // it sees nothing
    AttentionPart seen;
    if (data.lengths != nullptr) seen.data.lengths = data.lengths + head * forward_.seen.head;
    const std::int64_t end = std::min(part_.end_key, NumSeenKeys(forward_, seen, row));
    const auto* mask = data.mask == nullptr ? nullptr : data.mask + head * forward_.seen.head + row * forward_.seen.row;
    for (std::int64_t key = part_.first_key; key < end; ++key) {
      if (mask == nullptr || mask[key] != 0) AddPair(head, row, key, lse, part_.deltas[at], sums);
    }
  }

  void AddPair(std::int64_t head, std::int64_t row, std::int64_t key, float lse, float delta, float* sums) const {
    const AttentionData& data = part_.data.forward;
    const Elements q = At(data.queries, forward_.is_bf16, forward_.queries, head, row);
    const Elements k = At(data.keys, forward_.is_bf16, forward_.keys, 0, key);
    const Elements v = At(data.values, forward_.is_bf16, forward_.values, 0, key);
    const Elements out_gradient = At(part_.data.out_gradient, job_.out_gradient_is_bf16, job_.out_gradient, head, row);
    const float p = std::exp(Dot(q, k, forward_.size) * forward_.scale - lse);
    const float weight = Rounded(p);
    const float score_gradient = Rounded(p * (Dot(out_gradient, v, forward_.value_size) - delta));
    float* key_sums = key_sums_ + (key - part_.first_key) * forward_.size;
    for (std::int64_t i = 0; i < forward_.size; ++i) {
      sums[i] += score_gradient * k[i];
      key_sums[i] += score_gradient * q[i];
    }
    float* value_sums = value_sums_ + (key - part_.first_key) * forward_.value_size;
    for (std::int64_t i = 0; i < forward_.value_size; ++i) value_sums[i] += weight * out_gradient[i];
  }

  void StoreAll(void* gradient, std::int64_t stride, const float* sums, std::int64_t size, float scale) const {
    for (std::int64_t key = part_.first_key; key < part_.end_key; ++key) {
      for (std::int64_t i = 0; i < size; ++i) {
        const float x = scale * sums[(key - part_.first_key) * size + i];
        const std::int64_t at = key * stride + i;
        if (job_.gradients_are_bf16) {
          static_cast<std::uint16_t*>(gradient)[at] = FloatToBF16(x);
        } else {
          static_cast<float*>(gradient)[at] = job_.adds ? static_cast<float*>(gradient)[at] + x : x;
        }
      }
    }
  }

  const AttentionBackward& job_;
  const Attention& forward_;
  const AttentionBackwardPart& part_;
  float* const key_sums_;
  float* const value_sums_;
};

std::size_t ScratchBytes(const AttentionBackward& job, std::int64_t num_keys) {
  return static_cast<std::size_t>(num_keys * (job.forward.size + job.forward.value_size)) * sizeof(float);
}

void RunPart(const AttentionBackward& job, const AttentionBackwardPart& part, void* scratch) {
  Part(job, part, scratch).Run();
}

constexpr AttentionBackwardTable kTable = {Isa::kGeneric, ScratchBytes, RunPart};

}  // namespace

const AttentionBackwardTable* AttentionBackwardTableGeneric() { return &kTable; }

}  // namespace amp::kernels
