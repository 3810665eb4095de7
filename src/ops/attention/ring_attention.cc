// Attention over a sequence that is cut over ranks, and its gradient: src/dist/ring.h in graphs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "dist/local_comm.h"
#include "dist/ring_backward.h"
#include "dist/ring_forward.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/gradient/recompute.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/kernel_types.h"
#include "program/reference.h"

namespace amp::ring_attention {
namespace {

using dist::RingAttention;

struct RingParam {
  bool causal = true;
  std::optional<double> scale;
  std::string layout = "bshd";
  std::string accum_dtype, partial_dtype, merge;
  std::string p_dtype = "bfloat16";
  std::int64_t key_block = 0;
  bool last_key_first = true;
  bool lse_gradient = false;  // of the gradient: there is one of lse
};

ParamSchema<RingParam> Schema() {
  return ParamSchema<RingParam>()
      .Optional("causal", &RingParam::causal, "Each row sees the keys up to its place in the whole sequence; else all.")
      .Optional("scale", &RingParam::scale, "What the products of queries and keys are multiplied by; None: d ** -0.5.")
      .Optional("layout", &RingParam::layout, "Batch, sequence, heads, size; or sequence first.")
      .OneOf({"bshd", "sbhd"})
      .Optional("accum_dtype", &RingParam::accum_dtype,
                "Of sums over steps: float32 or the dtype of the query. By default what AMP_CP_ACCUM says.")
      .OneOf({"", "float32", "bfloat16", "float16"})
      .Optional("partial_dtype", &RingParam::partial_dtype, "Of what a step gives; by default as accum_dtype.")
      .OneOf({"", "float32", "bfloat16", "float16"})
      .Optional("merge", &RingParam::merge,
                "'state': maximum, sum and weighted values of a row go on from step to step; 'lse': results of steps "
                "are weighted by their log-sum-exps. By default a state where both dtypes are float32.")
      .OneOf({"", "state", "lse"})
      .Optional("p_dtype", &RingParam::p_dtype, "What weights are rounded to beside operands of 16 bits.")
      .OneOf({"bfloat16", "float32"})
      .Optional("key_block", &RingParam::key_block, "Keys that are taken together; 0: as many as the kernel likes.")
      .Range(0, 1 << 24)
      .Optional("last_key_first", &RingParam::last_key_first, "The block of the last keys comes first.");
}

void Validate(RingParam& p) {
  if (p.scale && !std::isfinite(*p.scale)) throw GraphError("attribute scale: expected a finite number");
}

// How many batches, rows, heads and elements one array has.
struct Sizes {
  std::int64_t batch, rows, heads, size;

