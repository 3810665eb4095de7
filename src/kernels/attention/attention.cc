#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/base/float_bits.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

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

constexpr std::int64_t kKeyBlock = 512;

std::int64_t KeyBlock(const Attention& job) {
  return std::min(job.key_block == 0 ? kKeyBlock : job.key_block, job.num_keys);
}

// One query: what it knows after some blocks of keys.
class Row {
 public:
  Row(const Attention& job, const AttentionPart& part, std::int64_t row, void* scratch)
      : job_(job),
        data_(part.data),
        row_(row),
        num_seen_(NumSeenKeys(job, part, row)),
        sums_(static_cast<float*>(scratch)),
        weights_(sums_ + job.value_size) {}

  void Run() {
    Begin();
    const std::int64_t block = KeyBlock(job_), num_blocks = block == 0 ? 0 : CeilDiv(num_seen_, block);
    for (std::int64_t i = 0; i < num_blocks; ++i) {
      const std::int64_t first = (job_.last_key_first ? num_blocks - 1 - i : i) * block;
      AddBlock(first, std::min(num_seen_, first + block));
    }
    Finish();
  }

 private:
  float* State(float* statistics) const { return statistics + row_ * job_.statistics.row; }

  void Begin() {
    std::fill_n(sums_, job_.value_size, 0.0F);
    if (!job_.continues) return;
    largest_ = *State(data_.largest);
    sum_ = *State(data_.sum);
    std::copy_n(data_.sums + row_ * job_.sums.row, job_.value_size, sums_);
  }

  float Score(std::int64_t key) const {
    if (data_.mask != nullptr && data_.mask[row_ * job_.seen.row + key] == 0) return kHidden;
    float score = 0;
    for (std::int64_t i = 0; i < job_.size; ++i) {
      score += Load(data_.queries, job_.is_bf16, row_ * job_.queries.row + i) *
               Load(data_.keys, job_.is_bf16, key * job_.keys.row + i);
    }
    return score * job_.scale;
  }

  void AddBlock(std::int64_t first, std::int64_t end) {
    const float before = largest_;
    for (std::int64_t key = first; key < end; ++key) {
      weights_[key - first] = Score(key);
      largest_ = std::max(largest_, weights_[key - first]);
    }
    const float base = largest_ == kHidden ? 0 : largest_;
    const float factor = before == kHidden ? 0 : std::exp(before - base);
    sum_ *= factor;
    for (std::int64_t i = 0; i < job_.value_size; ++i) sums_[i] *= factor;
    for (std::int64_t key = first; key < end; ++key) AddKey(key, std::exp(weights_[key - first] - base));
  }

  void AddKey(std::int64_t key, float weight) {
    if (data_.mask != nullptr && data_.mask[row_ * job_.seen.row + key] == 0) return;
    sum_ += weight;
    const float factor = job_.p_is_bf16 ? BF16ToFloat(FloatToBF16(weight)) : weight;
    for (std::int64_t i = 0; i < job_.value_size; ++i) {
      sums_[i] += factor * Load(data_.values, job_.is_bf16, key * job_.values.row + i);
    }
  }

  void Finish() const {
    const bool sees_nothing = sum_ == 0 && (num_seen_ == 0 || data_.mask != nullptr);
    if (data_.out != nullptr) {
      for (std::int64_t i = 0; i < job_.value_size; ++i) {
        Store(data_.out, job_.out_is_bf16, row_ * job_.out.row + i, sees_nothing ? 0 : sums_[i] / sum_);
      }
    }
    if (data_.lse != nullptr) *State(data_.lse) = sees_nothing ? kHidden : largest_ + std::log(sum_);
    if (data_.sums == nullptr) return;
    *State(data_.largest) = largest_;
    *State(data_.sum) = sum_;
    std::copy_n(sums_, job_.value_size, data_.sums + row_ * job_.sums.row);
  }

  const Attention& job_;
  const AttentionData& data_;
  const std::int64_t row_, num_seen_;
  float* const sums_;
  float* const weights_;  // of a block
  float largest_ = kHidden, sum_ = 0;
};

void RunPart(const Attention& job, const AttentionPart& part, void* scratch) {
  for (std::int64_t row = 0; row < part.num_queries; ++row) Row(job, part, row, scratch).Run();
}

constexpr std::size_t kLine = 64;  // bytes that threads may not share

std::size_t Padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t BytesOfRow(const Attention& job) {
  return static_cast<std::size_t>(job.value_size + KeyBlock(job)) * sizeof(float);
}

constexpr AttentionTable kGeneric = {Isa::kGeneric, false, BytesOfRow, RunPart};

