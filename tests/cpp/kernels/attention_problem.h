// Problems for the tests of attention and its gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "draw.h"
#include "guarded.h"
#include "kernels/attention/attention.h"
#include "kernels/base/float_bits.h"
#include "samples.h"

namespace amp::kernels::testing {

// Memory of one operand, in its own dtype and in float32.
struct Operand {
  std::vector<float> numbers;
  std::vector<std::uint16_t> halves;

  void Set(std::size_t i, float x) {
    halves[i] = FloatToBF16(x);
    numbers[i] = x;
  }
  // What either kind of kernel reads.
  void RoundToHalves() {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = BF16ToFloat(halves[i]);
  }
};

// The memory of an operand or a result, ending at a page that nobody may touch.
class OperandMemory {
 public:
  OperandMemory(const Operand& operand, bool is_bf16)
      : is_bf16_(is_bf16),
        numbers_(is_bf16 ? std::vector<float>{} : operand.numbers),
        halves_(is_bf16 ? operand.halves : std::vector<std::uint16_t>{}) {}
  OperandMemory(std::size_t count, float value, bool is_bf16)
      : OperandMemory(Operand{std::vector<float>(count, value), std::vector<std::uint16_t>(count, FloatToBF16(value))},
                      is_bf16) {}

  void* data() const { return is_bf16_ ? static_cast<void*>(halves_.data()) : numbers_.data(); }
  float* floats() const { return numbers_.data(); }
  std::vector<float> values() const {
    if (!is_bf16_) return numbers_.values();
    std::vector<float> values(halves_.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = BF16ToFloat(halves_.data()[i]);
    return values;
  }

 private:
  bool is_bf16_;
  Guarded<float> numbers_;
  Guarded<std::uint16_t> halves_;
};

inline Operand DrawOperand(Draw& draw, std::int64_t count, bool is_bf16) {
  Operand operand{std::vector<float>(static_cast<std::size_t>(count)),
                  std::vector<std::uint16_t>(static_cast<std::size_t>(count))};
  for (std::size_t i = 0; i < operand.numbers.size(); ++i) operand.Set(i, draw.Real());
  if (is_bf16) operand.RoundToHalves();
  return operand;
}

inline std::int64_t PlaceOf(const HeadRows& rows, std::int64_t b, std::int64_t h, std::int64_t r) {
  return b * rows.batch + h * rows.head + r * rows.row;
}

// Up to the last element of the last row.
inline std::int64_t LengthOf(const HeadRows& rows, std::int64_t batch, std::int64_t heads, std::int64_t count,
                             std::int64_t size) {
  return batch * heads * count == 0 ? 0 : PlaceOf(rows, batch - 1, heads - 1, count - 1) + size;
}

// Rows of `size` elements with gaps, the three axes in any order.
inline HeadRows DrawHeadRows(Draw& draw, std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t size) {
  HeadRows strides;
  std::vector<std::pair<std::int64_t, std::int64_t*>> axes{
      {batch, &strides.batch}, {heads, &strides.head}, {rows, &strides.row}};
  std::rotate(axes.begin(), axes.begin() + draw.Int(0, 2), axes.end());
  std::int64_t stride = size + draw.Int(0, 3);
  for (const auto& [length, to] : axes) {
    *to = stride;
    stride *= std::max<std::int64_t>(1, length);
  }
  return strides;
}

struct AttentionProblem {
  Attention job;
  Operand queries, keys, values;
  std::vector<std::int32_t> lengths;
  std::vector<std::uint8_t> mask;

