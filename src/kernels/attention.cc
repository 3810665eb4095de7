#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/float_bits.h"
#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

float Load(const void* data, bool is_bf16, std::int64_t i) {
  return is_bf16 ? BF16ToFloat(static_cast<const std::uint16_t*>(data)[i]) : static_cast<const float*>(data)[i];
}

void Store(void* data, bool is_bf16, std::int64_t i, float value) {
  if (is_bf16) {
    static_cast<std::uint16_t*>(data)[i] = FloatToBF16(value);
  } else {
    static_cast<float*>(data)[i] = value;
  }
}

// How many keys query `row` of the part may see: all of them, or those before its length.
std::int64_t NumSeen(const Attention& job, const AttentionData& data, std::int64_t row) {
  if (data.lengths == nullptr) return job.num_keys;
  return std::clamp<std::int64_t>(data.lengths[row * job.seen.row], 0, job.num_keys);
}

// exp(score - the largest) by key; 0 for those that are not seen. Returns their sum.
float Weights(const Attention& job, const AttentionData& data, std::int64_t row, float* weights) {
  const std::int64_t num_seen = NumSeen(job, data, row);
  float largest = kHidden;
  for (std::int64_t k = 0; k < num_seen; ++k) {
    float score = 0;
    for (std::int64_t i = 0; i < job.size; ++i) {
      score += Load(data.queries, job.is_bf16, row * job.queries.row + i) *
               Load(data.keys, job.is_bf16, k * job.keys.row + i);
    }
    const bool is_hidden = data.mask != nullptr && data.mask[row * job.seen.row + k] == 0;
    weights[k] = is_hidden ? kHidden : score * job.scale;
    largest = std::max(largest, weights[k]);
  }
  if (largest == kHidden) largest = 0;
  float sum = 0;
  for (std::int64_t k = 0; k < num_seen; ++k) sum += weights[k] = std::exp(weights[k] - largest);
  return sum;
}

void RunPart(const Attention& job, const AttentionPart& part, void* scratch) {
  auto* weights = static_cast<float*>(scratch);
  const AttentionData& data = part.data;
  for (std::int64_t row = 0; row < part.num_queries; ++row) {
    const float sum = Weights(job, data, row, weights);
    const std::int64_t num_seen = NumSeen(job, data, row);
    const bool sees_nothing = num_seen == 0 || (data.mask != nullptr && sum == 0);
    for (std::int64_t i = 0; i < job.value_size; ++i) {
      float y = 0;
      for (std::int64_t k = 0; k < num_seen; ++k) {
        y += weights[k] * Load(data.values, job.is_bf16, k * job.values.row + i);
      }
      Store(data.out, job.out_is_bf16, row * job.out.row + i, sees_nothing ? 0 : y / sum);
    }
  }
}

constexpr std::size_t kLine = 64;  // bytes that threads may not share

std::size_t Padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t BytesForWeights(const Attention& job) { return static_cast<std::size_t>(job.num_keys) * sizeof(float); }

constexpr AttentionTable kGeneric = {Isa::kGeneric, false, BytesForWeights, RunPart};

// Heads times blocks of queries. Each part goes through all keys, so larger ones are better; but threads want their
// share.
struct Parts {
  std::int64_t queries = 0, per_head = 0, count = 0;
};

constexpr std::int64_t kRows =
    6;  // see attention_avx512.h and attention_avx2.cc: parts begin where a block of rows does

Parts PartsOf(const Attention& job) {
  const std::int64_t heads = job.num_batch * job.num_heads;
  const std::int64_t pieces = heads % job.num_threads == 0 ? 1 : (4 * job.num_threads + heads - 1) / heads;
  const std::int64_t share = (job.num_queries + pieces - 1) / pieces;
  Parts parts;
  parts.queries = std::min(kMaxQueries, std::max(kRows, (share + kRows - 1) / kRows * kRows));
  parts.per_head = (job.num_queries + parts.queries - 1) / parts.queries;
  parts.count = heads * parts.per_head;
  return parts;
}

