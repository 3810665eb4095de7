// Attention as people call it, with the log-sum-exp of each query beside the result, and its gradient.
#include <cmath>
#include <utility>

#include "ops/attention/interleaved_attention_work.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/reference.h"

namespace amp::contrib_attention {
namespace {

struct AttentionParam {
  bool causal = true;
  std::optional<double> scale;
  std::string layout = "bshd";
  DType p_dtype = DType::kBFloat16;
  std::int64_t key_block = 0;
  bool last_key_first = false;
  bool lse_gradient = false;  // of the gradient: there is one of lse
};

ParamSchema<AttentionParam> Schema() {
  return ParamSchema<AttentionParam>()
      .Optional("causal", &AttentionParam::causal,
                "Row i of M sees key j of N where j <= i + N - M; else every row sees all keys.")
      .Optional("scale", &AttentionParam::scale,
                "What the products of queries and keys are multiplied by; None: float32(1 / sqrt(d)).")
      .Optional("layout", &AttentionParam::layout, "Batch, sequence, heads, size; or sequence first.")
      .OneOf({"bshd", "sbhd"})
      .Optional("p_dtype", &AttentionParam::p_dtype,
                "The weights exp(score - largest) are rounded to it before they multiply values, where the operands "
                "are of 16 bits: bfloat16, float16 or float32, which rounds nothing. Beside wider operands they are "
                "not rounded.")
      .Optional("key_block", &AttentionParam::key_block,
                "Keys that are taken together; the largest score so far is known after each block. 0: as many as the "
                "kernel likes.")
      .Range(0, 1 << 24)
      .Optional("last_key_first", &AttentionParam::last_key_first, "The block of the last keys comes first.");
}

ParamSchema<AttentionParam> GradientSchema() {
  return Schema().Optional("lse_gradient", &AttentionParam::lse_gradient, "There is a gradient of lse.");
}

void Validate(AttentionParam& p) {
  if (p.scale && !std::isfinite(*p.scale)) throw GraphError("attribute scale: expected a finite number");
  if (p.p_dtype != DType::kBFloat16 && p.p_dtype != DType::kFloat16 && p.p_dtype != DType::kFloat32) {
    Throw<GraphError>("attribute p_dtype: expected bfloat16, float16 or float32, got {}", NameOf(p.p_dtype));
  }
}

// How many batches, rows, heads and elements queries or keys have.
struct Sizes {
  std::int64_t batch, rows, heads, size;

