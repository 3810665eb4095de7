#include "ops/attention/amp_attention.h"

#include <cmath>
#include <utility>

#include "ops/common/broadcast.h"
#include "ops/common/rules.h"

namespace amp {
namespace {

constexpr std::int64_t kMaxRowOffset = std::int64_t{1} << 40;

ParamSchema<AmpAttentionParam> SchemaWith(std::vector<std::string> maskings) {
  return ParamSchema<AmpAttentionParam>()
      .Optional("scale", &AmpAttentionParam::scale, "What the products of queries and keys are multiplied by.")
      .Optional("causal", &AmpAttentionParam::causal, "Query i of M sees key j of N where j <= i + row_offset alone.")
      .Optional("row_offset", &AmpAttentionParam::row_offset,
                "How far a causal query sees beyond its row; None: N - M.")
      .Optional("masking", &AmpAttentionParam::masking, "How keys are hidden from queries.")
      .OneOf(std::move(maskings));
}

// Sizes along the last two axes; the others are those of outputs.
struct Sizes {
  std::int64_t heads, queries, keys, size, value_size;
};

Sizes SizesOf(const Shape& queries, const Shape& values) {
  const int rank = queries.rank();
  return {queries.SizeOf(0, rank - 2), queries[rank - 2], values[rank - 2], queries[rank - 1], values[rank - 1]};
}

bool SameHeads(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank() - 2; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

Shape WithLast(Shape shape, std::int64_t size) {
  shape[shape.rank() - 1] = size;
  return shape;
}

Shape WithoutLast(const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.pop_back();
  return Shape(dims);
}

void InferMask(ShapeRelation& r, const Shape& scores) {
  if (!r.in(3).rank_known()) return r.In(3, scores);
  if (!r.in(3).fully_known()) return;
  const Shape& mask = r.in(3);
  const int rank = scores.rank();
  bool fits = mask.rank() == rank && mask[rank - 1] == scores[rank - 1];
  for (int i = 0; fits && i < rank; ++i) fits = mask[i] == scores[i] || mask[i] == 1;
  if (!fits) FailAt(r.node(), "mask of shape {} does not fit scores {}", mask.ToString(), scores.ToString());
}

// In float32 nothing is rounded; else P is, as the operands were.
AttentionWork WorkOf(const AmpAttentionParam& p, DType dtype) {
  AttentionWork work;
  work.masking = MaskingOf(p);
  work.job.scale = static_cast<float>(p.scale);
  work.job.causal = p.causal;
  if (dtype == DType::kBFloat16) work.p_dtype = dtype;
  return work;
}

void SetSizes(const AmpAttentionParam& p, kernels::Attention* job, std::int64_t queries, std::int64_t keys,
              std::int64_t size, std::int64_t value_size) {
  job->num_kv_heads = job->num_heads;
  job->num_queries = queries;
  job->num_keys = keys;
  job->row_offset = RowOffsetOf(p, queries, keys);
  job->size = size;
  job->value_size = value_size;
  job->statistics = HeadsThenRows(job->num_heads, queries, 1);
  job->sums = HeadsThenRows(job->num_heads, queries, value_size);
}

// The stride of one axis of a mask, which may have size 1 where it stands for many.
std::int64_t StrideOf(std::int64_t size, std::int64_t stride) { return size == 1 ? 0 : stride; }

// A mask's axes: all heads', queries, keys. Those of heads are one axis, or two.
kernels::HeadRows RowsOfMask(const Shape& mask) {
  const int rank = mask.rank();
  const std::int64_t row = mask[rank - 1], head = mask[rank - 2] * row;
  if (rank == 3) return {StrideOf(mask[0], head), 0, StrideOf(mask[1], row)};
  return {StrideOf(mask[0], mask[1] * head), StrideOf(mask[1], head), StrideOf(mask[2], row)};
}

// A mask in the shape of scores, whatever its axes of size 1.
std::vector<NDArray> WithWholeMask(std::span<const NDArray> in, std::size_t mask, const Shape& scores) {
  std::vector<NDArray> operands(in.begin(), in.end());
  operands[mask] = NDArray(in[mask].dtype(), scores);
  BroadcastElements(in[mask], operands[mask]);
  return operands;
}

}  // namespace

ParamSchema<AmpAttentionParam> SeparateAttentionSchema() { return SchemaWith({"none", "length", "mask"}); }

ParamSchema<AmpAttentionParam> InterleavedAttentionSchema() {
  return SchemaWith({"none", "length"})
      .Required("heads", &AmpAttentionParam::heads, "Number of attention heads.")
      .Range(1, 1 << 20);
}

void ValidateAttention(AmpAttentionParam& p) {
  if (!std::isfinite(p.scale)) throw GraphError("attribute scale: expected a finite number");
  if (p.row_offset && (*p.row_offset < -kMaxRowOffset || *p.row_offset > kMaxRowOffset)) {
    Throw<GraphError>("attribute row_offset: {} is out of range", *p.row_offset);
  }
}

std::vector<std::string> WithMasking(const AmpAttentionParam& p, std::vector<std::string> names) {
  if (p.masking != "none") names.push_back(p.masking == "length" ? "lengths" : "mask");
  return names;
}

Masking MaskingOf(const AmpAttentionParam& p) {
  if (p.masking == "none") return Masking::kNone;
  return p.masking == "length" ? Masking::kLength : Masking::kMask;
}

std::int64_t RowOffsetOf(const AmpAttentionParam& p, std::int64_t queries, std::int64_t keys) {
  return p.row_offset.value_or(keys - queries);
}

DType SeenDType(const AmpAttentionParam& p) { return p.masking == "length" ? DType::kInt32 : DType::kBool; }

void InferSeparateAttention(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known() || !r.in(2).fully_known()) return;
  const Shape &q = r.in(0), &k = r.in(1), &v = r.in(2);
  const int rank = q.rank();
  const bool fits =
      rank >= 3 && SameHeads(q, k) && SameHeads(q, v) && k[rank - 1] == q[rank - 1] && v[rank - 2] == k[rank - 2];
  if (!fits) {
    FailAt(r.node(),
           "expected query (heads..., M, D), key (heads..., N, D) and value (heads..., N, E), got {}, {} and {}",
           q.ToString(), k.ToString(), v.ToString());
  }
  const auto& masking = r.node().params<AmpAttentionParam>().masking;
  if (masking == "length") r.In(3, WithoutLast(q));
  if (masking == "mask") InferMask(r, WithLast(q, k[rank - 2]));
  r.Out(0, WithLast(q, v[rank - 1]));
  r.Out(1, WithoutLast(q));
  r.Out(2, WithLast(q, v[rank - 1]));
}

Shape SplitProjections(const Node& node, const Shape& projections) {
  const std::int64_t heads = node.params<AmpAttentionParam>().heads;
  if (projections.rank() != 3 || projections[2] % (3 * heads) != 0) {
    FailAt(node, "expected projections (length, batch, 3 * {} * size), got {}", heads, projections.ToString());
  }
  return Shape{projections[0], projections[1], heads, 3, projections[2] / (3 * heads)};
}

void InferInterleavedAttention(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const Shape s = SplitProjections(r.node(), r.in(0));
  const std::int64_t heads = s[1] * s[2];
  if (r.num_inputs() > 1) r.In(1, Shape{heads, s[0]});
  r.Out(0, Shape{s[0], s[1], s[2] * s[4]});
  r.Out(1, Shape{heads, s[0]});
  r.Out(2, Shape{heads, s[0], s[4]});
}

AttentionWork SeparateAttentionWork(const AmpAttentionParam& p, DType dtype, const Shape& queries, const Shape& values,
                                    const Shape* mask) {
  const int rank = queries.rank();
  const Sizes s = SizesOf(queries, values);
  AttentionWork work = WorkOf(p, dtype);
  kernels::Attention& job = work.job;
  job.num_heads = rank == 4 ? queries[1] : 1;
  job.num_batch = rank == 4 ? queries[0] : s.heads;
  SetSizes(p, &job, s.queries, s.keys, s.size, s.value_size);
  job.queries = HeadsThenRows(job.num_heads, s.queries, s.size);
  job.keys = HeadsThenRows(job.num_heads, s.keys, s.size);
  job.values = HeadsThenRows(job.num_heads, s.keys, s.value_size);
  job.out = HeadsThenRows(job.num_heads, s.queries, s.value_size);
  job.seen = mask != nullptr ? RowsOfMask(*mask) : job.statistics;
  return work;
}

AttentionWork InterleavedAttentionWork(const AmpAttentionParam& p, DType dtype, const Shape& split) {
  AttentionWork work = WorkOf(p, dtype);
  work.interleaved = true;
  kernels::Attention& job = work.job;
  const std::int64_t length = split[0], batch = split[1], heads = split[2], size = split[4];
  job.num_batch = batch;
  job.num_heads = heads;
  SetSizes(p, &job, length, length, size, size);
  job.queries = job.keys = job.values = {heads * 3 * size, 3 * size, batch * heads * 3 * size};
  job.out = {heads * size, size, batch * heads * size};
  job.seen = job.statistics;
  return work;
}

void WithSeparateAttention(const Node& node, std::span<const NDArray> in, std::size_t first,
                           const RunAttentionWork& run) {
  const auto& p = node.params<AmpAttentionParam>();
  const Shape &queries = in[first].shape(), &values = in[first + 2].shape();
  if (p.masking != "mask") return run(SeparateAttentionWork(p, in[first].dtype(), queries, values, nullptr), in);
  const Sizes s = SizesOf(queries, values);
  const std::vector<NDArray> operands = WithWholeMask(in, first + 3, WithLast(queries, s.keys));
  AttentionWork work = SeparateAttentionWork(p, in[first].dtype(), queries, values, nullptr);
  work.job.seen = HeadsThenRows(work.job.num_heads, s.queries, s.keys);
  run(work, operands);
}

}  // namespace amp