  std::int64_t group() const { return job.num_heads / job.num_kv_heads; }
  std::int64_t NumQueries(const HeadRows& rows, std::int64_t size) const {
    return LengthOf(rows, job.num_batch, job.num_heads, job.num_queries, size);
  }
  std::int64_t NumKeys(const HeadRows& rows, std::int64_t size) const {
    return LengthOf(rows, job.num_batch, job.num_kv_heads, job.num_keys, size);
  }
  bool Sees(std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t k) const {
    if (job.causal && k > r + job.row_offset) return false;
    if (!lengths.empty()) return k < lengths[static_cast<std::size_t>(PlaceOf(job.seen, b, h, r))];
    return mask.empty() || mask[static_cast<std::size_t>(PlaceOf(job.seen, b, h, r) + k)] != 0;
  }
};

inline void DrawAttentionSizes(Draw& draw, Attention* job) {
  job->num_batch = draw.Int(1, 3);
  job->num_kv_heads = draw.Int(1, 3);
  job->num_heads = job->num_kv_heads * (draw.Chance(0.3) ? draw.Int(2, 3) : 1);
  job->num_queries = draw.Chance(0.1) ? draw.Int(1, 400) : draw.Int(1, 20);
  job->num_keys = draw.Chance(0.1) ? draw.Int(0, 1200) : draw.Int(0, 140);
  if (draw.Chance(0.02)) {  // more than one part
    job->num_queries = draw.Int(kMaxQueries - 60, kMaxQueries + 200);
    job->num_keys = draw.Int(1, 40);
  }
  job->size = draw.Int(1, 100);
  job->value_size = draw.Int(1, 100);
  job->scale = static_cast<float>(1 / std::sqrt(static_cast<double>(job->size)));
  job->causal = draw.Chance(0.3);
  job->row_offset = draw.Chance(0.5) ? job->num_keys - job->num_queries : draw.Int(-10, job->num_keys + 10);
  job->key_block = draw.Chance(0.5) ? 0 : draw.Int(1, 200);
  job->last_key_first = draw.Chance(0.5);
}

inline void DrawMasking(Draw& draw, AttentionProblem* p) {
  Attention& job = p->job;
  const std::int64_t masking = draw.Int(0, 2);
  if (masking == 1) {
    job.seen = {job.num_heads * job.num_queries, job.num_queries, 1};
    p->lengths.resize(static_cast<std::size_t>(job.num_batch * job.seen.batch));
    for (auto& length : p->lengths) length = static_cast<std::int32_t>(draw.Int(-1, job.num_keys + 2));
  } else if (masking == 2) {
    job.seen = {draw.Chance(0.5) ? job.num_queries * job.num_keys : 0, 0, job.num_keys};
    p->mask.resize(static_cast<std::size_t>(job.num_batch * job.num_queries * job.num_keys));
    for (auto& shown : p->mask) shown = draw.Chance(0.6) ? static_cast<std::uint8_t>(draw.Int(1, 255)) : 0;
    // Some query sees nothing.
    std::fill_n(p->mask.begin(), std::min<std::int64_t>(job.num_keys, static_cast<std::int64_t>(p->mask.size())), 0);
  }
}

inline AttentionProblem DrawAttention(Draw& draw, bool is_bf16) {
  AttentionProblem p;
  Attention& job = p.job;
  job.is_bf16 = is_bf16;
  job.out_is_bf16 = draw.Chance(0.5);
  job.p_is_bf16 = is_bf16 && draw.Chance(0.7);
  DrawAttentionSizes(draw, &job);
  const auto draw_rows = [&](std::int64_t heads, std::int64_t rows, std::int64_t size) {
    return DrawHeadRows(draw, job.num_batch, heads, rows, size);
  };
  job.queries = draw_rows(job.num_heads, job.num_queries, job.size);
  job.keys = draw_rows(job.num_kv_heads, job.num_keys, job.size);
  job.values = draw_rows(job.num_kv_heads, job.num_keys, job.value_size);
  job.out = draw_rows(job.num_heads, job.num_queries, job.value_size);
  job.sums = draw_rows(job.num_heads, job.num_queries, job.value_size);
  job.statistics = draw_rows(job.num_heads, job.num_queries, 1);
  p.queries = DrawOperand(draw, p.NumQueries(job.queries, job.size), is_bf16);
  p.keys = DrawOperand(draw, p.NumKeys(job.keys, job.size), is_bf16);
  p.values = DrawOperand(draw, p.NumKeys(job.values, job.value_size), is_bf16);
  DrawMasking(draw, &p);
  return p;
}

}  // namespace amp::kernels::testing
