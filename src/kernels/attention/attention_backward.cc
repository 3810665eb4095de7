#include "kernels/attention/attention_backward.h"

#include <algorithm>
#include <utility>

#include "kernels/base/float_bits.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kLanes = 16;         // of the widest vectors
constexpr std::int64_t kMinParts = 8;       // where heads are fewer, keys are split
constexpr std::int64_t kSegmentUnit = 256;  // keys of a part: a multiple

// The partition: heads of keys times segments of keys. It depends on shapes alone.
struct Parts {
  std::int64_t keys = 0, per_head = 0, count = 0;

  explicit Parts(const Attention& job) {
    const std::int64_t heads = job.num_batch * job.num_kv_heads;
    const std::int64_t min_segments = heads == 0 ? 1 : CeilDiv(kMinParts, heads);
    keys = std::max(kSegmentUnit, RoundUp(CeilDiv(job.num_keys, min_segments), kSegmentUnit));
    per_head = std::max<std::int64_t>(1, CeilDiv(job.num_keys, keys));
    keys = std::min(keys, job.num_keys);
    count = heads * per_head;
  }
};

std::int64_t GroupRows(const Attention& job) { return job.num_heads / job.num_kv_heads * job.num_queries; }

// Scratch memory. Where keys are split, each part keeps its sums until all are there; else a thread needs one part's.
struct Memory {
  std::size_t deltas, sums, kernel;  // bytes of one
  std::size_t num_sums, total;

  Memory(const AttentionBackward& job, const Parts& parts, std::size_t kernel_bytes) {
    const auto rows = static_cast<std::size_t>(GroupRows(job.forward));
    deltas = Padded(rows * sizeof(float));
    sums = Padded(rows * static_cast<std::size_t>(QuerySumRow(job)) * sizeof(float));
    kernel = Padded(kernel_bytes);
    const auto threads = static_cast<std::size_t>(job.forward.num_threads);
    num_sums = parts.per_head == 1 ? threads : static_cast<std::size_t>(parts.count);
    total = threads * (deltas + kernel) + num_sums * sums;
  }

  static std::size_t Padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }  // lines are not shared
};

template <class T>
T* At(T* data, std::size_t element, const HeadRows& rows, std::int64_t batch, std::int64_t head) {
  if (data == nullptr) return nullptr;
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  const std::int64_t index = batch * rows.batch + head * rows.head;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data) + index * static_cast<std::int64_t>(element));
}

std::size_t Bytes(bool is_bf16) { return is_bf16 ? 2 : 4; }

// What lies `i` elements after the first of a row.
template <bool kIsBF16>
float Element(const void* row, std::int64_t i) {
  if constexpr (kIsBF16) return BF16ToFloat(static_cast<const std::uint16_t*>(row)[i]);
  return static_cast<const float*>(row)[i];
}

// In several sums, which the compiler may keep in vectors.
template <bool kFirstIsBF16, bool kSecondIsBF16>
float Dot(const void* a, const void* b, std::int64_t size) {
  float sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += Element<kFirstIsBF16>(a, i + lane) * Element<kSecondIsBF16>(b, i + lane);
    }
  }
  for (std::int64_t lane = 0; i < size; ++i, ++lane)
    sums[lane] += Element<kFirstIsBF16>(a, i) * Element<kSecondIsBF16>(b, i);
  for (std::int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::int64_t lane = 0; lane < step; ++lane) sums[lane] += sums[lane + step];
  }
  return sums[0];
}

using DotFunction = float (*)(const void*, const void*, std::int64_t);
constexpr DotFunction kDot[2][2] = {{Dot<false, false>, Dot<false, true>}, {Dot<true, false>, Dot<true, true>}};

class Backward {
 public:
  Backward(const AttentionBackwardTable& table, const AttentionBackward& job, const AttentionBackwardData& data,
           void* scratch)
      : table_(table),
        job_(job),
        forward_(job.forward),
        data_(data),
        parts_(forward_),
        memory_(job, parts_, table.scratch_bytes(job, parts_.keys)),
        scratch_(static_cast<char*>(scratch)) {}

  void Run() const {
    const ThreadScope threads(forward_.num_threads);
    ParallelFor(parts_.count, 1, [&](std::int64_t i) { RunPart(i); });
    if (parts_.per_head == 1) return;
    const std::int64_t rows = GroupRows(forward_);
    ParallelFor(parts_.count / parts_.per_head * rows, 64, [&](std::int64_t i) { StoreRow(i / rows, i % rows); });
  }

 private:
  std::int64_t group() const { return forward_.num_heads / forward_.num_kv_heads; }
  std::int64_t BatchOf(std::int64_t head) const { return head / forward_.num_kv_heads; }
  std::int64_t FirstHeadOf(std::int64_t head) const { return head % forward_.num_kv_heads * group(); }

  // The memory of a thread, and the sums of a part or a thread.
  char* OfThread() const {
    return scratch_ + memory_.num_sums * memory_.sums +
           static_cast<std::size_t>(CurrentPlace().part) * (memory_.deltas + memory_.kernel);
  }
  float* Sums(std::int64_t i) const {
    const auto index = static_cast<std::size_t>(parts_.per_head == 1 ? CurrentPlace().part : i);
    return reinterpret_cast<float*>(scratch_ + index * memory_.sums);
  }

