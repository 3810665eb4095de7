// Attention as one operator: what the pass FuseAttention puts in place of two products and the softmax between them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/broadcast.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct AttentionParam {
  std::int64_t heads = 0;  // of interleaved projections
  double scale = 1;
  std::string masking = "none";
};

ParamSchema<AttentionParam> Schema() {
  return ParamSchema<AttentionParam>()
      .Optional("scale", &AttentionParam::scale, "What the products of queries and keys are multiplied by.")
      .Optional("masking", &AttentionParam::masking, "How keys are hidden from queries.");
}

ParamSchema<AttentionParam> SeparateSchema() { return Schema().OneOf({"none", "length", "mask"}); }
ParamSchema<AttentionParam> InterleavedSchema() {
  return Schema()
      .OneOf({"none", "length"})
      .Required("heads", &AttentionParam::heads, "Number of attention heads.")
      .Range(1, 1 << 20);
}

void Validate(AttentionParam& p) {
  if (!std::isfinite(p.scale)) throw GraphError("attribute scale: expected a finite number");
}

std::vector<std::string> WithMasking(const AttentionParam& p, std::vector<std::string> names) {
  if (p.masking != "none") names.push_back(p.masking == "length" ? "lengths" : "mask");
  return names;
}

Masking MaskingOf(const AttentionParam& p) {
  if (p.masking == "none") return Masking::kNone;
  return p.masking == "length" ? Masking::kLength : Masking::kMask;
}

// ---- types ----

