#include "kernels/attention/attention.h"

#include <algorithm>
#include <utility>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::size_t kLine = 64;  // bytes that threads may not share

std::size_t Padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Heads times blocks of queries. Each part goes through all keys, so larger ones are better; but threads want their
// share.
struct Parts {
  std::int64_t queries = 0, per_head = 0, count = 0;
};

constexpr std::int64_t kRows = 6;  // see attention_products_code.h: parts begin where a strip of rows does

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

std::int64_t NumSeenKeys(const Attention& job, const AttentionPart& part, std::int64_t row) {
  std::int64_t count = job.num_keys;
  if (part.data.lengths != nullptr) count = std::min<std::int64_t>(count, part.data.lengths[row * job.seen.row]);
  if (job.causal) count = std::min(count, part.first_query + row + job.row_offset + 1);
  return std::max<std::int64_t>(count, 0);
}

const AttentionTable& ActiveAttentionTable(const Attention& job) {
  static const AttentionTable* pairs =
      PairsAreFast() && AllowedIsa() >= Isa::kAvx512 ? AttentionTable::Avx512BF16() : nullptr;
  return job.is_bf16 && job.p_is_bf16 && pairs != nullptr ? *pairs : BestTable<AttentionTable>();
}

std::size_t AttentionScratchBytes(const Attention& job) {
  std::size_t most = 0;  // of any table that the CPU can run: tests choose theirs
  std::vector<const AttentionTable*> tables = TablesOfThisCpu<AttentionTable>();
  if (CpuIsa() >= Isa::kAvx512 && CpuHasBF16()) tables.push_back(AttentionTable::Avx512BF16());
  for (const AttentionTable* table : tables) {
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