  Sizes(const AttentionParam& p, const Shape& shape)
      : batch(shape[p.layout == "bshd" ? 0 : 1]),
        rows(shape[p.layout == "bshd" ? 1 : 0]),
        heads(shape[2]),
        size(shape[3]) {}
};

kernels::HeadRows RowsOf(const AttentionParam& p, const Sizes& s, std::int64_t size) {
  if (p.layout == "bshd") return {s.rows * s.heads * size, size, s.heads * size};
  return {s.heads * size, size, s.batch * s.heads * size};
}

AttentionWork WorkOf(const AttentionParam& p, DType dtype, const Shape& queries, const Shape& keys,
                     const Shape& values) {
  const Sizes q(p, queries), k(p, keys), v(p, values);
  AttentionWork work;
  kernels::Attention& job = work.job;
  const auto size = static_cast<double>(std::max<std::int64_t>(1, q.size));
  job.scale = static_cast<float>(p.scale.value_or(1 / std::sqrt(size)));
  job.causal = p.causal;
  job.row_offset = k.rows - q.rows;
  job.key_block = p.key_block;
  job.last_key_first = p.last_key_first;
  job.num_batch = q.batch;
  job.num_heads = q.heads;
  job.num_kv_heads = k.heads;
  job.num_queries = q.rows;
  job.num_keys = k.rows;
  job.size = q.size;
  job.value_size = v.size;
  job.queries = RowsOf(p, q, q.size);
  job.keys = RowsOf(p, k, k.size);
  job.values = RowsOf(p, v, v.size);
  job.out = RowsOf(p, q, v.size);
  job.statistics = HeadsThenRows(q.heads, q.rows, 1);
  job.sums = HeadsThenRows(q.heads, q.rows, v.size);
  if (BytesOf(dtype) == 2 && p.p_dtype != DType::kFloat32) work.p_dtype = p.p_dtype;
  return work;
}

// Inputs from `first` on are queries, keys and values.
AttentionWork WorkOf(const Node& node, std::span<const NDArray> in, std::size_t first) {
  const auto& p = node.params<AttentionParam>();
  return WorkOf(p, in[first].dtype(), in[first].shape(), in[first + 1].shape(), in[first + 2].shape());
}

AttentionWork WorkOf(const LowerContext& c, int first) {
  const auto& p = c.node().params<AttentionParam>();
  return WorkOf(p, c.in_type(first).dtype, c.in_type(first).shape, c.in_type(first + 1).shape,
                c.in_type(first + 2).shape);
}

void CheckShapes(const Node& node, const Shape& queries, const Shape& keys, const Shape& values) {
  const auto& p = node.params<AttentionParam>();
  bool fits = queries.rank() == 4 && keys.rank() == 4 && values.rank() == 4;
  if (fits) {
    const Sizes q(p, queries), k(p, keys), v(p, values);
    const bool shares = k.heads == 0 ? q.heads == 0 : q.heads % k.heads == 0;
    fits = shares && q.batch == k.batch && q.batch == v.batch && k.rows == v.rows && k.heads == v.heads &&
           q.size == k.size;
  }
  if (fits) return;
  FailAt(node,
         "expected query ({0}, D), key and value ({1}, D and E) with heads H a multiple of K, got {2}, {3} and {4}",
         p.layout == "bshd" ? "B, M, H" : "M, B, H", p.layout == "bshd" ? "B, N, K" : "N, B, K", queries.ToString(),
         keys.ToString(), values.ToString());
}

// The result lies as the queries do.
Shape ResultOf(const Shape& queries, const Shape& values) {
  Shape result = queries;
  result[3] = values[3];
  return result;
}

Shape StatisticsOf(const AttentionParam& p, const Shape& queries) {
  const Sizes q(p, queries);
  return Shape{q.batch, q.heads, q.rows};
}

void InferShape(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known() || !r.in(2).fully_known()) return;
  CheckShapes(r.node(), r.in(0), r.in(1), r.in(2));
  r.Out(0, ResultOf(r.in(0), r.in(2)));
  r.Out(1, StatisticsOf(r.node().params<AttentionParam>(), r.in(0)));
}

void InferDType(DTypeRelation& r) {
  r.Same({0, 1, 2}, {0});
  r.InIsFloat(0);
  if (IsKnown(r.in(0))) r.Out(1, StatisticsDType(r.in(0)));
}

// ---- the gradient ----

// The place of the first of the forward operator's inputs: gradients come before them.
int FirstOperand(const AttentionParam& p) { return p.lse_gradient ? 2 : 1; }

std::vector<std::string> GradientInputs(const AttentionParam& p) {
  std::vector<std::string> names{"gradient_output"};
  if (p.lse_gradient) names.push_back("gradient_lse");
  for (const char* name : {"query", "key", "value", "output", "lse"}) names.push_back(name);
  return names;
}

void InferGradientShape(ShapeRelation& r) {
  const auto& p = r.node().params<AttentionParam>();
  const int q = FirstOperand(p);
  if (!r.in(q).fully_known() || !r.in(q + 1).fully_known() || !r.in(q + 2).fully_known()) return;
  CheckShapes(r.node(), r.in(q), r.in(q + 1), r.in(q + 2));
  const Shape result = ResultOf(r.in(q), r.in(q + 2)), statistics = StatisticsOf(p, r.in(q));
  r.In(0, result);
  r.In(q + 3, result);
  r.In(q + 4, statistics);
  if (p.lse_gradient) r.In(1, statistics);
  for (int i = 0; i < 3; ++i) r.Out(i, r.in(q + i));
}

void InferGradientDType(DTypeRelation& r) {
  const auto& p = r.node().params<AttentionParam>();
  const int q = FirstOperand(p);
  r.Same({q, q + 1, q + 2}, {0, 1, 2});
  if (p.lse_gradient) r.Same({1, q + 4}, {});
  InferAttentionResults(r, q, {0, q + 3}, {q + 4});
}

void SetGradients(GradientContext& c) {
  std::vector<Term> inputs{c.gradient(0)};
  AttrMap attrs = c.attrs();
  if (c.has_gradient(1)) {
    inputs.push_back(c.gradient(1));
    attrs["lse_gradient"] = "True";
  }
  for (const Term& term : {c.in(0), c.in(1), c.in(2), c.out(0), c.out(1)}) inputs.push_back(term);
  const std::vector<Term> gradients = c.CallAll("_backward_contrib_attention", inputs, std::move(attrs));
  for (int i = 0; i < 3; ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<AttentionParam>("_backward_contrib_attention")
        .Doc("The gradients of _contrib_attention's query, key and value.")
        .Params(GradientSchema(), Validate)
        .Inputs(GradientInputs)
        .Outputs({"query", "key", "value"})
        .VisibleOutputs([](const AttentionParam&) { return 3; })
        .Set(ShapeRule{InferGradientShape})
        .Set(DTypeRule{InferGradientDType})
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(NoGradient{"second derivatives of attention are not implemented"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto first = static_cast<std::size_t>(FirstOperand(node.params<AttentionParam>()));
          AttentionGradientReference(WorkOf(node, in, first), in, out);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          return LowerAttentionGradient(c, WorkOf(c, FirstOperand(c.node().params<AttentionParam>())));
        }});

[[maybe_unused]] const auto kCard =
    RegisterOp<AttentionParam>("_contrib_attention")
        .Doc(
            "softmax(scale * query key^T) value for each head, and lse, the logarithm of the sum of exponentials of "
            "each row (batch, heads, rows), float32.\n"
            "Query (B, M, H, D), key (B, N, K, D) and value (B, N, K, E), or the sequence first; H is a multiple of K: "
            "so many neighbouring heads share keys and values. No matrix of M x N is stored. Rows that see no key give "
            "zeros and an lse of -inf.")
        .Params(Schema(), Validate)
        .Inputs({"query", "key", "value"})
        .Outputs({"output", "lse"})
        .VisibleOutputs([](const AttentionParam&) { return 2; })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          const Sizes keys(node.params<AttentionParam>(), in[1]);
          return std::max(keys.size, keys.rows);
        }})
        .Set(GradientRule{SetGradients})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          AttentionReference(WorkOf(node, in, 0), in, out);
        }})
        .Set(KernelRule{[](LowerContext& c) { return LowerAttention(c, WorkOf(c, 0)); }});

}  // namespace
}  // namespace amp::contrib_attention