// Data inputs of one float dtype; the hidden outputs stay as they are summed up.
DTypeRule InferDTypes(int num_operands) {
  return {[num_operands](DTypeRelation& r) {
    std::vector<int> operands(num_operands);
    for (int i = 0; i < num_operands; ++i) operands[i] = i;
    r.Same(operands, {0});
    r.InIsFloat(0);
    const DType sums = r.in(0) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    if (IsKnown(r.in(0))) r.Out(1, sums), r.Out(2, sums);
    if (r.num_inputs() == num_operands || IsKnown(r.in(num_operands))) return;
    const bool is_length = r.node().params<AttentionParam>().masking == "length";
    r.In(num_operands, is_length ? DType::kInt32 : DType::kBool);
  }};
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

void InferSeparate(ShapeRelation& r) {
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
  const auto& masking = r.node().params<AttentionParam>().masking;
  if (masking == "length") r.In(3, WithoutLast(q));
  if (masking == "mask") InferMask(r, WithLast(q, k[rank - 2]));
  r.Out(0, WithLast(q, v[rank - 1]));
  r.Out(1, WithoutLast(q));
  r.Out(2, WithLast(q, v[rank - 1]));
}

// (length, batch, outputs, 3, size).
Shape SplitShape(const Node& node, const Shape& projections) {
  const std::int64_t heads = node.params<AttentionParam>().heads;
  if (projections.rank() != 3 || projections[2] % (3 * heads) != 0) {
    FailAt(node, "expected projections (length, batch, 3 * {} * size), got {}", heads, projections.ToString());
  }
  return Shape{projections[0], projections[1], heads, 3, projections[2] / (3 * heads)};
}

void InferInterleaved(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const Shape s = SplitShape(r.node(), r.in(0));
  const std::int64_t heads = s[1] * s[2];
  if (r.num_inputs() > 1) r.In(1, Shape{heads, s[0]});
  r.Out(0, Shape{s[0], s[1], s[2] * s[4]});
  r.Out(1, Shape{heads, s[0]});
  r.Out(2, Shape{heads, s[0], s[4]});
}

// ---- the reference kernel ----

// Matrices of all outputs. `shown`, where not empty: which keys a query sees.
template <class T>
struct Operands {
  Sizes sizes;
  const T *queries, *keys, *values;
  std::vector<bool> shown;
};

template <class T>
struct Results {
  explicit Results(const Sizes& s)
      : output(static_cast<std::size_t>(s.heads * s.queries * s.value_size)),
        logsumexp(static_cast<std::size_t>(s.heads * s.queries)),
        accumulator(output.size()) {}
  std::vector<T> output, logsumexp, accumulator;
};

// exp(score - largest) of one query by key, their sum, and the largest score; no key is seen: zeros and -inf.
template <class T>
struct Weights {
  std::vector<T> by_key;
  T sum{0}, largest = -std::numeric_limits<T>::infinity();
  bool sees_any = false;
};

template <class T>
Weights<T> Weigh(const Operands<T>& x, double scale, std::int64_t row, bool masked) {
  const Sizes& s = x.sizes;
  Weights<T> w;
  w.by_key.resize(s.keys);
  const T *query = x.queries + row * s.size, *keys = x.keys + row / s.queries * s.keys * s.size;
  const auto shown = [&](std::int64_t k) { return x.shown.empty() || x.shown[row * s.keys + k]; };
  for (std::int64_t k = 0; k < s.keys; ++k) {
    if (!shown(k)) continue;
    T score{0};
    for (std::int64_t i = 0; i < s.size; ++i) score += query[i] * keys[k * s.size + i];
    w.by_key[k] = score * static_cast<T>(scale);
    w.largest = std::max(w.largest, w.by_key[k]);
    // masked_softmax counts what is -inf as hidden.
    w.sees_any = w.sees_any || !masked || w.by_key[k] != -std::numeric_limits<T>::infinity();
  }
  for (std::int64_t k = 0; k < s.keys; ++k) {
    w.by_key[k] = shown(k) && w.sees_any ? std::exp(w.by_key[k] - w.largest) : T{0};
    w.sum += w.by_key[k];
  }
  return w;
}

template <class T>
Results<T> Attend(const Operands<T>& x, double scale, bool masked) {
  const Sizes& s = x.sizes;
  Results<T> y(s);
  for (std::int64_t row = 0; row < s.heads * s.queries; ++row) {
    const Weights<T> w = Weigh(x, scale, row, masked);
    const T* values = x.values + row / s.queries * s.keys * s.value_size;
    T* sums = y.accumulator.data() + row * s.value_size;
    for (std::int64_t k = 0; k < s.keys; ++k) {
      if (!x.shown.empty() && !x.shown[row * s.keys + k]) continue;
      for (std::int64_t i = 0; i < s.value_size; ++i) sums[i] += w.by_key[k] * values[k * s.value_size + i];
    }
    for (std::int64_t i = 0; i < s.value_size; ++i) {
      y.output[row * s.value_size + i] = w.sees_any ? sums[i] / w.sum : T{0};
    }
    y.logsumexp[row] = w.largest + (w.sees_any ? std::log(w.sum) : T{0});
  }
  return y;
}

// Of each query, whether it sees each key.
std::vector<bool> Shown(const AttentionParam& p, const NDArray& seen, const Shape& scores) {
  std::vector<bool> shown(scores.size());
  if (p.masking == "mask") {
    NDArray mask(seen.dtype(), scores);
    BroadcastElements(seen, mask);
    const std::vector<double> numbers = Numbers<double>(mask);
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = numbers[i] != 0;
    return shown;
  }
  const std::vector<std::int64_t> lengths = Numbers<std::int64_t>(seen);
  const std::int64_t keys = scores[scores.rank() - 1];
  for (std::int64_t i = 0; i < scores.size(); ++i) shown[i] = i % keys < lengths[i / keys];
  return shown;
}

template <class T>
void StoreSums(const Results<T>& results, std::span<NDArray> out) {
  if (out[1].defined()) Store(results.logsumexp, out[1]);
  if (out[2].defined()) Store(results.accumulator, out[2]);
}

void SeparateReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<AttentionParam>();
  const Sizes s = SizesOf(in[0].shape(), in[2].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> queries = Numbers<T>(in[0]), keys = Numbers<T>(in[1]), values = Numbers<T>(in[2]);
    Operands<T> x{s, queries.data(), keys.data(), values.data(), {}};
    if (p.masking != "none") x.shown = Shown(p, in[3], WithLast(in[0].shape(), s.keys));
    const Results<T> y = Attend(x, p.scale, p.masking == "mask");
    if (out[0].defined()) Store(y.output, out[0]);
    StoreSums(y, out);
  });
}

void InterleavedReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<AttentionParam>();
  const Shape split = SplitShape(node, in[0].shape());
  const std::int64_t heads = split[1] * split[2], length = split[0], size = split[4];
  const Sizes s{heads, length, length, size, size};
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    // (3, outputs, length, size): the three parts one after the other.
    const auto all = Numbers<T>(Transposed(in[0].Reshaped(Shape{length, heads, 3, size}), {2, 1, 0, 3}));
    const std::int64_t part = heads * length * size;
    Operands<T> x{s, all.data(), all.data() + part, all.data() + 2 * part, {}};
    if (p.masking != "none") x.shown = Shown(p, in[1], Shape{heads, length, length});
    const Results<T> y = Attend(x, p.scale, false);
    StoreSums(y, out);
    if (!out[0].defined()) return;
    NDArray by_head(out[0].dtype(), Shape{heads, length, size});
    Store(y.output, by_head);
    CopyElements(Transposed(by_head, {1, 0, 2}), out[0]);
  });
}

// ---- the kernel ----