  Sizes(const RingParam& p, const Shape& shape)
      : batch(shape[p.layout == "bshd" ? 0 : 1]),
        rows(shape[p.layout == "bshd" ? 1 : 0]),
        heads(shape[2]),
        size(shape[3]) {}
};

RingAttention RingOf(const RingParam& p, const NDArray& query, const NDArray& key, const NDArray& value) {
  const Sizes q(p, query.shape()), k(p, key.shape()), v(p, value.shape());
  RingAttention ring;
  ring.dtype = KernelType(query.dtype());
  ring.causal = p.causal;
  ring.sequence_first = p.layout == "sbhd";
  ring.last_key_first = p.last_key_first;
  ring.key_block = p.key_block;
  ring.scale = static_cast<float>(p.scale.value_or(1 / std::sqrt(static_cast<double>(q.size))));
  ring.num_batch = q.batch;
  ring.num_heads = q.heads;
  ring.num_kv_heads = k.heads;
  ring.num_queries = q.rows;
  ring.num_keys = k.rows;
  ring.size = q.size;
  ring.value_size = v.size;
  dist::ChooseVariant(p.accum_dtype, p.partial_dtype, p.merge, p.p_dtype, &ring);
  return ring;
}

// The communicator of the `with` block in which the graph runs; outside of one there is one rank.
std::shared_ptr<dist::Comm> CommOfThisRun() {
  const std::shared_ptr<dist::Comm> comm = dist::CommScope::Current();
  return comm != nullptr ? comm : dist::MakeLocalComms(1, std::chrono::seconds(1))[0];
}

void CheckShapes(const Node& node, const Shape& query, const Shape& key, const Shape& value) {
  const auto& p = node.params<RingParam>();
  bool fits = query.rank() == 4 && key.rank() == 4 && value.rank() == 4;
  if (fits) {
    const Sizes q(p, query), k(p, key), v(p, value);
    fits = k.heads > 0 && q.heads % k.heads == 0 && q.batch == k.batch && q.batch == v.batch && k.rows == v.rows &&
           k.heads == v.heads && q.size == k.size;
    fits = fits && (!p.causal || (q.rows == k.rows && q.rows % 2 == 0));
  }
  if (fits) return;
  FailAt(node,
         "expected query, key and value of 4 dimensions ({}) with heads of the query a multiple of the others'; where "
         "causal, as many rows of each, two chunks of them; got {}, {} and {}",
         p.layout, query.ToString(), key.ToString(), value.ToString());
}

Shape ResultOf(const Shape& query, const Shape& value) {
  Shape result = query;
  result[3] = value[3];
  return result;
}

Shape LseOf(const RingParam& p, const Shape& query) {
  const Sizes q(p, query);
  return Shape{q.batch, q.heads, q.rows};
}

void InferShape(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known() || !r.in(2).fully_known()) return;
  CheckShapes(r.node(), r.in(0), r.in(1), r.in(2));
  r.Out(0, ResultOf(r.in(0), r.in(2)));
  r.Out(1, LseOf(r.node().params<RingParam>(), r.in(0)));
}

// float64 is for comparisons: it runs on one rank.
DType StatisticsDTypeOf(DType dtype) { return dtype == DType::kFloat64 ? dtype : DType::kFloat32; }

void InferDType(DTypeRelation& r) {
  r.Same({0, 1, 2}, {0});
  r.InIsFloat(0);
  if (IsKnown(r.in(0))) r.Out(1, StatisticsDTypeOf(r.in(0)));
}

// What the operator of one rank gives: what float64, in which no ring runs, is compared with.
void RunOnOneRank(const Node& node, const char* op, std::span<const NDArray> in, std::span<NDArray> out) {
  if (CommOfThisRun()->size() > 1) {
    throw UnsupportedError(node.Describe() + ": several ranks take float32, bfloat16 and float16, got float64");
  }
  AttrMap attrs{{"last_key_first", node.params<RingParam>().last_key_first ? "True" : "False"}};
  for (const char* name : {"causal", "scale", "layout", "p_dtype", "key_block", "lse_gradient"}) {
    if (const std::string* text = node.FindAttr(name)) attrs[name] = *text;
  }
  const NodePtr plain = Node::Make(
      {&OpRegistry::Get().Require(kMXNetDomain, op), node.name(), std::move(attrs), node.inputs(), {}, node.phase()});
  plain->op()->Find<ReferenceKernel>()->run(*plain, in, out);
}

// An output without a reader has no memory.
NDArray OutputOrScratch(const NDArray& output, DType dtype, const Shape& shape) {
  return output.defined() ? output : NDArray(dtype, shape);
}

using Run = void (*)(const Node& node, std::span<const NDArray> in, std::span<NDArray> out);

NDArray InFloat32(const NDArray& array) {
  if (!array.defined() || array.dtype() == DType::kFloat32) return array;
  NDArray wide(DType::kFloat32, array.shape());
  Store(Numbers<float>(array), wide);
  return wide;
}

// `run` knows one dtype of operands and results beside float32 statistics. Where results are declared to be of another,
// it works in float32.
void RunInOneDType(const Node& node, std::span<const NDArray> in, std::span<NDArray> out, int num_statistics, Run run) {
  const auto is_float64 = [](const NDArray& array) { return array.dtype() == DType::kFloat64; };
  if (std::any_of(in.begin(), in.end(), is_float64)) return run(node, in, out);  // for comparisons alone
  const DType dtype = out[0].defined() ? out[0].dtype() : in[0].dtype();
  const auto differs = [&](const NDArray& array) {
    return array.defined() && array.dtype() != dtype && array.dtype() != DType::kFloat32;
  };
  const bool is_one =
      std::none_of(in.begin(), in.end(), differs) && std::none_of(out.begin(), out.end(), differs) &&
      std::count_if(in.begin(), in.end(), [&](const NDArray& a) { return a.dtype() != dtype; }) <= num_statistics;
  if (is_one) return run(node, in, out);
  std::vector<NDArray> wide_in, wide_out;
  for (const NDArray& array : in) wide_in.push_back(InFloat32(array));
  for (const NDArray& array : out) {
    wide_out.push_back(array.defined() ? NDArray(DType::kFloat32, array.shape()) : NDArray());
  }
  AttrMap attrs = node.attrs();
  attrs.erase("accum_dtype");
  attrs.erase("partial_dtype");
  run(*node.WithAttrs(std::move(attrs)), wide_in, wide_out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) Store(Numbers<float>(wide_out[i]), out[i]);
  }
}

void Forward(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RingParam>();
  if (in[0].dtype() == DType::kFloat64) return RunOnOneRank(node, "_contrib_attention", in, out);
  const RingAttention ring = RingOf(p, in[0], in[1], in[2]);
  const NDArray result = OutputOrScratch(out[0], in[0].dtype(), ResultOf(in[0].shape(), in[2].shape()));
  const NDArray lse = OutputOrScratch(out[1], DType::kFloat32, LseOf(p, in[0].shape()));
  dist::RingForward(CommOfThisRun().get(), ring, {in[0].data(), in[1].data(), in[2].data()}, result.data(),
                    lse.As<float>());
}

void ForwardInOneDType(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  RunInOneDType(node, in, out, 0, Forward);
}

// ---- the gradient ----

// The place of the first of the forward operator's inputs: gradients come before them.
int FirstOperand(const RingParam& p) { return p.lse_gradient ? 2 : 1; }