  // `head` counts the heads of keys of all batches.
  AttentionBackwardPart PartOf(std::int64_t head) const {
    const std::int64_t batch = BatchOf(head), kv = head % forward_.num_kv_heads, first = FirstHeadOf(head);
    const std::size_t element = Bytes(forward_.is_bf16), gradient = Bytes(job_.gradients_are_bf16);
    const AttentionData& from = data_.forward;
    AttentionBackwardPart part;
    AttentionData& to = part.data.forward;
    to.queries = At(from.queries, element, forward_.queries, batch, first);
    to.keys = At(from.keys, element, forward_.keys, batch, kv);
    to.values = At(from.values, element, forward_.values, batch, kv);
    to.lengths = At(from.lengths, sizeof(std::int32_t), forward_.seen, batch, first);
    to.mask = At(from.mask, 1, forward_.seen, batch, first);
    to.out = At(from.out, Bytes(forward_.out_is_bf16), forward_.out, batch, first);
    to.lse = At(from.lse, sizeof(float), forward_.statistics, batch, first);
    const std::size_t out_gradient = Bytes(job_.out_gradient_is_bf16);
    part.data.out_gradient = At(data_.out_gradient, out_gradient, job_.out_gradient, batch, first);
    part.data.lse_gradient = At(data_.lse_gradient, sizeof(float), forward_.statistics, batch, first);
    part.data.query_gradient = At(data_.query_gradient, gradient, job_.query_gradient, batch, first);
    part.data.key_gradient = At(data_.key_gradient, gradient, job_.key_gradient, batch, kv);
    part.data.value_gradient = At(data_.value_gradient, gradient, job_.value_gradient, batch, kv);
    return part;
  }

  void RunPart(std::int64_t i) const {
    const std::int64_t head = i / parts_.per_head;
    AttentionBackwardPart part = PartOf(head);
    part.first_key = i % parts_.per_head * parts_.keys;
    part.end_key = std::min(part.first_key + parts_.keys, forward_.num_keys);
    auto* deltas = reinterpret_cast<float*>(OfThread());
    FindDeltas(part.data, deltas);
    part.deltas = deltas;
    part.query_sums = Sums(i);
    table_.run(job_, part, OfThread() + memory_.deltas);
    if (parts_.per_head != 1) return;
    for (std::int64_t row = 0; row < GroupRows(forward_); ++row) StoreRow(head, row);
  }

  void FindDeltas(const AttentionBackwardData& data, float* deltas) const {
    const DotFunction dot = kDot[job_.out_gradient_is_bf16][forward_.out_is_bf16];
    const std::size_t out = Bytes(forward_.out_is_bf16), out_gradient = Bytes(job_.out_gradient_is_bf16);
    for (std::int64_t head = 0; head < group(); ++head) {
      for (std::int64_t row = 0; row < forward_.num_queries; ++row) {
        const auto place = [&](const HeadRows& rows) { return head * rows.head + row * rows.row; };
        const auto* gradient = static_cast<const char*>(data.out_gradient);
        const auto* result = static_cast<const char*>(data.forward.out);
        float delta = dot(gradient + place(job_.out_gradient) * static_cast<std::int64_t>(out_gradient),
                          result + place(forward_.out) * static_cast<std::int64_t>(out), forward_.value_size);
        if (data.lse_gradient != nullptr) delta -= data.lse_gradient[place(forward_.statistics)];
        *deltas++ = delta;
      }
    }
  }

  // The gradient of one query: the sums of all parts of the head, in their order. The first of them becomes it.
  void StoreRow(std::int64_t head, std::int64_t row) const {
    const std::int64_t offset = row * QuerySumRow(job_);
    const std::int64_t at = BatchOf(head) * job_.query_gradient.batch +
                            (FirstHeadOf(head) + row / forward_.num_queries) * job_.query_gradient.head +
                            row % forward_.num_queries * job_.query_gradient.row;
    float* sums = Sums(head * parts_.per_head) + offset;
    for (std::int64_t k = 1; k < parts_.per_head; ++k) {
      const float* others = Sums(head * parts_.per_head + k) + offset;
      for (std::int64_t i = 0; i < forward_.size; ++i) sums[i] += others[i];
    }
    for (std::int64_t i = 0; i < forward_.size; ++i) sums[i] *= forward_.scale;
    StoreElements(at, sums);
  }

  void StoreElements(std::int64_t at, const float* row) const {
    auto* rounded = static_cast<std::uint16_t*>(data_.query_gradient) + at;
    auto* plain = static_cast<float*>(data_.query_gradient) + at;
    if (job_.gradients_are_bf16) {
      for (std::int64_t i = 0; i < forward_.size; ++i) rounded[i] = FloatToBF16(row[i]);
    } else if (job_.adds) {
      for (std::int64_t i = 0; i < forward_.size; ++i) plain[i] += row[i];
    } else {
      std::copy_n(row, forward_.size, plain);
    }
  }

  const AttentionBackwardTable& table_;
  const AttentionBackward& job_;
  const Attention& forward_;
  const AttentionBackwardData& data_;
  const Parts parts_;
  const Memory memory_;
  char* const scratch_;
};

}  // namespace

std::int64_t QuerySumRow(const AttentionBackward& job) { return RoundUp(job.forward.size, kLanes); }

std::size_t AttentionBackwardScratchBytes(const AttentionBackward& job) {
  const Parts parts(job.forward);
  std::size_t most = 0;  // of any table that the CPU can run: tests choose theirs
  for (const AttentionBackwardTable* table : TablesOfThisCpu<AttentionBackwardTable>()) {
    most = std::max(most, Memory(job, parts, table->scratch_bytes(job, parts.keys)).total);
  }
  return most;
}

void RunAttentionBackwardWith(const AttentionBackwardTable& table, const AttentionBackward& job,
                              const AttentionBackwardData& data, void* scratch) {
  Backward(table, job, data, scratch).Run();
}

void RunAttentionBackward(const AttentionBackward& job, const AttentionBackwardData& data, void* scratch) {
  RunAttentionBackwardWith(BestTable<AttentionBackwardTable>(), job, data, scratch);
}

}  // namespace amp::kernels