// The kernel computes in float32, gives the output alone and counts in int32.
bool HasKernel(const LowerContext& c, int num_operands) {
  const auto is_supported = [](DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; };
  if (c.is_read(1) || c.is_read(2)) return false;
  if (!is_supported(c.in_type(0).dtype) || !is_supported(c.out_type(0).dtype)) return false;
  return c.node().params<AttentionParam>().masking != "length" || c.in_type(num_operands).dtype == DType::kInt32;
}

AttentionSpec WorkOf(const AttentionParam& p, bool interleaved) {
  return {interleaved, static_cast<float>(p.scale), MaskingOf(p)};
}

// Outputs of the graph along one axis where the kernel does not know more of them.
ValueId Flat(LowerContext& c, ValueId value, int num_last) {
  const Shape shape = c.ShapeOf(value);
  std::vector<std::int64_t> dims{shape.SizeOf(0, shape.rank() - num_last)};
  for (int i = shape.rank() - num_last; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return c.Reshape(value, Shape(dims));
}

bool LowerSeparate(LowerContext& c) {
  if (!HasKernel(c, 3)) return false;
  const auto& p = c.node().params<AttentionParam>();
  const Shape& out = c.out_type(0).shape;
  const bool is_flat = out.rank() > 4;
  const bool has_mask = p.masking == "mask";
  if (is_flat && has_mask && c.in_type(3).shape != WithLast(out, c.in_type(3).shape[out.rank() - 1])) return false;
  std::vector<ValueId> inputs{c.in(0), c.in(1), c.in(2)};
  if (p.masking != "none") inputs.push_back(has_mask ? c.Cast(c.in(3), DType::kBool) : c.in(3));
  Shape shape = out;
  if (is_flat) {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = Flat(c, inputs[i], i == 3 && !has_mask ? 1 : 2);
    shape = Shape{out.SizeOf(0, out.rank() - 2), out[out.rank() - 2], out[out.rank() - 1]};
  }
  const auto y = c.Emit(WorkOf(p, false), inputs, {c.out_type(0).dtype, shape});
  c.SetOut(0, is_flat ? c.Reshape(y, out) : y);
  return true;
}

bool LowerInterleaved(LowerContext& c) {
  if (!HasKernel(c, 1)) return false;
  const auto& p = c.node().params<AttentionParam>();
  const Shape s = SplitShape(c.node(), c.in_type(0).shape);
  std::vector<ValueId> inputs{c.Reshape(c.in(0), s)};
  if (p.masking == "length") inputs.push_back(c.Reshape(c.in(1), Shape{s[1], s[2], s[0]}));
  const auto y = c.Emit(WorkOf(p, true), inputs, {c.out_type(0).dtype, Shape{s[0], s[1], s[2], s[4]}});
  c.SetOut(0, c.Reshape(y, c.out_type(0).shape));
  return true;
}

const std::vector<std::string> kOutputs{"output", "logsumexp", "accumulator"};

[[maybe_unused]] const auto kSeparate =
    RegisterOp<AttentionParam>("_amp_attention")
        .Doc(
            "softmax(scale * query key^T) value for each head: query (heads..., M, D), key (heads..., N, D), value "
            "(heads..., N, E).\n"
            "A query sees the first `lengths` (heads..., M) keys, or those whose mask (heads..., M, N) is not 0, whose "
            "first axes may have size 1; one that sees none gives zeros. Hidden outputs: the logarithm of the sum of "
            "exponentials, and the sum of values weighted by exp(score - largest score) before it is normalised.")
        .Params(SeparateSchema(), Validate)
        .Inputs([](const AttentionParam& p) {
          return WithMasking(p, {"query", "key", "value"});
        })
        .Outputs(kOutputs)
        .Set(ShapeRule{InferSeparate})
        .Set(InferDTypes(3))
        .Set(AmpFacts{Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"gradients are taken before operators are fused"})
        .Set(ReferenceKernel{SeparateReference})
        .Set(LowerRule{LowerSeparate});

[[maybe_unused]] const auto kInterleaved =
    RegisterOp<AttentionParam>("_amp_interleaved_attention")
        .Doc(
            "Attention on projections (length, batch, heads * 3 * size) that hold for each head its query, key and "
            "value side by side: (length, batch, heads * size).\n"
            "A query sees the first `lengths` (batch * heads, length) keys; hidden outputs as of _amp_attention.")
        .Params(InterleavedSchema(), Validate)
        .Inputs([](const AttentionParam& p) { return WithMasking(p, {"queries_keys_values"}); })
        .Outputs(kOutputs)
        .Set(ShapeRule{InferInterleaved})
        .Set(InferDTypes(1))
        .Set(AmpFacts{Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"gradients are taken before operators are fused"})
        .Set(ReferenceKernel{InterleavedReference})
        .Set(LowerRule{LowerInterleaved});

}  // namespace
}  // namespace amp