std::vector<std::string> GradientInputs(const RingParam& p) {
  std::vector<std::string> names{"gradient_output"};
  if (p.lse_gradient) names.push_back("gradient_lse");
  for (const char* name : {"query", "key", "value", "output", "lse"}) names.push_back(name);
  return names;
}

void InferGradientShape(ShapeRelation& r) {
  const auto& p = r.node().params<RingParam>();
  const int q = FirstOperand(p);
  if (!r.in(q).fully_known() || !r.in(q + 1).fully_known() || !r.in(q + 2).fully_known()) return;
  CheckShapes(r.node(), r.in(q), r.in(q + 1), r.in(q + 2));
  const Shape result = ResultOf(r.in(q), r.in(q + 2)), lse = LseOf(p, r.in(q));
  r.In(0, result);
  r.In(q + 3, result);
  r.In(q + 4, lse);
  if (p.lse_gradient) r.In(1, lse);
  for (int i = 0; i < 3; ++i) r.Out(i, r.in(q + i));
}

void InferGradientDType(DTypeRelation& r) {
  const auto& p = r.node().params<RingParam>();
  const int q = FirstOperand(p);
  r.Same({q, q + 1, q + 2}, {0, 1, 2});
  r.InIsFloat(q);
  for (const int i : {0, q + 3}) {
    if (IsKnown(r.in(q)) && !IsKnown(r.in(i))) r.In(i, r.in(q));
    r.InIsFloat(i);
  }
  if (!IsKnown(r.in(q))) return;
  r.In(q + 4, StatisticsDTypeOf(r.in(q)));
  if (p.lse_gradient) r.In(1, StatisticsDTypeOf(r.in(q)));
}

void Backward(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RingParam>();
  const std::size_t q = static_cast<std::size_t>(FirstOperand(p));
  if (in[q].dtype() == DType::kFloat64) return RunOnOneRank(node, "_backward_contrib_attention", in, out);
  const RingAttention ring = RingOf(p, in[q], in[q + 1], in[q + 2]);
  std::vector<NDArray> gradients;
  for (std::size_t i = 0; i < 3; ++i)
    gradients.push_back(OutputOrScratch(out[i], in[q + i].dtype(), in[q + i].shape()));
  dist::RingBackward(CommOfThisRun().get(), ring, {in[q].data(), in[q + 1].data(), in[q + 2].data()}, in[q + 3].data(),
                     in[q + 4].As<float>(), {in[0].data(), p.lse_gradient ? in[1].As<float>() : nullptr},
                     {gradients[0].data(), gradients[1].data(), gradients[2].data()});
}

void BackwardInOneDType(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  RunInOneDType(node, in, out, node.params<RingParam>().lse_gradient ? 2 : 1, Backward);
}

void SetGradients(GradientContext& c) {
  std::vector<Term> inputs{c.gradient(0)};
  AttrMap attrs = c.attrs();
  if (c.has_gradient(1)) {
    inputs.push_back(c.gradient(1));
    attrs["lse_gradient"] = "True";
  }
  for (const Term& term : {c.in(0), c.in(1), c.in(2), c.out(0), c.out(1)}) inputs.push_back(term);
  const std::vector<Term> gradients = c.CallAll("_backward_contrib_ring_attention", inputs, std::move(attrs));
  for (int i = 0; i < 3; ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<RingParam>("_backward_contrib_ring_attention")
        .Doc("The gradients of _contrib_ring_attention's query, key and value.")
        .Params(Schema().Optional("lse_gradient", &RingParam::lse_gradient, "There is a gradient of lse."), Validate)
        .Inputs(GradientInputs)
        .Outputs({"query", "key", "value"})
        .VisibleOutputs([](const RingParam&) { return 3; })
        .Set(ShapeRule{InferGradientShape})
        .Set(DTypeRule{InferGradientDType})
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(NoGradient{"second derivatives of attention are not implemented"})
        .Set(ReferenceKernel{BackwardInOneDType});

[[maybe_unused]] const auto kCard =
    RegisterOp<RingParam>("_contrib_ring_attention")
        .Doc(
            "_contrib_attention over a sequence that is cut over ranks: query, key and value are this rank's part of "
            "it, chunks r and 2W-1-r of 2W. The ranks are those of `with amp.distributed.group(comm):`; outside of one "
            "there is one rank.\n"
            "Also gives lse, the logarithm of the sum of exponentials of each row (batch, heads, rows), float32. Keys "
            "and values go round the ring. All ranks run the same graph.")
        .Params(Schema(), Validate)
        .Inputs({"query", "key", "value"})
        .Outputs({"output", "lse"})
        .VisibleOutputs([](const RingParam&) { return 2; })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          const Sizes keys(node.params<RingParam>(), in[1]);
          return std::max(keys.size, keys.rows);
        }})
        .Set(GradientRule{SetGradients})
        .Set(ExchangesMessages{})
        .Set(ReferenceKernel{ForwardInOneDType});

}  // namespace
}  // namespace amp::ring_attention