// Heads times blocks of queries. Each part goes through all keys, so larger ones are better; but threads want their
// share.
struct Parts {
  std::int64_t queries = 0, per_head = 0, count = 0;
};

constexpr std::int64_t kRows =
    6;  // see attention_avx512.h and attention_avx2.cc: parts begin where a block of rows does

Parts PartsOf(const Attention& job) {
  const std::int64_t heads = job.num_batch * job.num_heads;
  const std::int64_t pieces = heads % job.num_threads == 0 ? 1 : CeilDiv(4 * job.num_threads, heads);
  const std::int64_t share = CeilDiv(job.num_queries, pieces);
  Parts parts;
  parts.queries = std::min(kMaxQueries, std::max(kRows, RoundUp(share, kRows)));
  parts.per_head = CeilDiv(job.num_queries, parts.queries);
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
  const std::int64_t kv_head = head / (job.num_heads / job.num_kv_heads);
  const std::size_t element = job.is_bf16 ? 2 : 4;
  AttentionPart part;
  part.first_query = first;
  part.num_queries = std::min(parts.queries, job.num_queries - first);
  part.data.queries = At(data.queries, element, job.queries, batch, head, first);
  part.data.keys = At(data.keys, element, job.keys, batch, kv_head, 0);
  part.data.values = At(data.values, element, job.values, batch, kv_head, 0);
  part.data.lengths = At(data.lengths, sizeof(std::int32_t), job.seen, batch, head, first);
  part.data.mask = At(data.mask, 1, job.seen, batch, head, first);
  part.data.out = At(data.out, job.out_is_bf16 ? 2 : 4, job.out, batch, head, first);
  for (float* AttentionData::*const statistic : {&AttentionData::lse, &AttentionData::largest, &AttentionData::sum}) {
    part.data.*statistic = At(data.*statistic, sizeof(float), job.statistics, batch, head, first);
  }
  part.data.sums = At(data.sums, sizeof(float), job.sums, batch, head, first);
  return part;
}

// Parts that follow each other are computed one after the other, but for the last of each thread.
AttentionPart PartWithNext(const Attention& job, const AttentionData& data, const Parts& parts, std::int64_t i) {
  AttentionPart part = PartAt(job, data, parts, i);
  if (i + 1 == parts.count) return part;
  const AttentionData next = PartAt(job, data, parts, i + 1).data;
  part.next_queries = next.queries;
  part.next_keys = next.keys == part.data.keys ? nullptr : next.keys;
  part.next_values = next.values == part.data.values ? nullptr : next.values;
  return part;
}

// Whether sums of pairs of bfloat16 products take less time than sums of float32 ones. Not on Intel's cores: all of
// attention takes 1.5 times as long there.
bool PairsAreFast() {
#if defined(__x86_64__)
  return CpuHasBF16() && !__builtin_cpu_is("intel");
#else
  return CpuHasBF16();
#endif
}

}  // namespace

const AttentionTable* AttentionTableGeneric() { return &kGeneric; }

std::int64_t NumSeenKeys(const Attention& job, const AttentionPart& part, std::int64_t row) {
  std::int64_t count = job.num_keys;
  if (part.data.lengths != nullptr) count = std::min<std::int64_t>(count, part.data.lengths[row * job.seen.row]);
  if (job.causal) count = std::min(count, part.first_query + row + job.row_offset + 1);
  return std::max<std::int64_t>(count, 0);
}

const AttentionTable& ActiveAttentionTable(const Attention& job) {
  static const AttentionTable& single = BestTable<AttentionTable>(
      {{Isa::kGeneric, AttentionTableGeneric}, {Isa::kAvx2, AttentionTableAvx2}, {Isa::kAvx512, AttentionTableAvx512}});
  static const AttentionTable& pairs = PairsAreFast()
                                           ? BestTable<AttentionTable>({{Isa::kGeneric, AttentionTableGeneric},
                                                                        {Isa::kAvx2, AttentionTableAvx2},
                                                                        {Isa::kAvx512, AttentionTableAvx512},
                                                                        {Isa::kAvx512, AttentionTableAvx512BF16}})
                                           : single;
  return job.is_bf16 && job.p_is_bf16 ? pairs : single;
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
    table.run(job, PartWithNext(job, data, parts, i),
              static_cast<char*>(scratch) + static_cast<std::size_t>(CurrentPlace().part) * bytes);
  });
}

void RunAttention(const Attention& job, const AttentionData& data, void* scratch) {
  RunAttentionWith(ActiveAttentionTable(job), job, data, scratch);
}

}  // namespace amp::kernels
