// Attention: softmax(scale * queries keys^T) values, for each head of each batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// Row `row` of head `head` of batch `batch` begins `batch * .batch + head * .head + row * .row` elements from the
// beginning; its elements lie side by side.
struct HeadRows {
  std::int64_t batch = 0, head = 0, row = 0;
};

// Keys are taken in blocks. For each: scores S = (queries keys^T) * scale; m = the largest score so far, P = exp(S -
// m); l = l exp(m_before - m) + the sum of P; O = O exp(m_before - m) + P values. The result is O / l, the log-sum-exp
// m + log l. Sums are float32 and start anew in no block; the result is rounded once. CPUs with bfloat16 arithmetic
// treat denormals as zero where operands are bfloat16.
struct Attention {
  bool is_bf16 = false;      // queries, keys and values; else float32
  bool out_is_bf16 = false;  // what is written
  bool p_is_bf16 = false;    // P is rounded to bfloat16 before it multiplies values, not where it is summed up
  float scale = 1;
  bool causal = false;
  std::int64_t row_offset = 0;  // where causal: query i sees key j where j <= i + row_offset
  std::int64_t key_block = 0;   // keys of a block; 0: the kernel's own choice
  bool last_key_first = false;  // the block of the last keys comes first
  bool continues = false;       // from the state that is given; else from nothing
  std::int64_t num_batch = 1;
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;  // num_heads is a multiple: so many neighbours share keys and values
  std::int64_t num_queries = 0, num_keys = 0;
  std::int64_t size = 0;        // of a query and a key
  std::int64_t value_size = 0;  // of a value and a result
  HeadRows queries, keys, values, out;
  // The rows of lengths (one per query; .row is the distance of two queries') or of the mask (a row of keys per query);
  // 0 where all share them.
  HeadRows seen;
  HeadRows statistics;  // of lse, largest and sum: one number per query
  HeadRows sums;
  int num_threads = 1;  // for which there is scratch memory
};

struct AttentionData {
  const void* queries = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  // At most one of them. A query sees the first so many keys, or those whose byte is not 0. A query that sees none
  // gives zeros and a log-sum-exp of -inf.
  const std::int32_t* lengths = nullptr;
  const std::uint8_t* mask = nullptr;
  // What is not null is written.
  void* out = nullptr;
  float* lse = nullptr;
  // The state of a query: m, l and O. All of it is there or none; it is read where the job continues, and written.
  float* largest = nullptr;
  float* sum = nullptr;
  float* sums = nullptr;
};

std::size_t AttentionScratchBytes(const Attention& job);

// `scratch`: so many bytes. Splits the heads and blocks of queries among job.num_threads threads; the result does not
// depend on their number. Allocates nothing.
void RunAttention(const Attention& job, const AttentionData& data, void* scratch);

// Some queries of one head.
struct AttentionPart {
  AttentionData data;  // from the first query on
  // Operands of the part that follows, to be fetched meanwhile: rows of a head often lie pages apart. Null: none.
  const void *next_queries = nullptr, *next_keys = nullptr, *next_values = nullptr;
  std::int64_t first_query = 0;
  std::int64_t num_queries = 0;
};

// How many keys query `row` of the part may see: of all of them the first so many.
std::int64_t NumSeenKeys(const Attention& job, const AttentionPart& part, std::int64_t row);

// At most this many queries are one part. A multiple of the rows that kernels work on together.
inline constexpr std::int64_t kMaxQueries = 1152;

inline constexpr float kLog2E = 1.44269504088896341f;  // kernels compute e^x as 2^(x kLog2E)

struct AttentionTable {
  Isa isa;
  bool has_bf16_arithmetic;
  std::size_t (*scratch_bytes)(const Attention& job);  // of one thread
  void (*run)(const Attention& job, const AttentionPart& part, void* scratch);

  // See BestTable. The last one is for bfloat16 operands and P alone.
  static const AttentionTable *Generic(), *Avx2(), *Avx512(), *Avx512BF16();
};

// The best table for the job that AllowedIsa() permits.
const AttentionTable& ActiveAttentionTable(const Attention& job);
// RunAttention with a given table, for tests.
void RunAttentionWith(const AttentionTable& table, const Attention& job, const AttentionData& data, void* scratch);

}  // namespace amp::kernels