template <class T>
T* At(T* data, std::size_t element, const HeadRows& rows, std::int64_t batch, std::int64_t head, std::int64_t row) {
  if (data == nullptr) return nullptr;
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  const std::int64_t index = batch * rows.batch + head * rows.head + row * rows.row;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data) + index * static_cast<std::int64_t>(element));
}

AttentionPart PartAt(const Attention& job, const AttentionData& data, const Parts& parts, std::int64_t i) {
  const std::int64_t first = i % parts.per_head * parts.queries, pair = i / parts.per_head;
  const std::int64_t head = pair % job.num_heads, batch = pair / job.num_heads;
  const std::size_t element = job.is_bf16 ? 2 : 4;
  AttentionPart part;
  part.num_queries = std::min(parts.queries, job.num_queries - first);
  part.data.queries = At(data.queries, element, job.queries, batch, head, first);
  part.data.keys = At(data.keys, element, job.keys, batch, head, 0);
  part.data.values = At(data.values, element, job.values, batch, head, 0);
  part.data.lengths = At(data.lengths, sizeof(std::int32_t), job.seen, batch, head, first);
  part.data.mask = At(data.mask, 1, job.seen, batch, head, first);
  part.data.out = At(data.out, job.out_is_bf16 ? 2 : 4, job.out, batch, head, first);
  return part;
}

}  // namespace

const AttentionTable* AttentionTableGeneric() { return &kGeneric; }

const AttentionTable& ActiveAttentionTable(bool is_bf16) {
  static const AttentionTable& single = BestTable<AttentionTable>(
      {{Isa::kGeneric, AttentionTableGeneric}, {Isa::kAvx2, AttentionTableAvx2}, {Isa::kAvx512, AttentionTableAvx512}});
  static const AttentionTable& pairs = CpuHasBF16()
                                           ? BestTable<AttentionTable>({{Isa::kGeneric, AttentionTableGeneric},
                                                                        {Isa::kAvx2, AttentionTableAvx2},
                                                                        {Isa::kAvx512, AttentionTableAvx512},
                                                                        {Isa::kAvx512, AttentionTableAvx512BF16}})
                                           : single;
  return is_bf16 ? pairs : single;
}

std::size_t AttentionScratchBytes(const Attention& job) {
  constexpr std::pair<Isa, const AttentionTable* (*)()> kGetters[] = {{Isa::kGeneric, AttentionTableGeneric},
                                                                      {Isa::kAvx2, AttentionTableAvx2},
                                                                      {Isa::kAvx512, AttentionTableAvx512},
                                                                      {Isa::kAvx512, AttentionTableAvx512BF16}};
  std::size_t most = 0;  // of any table that the CPU can run: tests choose theirs
  for (const auto& [isa, getter] : kGetters) {
    const bool needs_bf16 = getter == AttentionTableAvx512BF16;  // compiled for it: not even the getter may run
    const AttentionTable* table = isa <= CpuIsa() && (!needs_bf16 || CpuHasBF16()) ? getter() : nullptr;
    if (table != nullptr) most = std::max(most, Padded(table->scratch_bytes(job)));
  }
  return most * static_cast<std::size_t>(job.num_threads);
}

void RunAttentionWith(const AttentionTable& table, const Attention& job, const AttentionData& data, void* scratch) {
  if (job.num_batch * job.num_heads * job.num_queries == 0) return;
  const Parts parts = PartsOf(job);
  const std::size_t bytes = Padded(table.scratch_bytes(job));
  const ThreadScope threads(job.num_threads);
  ParallelFor(parts.count, 1, [&](std::int64_t i) {
    table.run(job, PartAt(job, data, parts, i),
              static_cast<char*>(scratch) + static_cast<std::size_t>(CurrentPlace().part) * bytes);
  });
}

void RunAttention(const Attention& job, const AttentionData& data, void* scratch) {
  RunAttentionWith(ActiveAttentionTable(job.is_bf16), job, data, scratch);
}

}  // namespace amp::kernels
