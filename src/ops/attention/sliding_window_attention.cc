// Attention in a sliding window (Longformer): every position sees itself and so many positions before it, and behind it
// where the window is symmetric, `dilation` apart.
#include <algorithm>
#include <vector>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/reference.h"

namespace amp::sliding_window_attention {
namespace {

struct WindowParam {
  std::int64_t w = 0;
  bool symmetric = false;

  std::int64_t seen() const { return symmetric ? 2 * w + 1 : w + 1; }
};

ParamSchema<WindowParam> Schema() {
  return ParamSchema<WindowParam>()
      .Required("w", &WindowParam::w, "Positions that are seen on one side.")
      .Range(0, 1 << 20)
      .Required("symmetric", &WindowParam::symmetric, "Positions behind are seen, too.");
}

// Inputs 0 and 1 are arrays (batch, position, head, values), input 2 the dilation of each head.
void InferHeads(ShapeRelation& r, int first, int dilation) {
  const Shape any = Shape::OfRank(4);
  r.In(first, any);
  r.In(first + 1, any);
  r.In(dilation, Shape{kUnknownDim});
  for (int a = 0; a < 2; ++a) {
    const Shape& other = r.in(first + 1 - a);
    r.In(first + a, Shape{other[0], other[1], other[2], kUnknownDim});
    r.In(dilation, Shape{other[2]});
  }
}

void CheckDilations(const Node& node, const std::vector<std::int64_t>& dilations) {
  for (const std::int64_t dilation : dilations) {
    if (dilation < 1 || dilation > (1 << 20)) FailAt(node, "expected a dilation from 1 to 2^20, got {}", dilation);
  }
}

// Which rows of (batch, position, head) see which.
struct Window {
  std::int64_t batch, positions, heads, w, seen;
  std::vector<std::int64_t> dilations;

  Window(const Node& node, const Shape& data, const NDArray& dilation)
      : batch(data[0]),
        positions(data[1]),
        heads(data[2]),
        w(node.params<WindowParam>().w),
        seen(node.params<WindowParam>().seen()),
        dilations(Numbers<std::int64_t>(dilation)) {
    CheckDilations(node, dilations);
  }

  // The row of an array (batch, position, head, values).
  std::int64_t Row(std::int64_t b, std::int64_t position, std::int64_t head) const {
    return (b * positions + position) * heads + head;
  }

  // Calls f(row, row that is seen, place in the window) for the rows of one batch entry. Serial: rows are added to.
  template <class F>
  void ForEach(std::int64_t b, F&& f) const {
    for (std::int64_t position = 0; position < positions; ++position) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t step = dilations[static_cast<std::size_t>(head)];
        // The window may be far larger than the sequence.
        const std::int64_t begin = std::max<std::int64_t>(0, w - position / step);
        const std::int64_t end = std::min(seen, w + (positions - 1 - position) / step + 1);
        for (std::int64_t k = begin; k < end; ++k) {
          f(Row(b, position, head), Row(b, position + step * (k - w), head), k);
        }
      }
    }
  }
};

enum class Product {
  kScores,  // scores of rows with the rows that they see
  kSeen,    // sums of the rows that are seen, weighted
  kOfSeen,  // sums over the rows by which a row is seen, weighted
};

// kScores of (rows, rows); kSeen and kOfSeen of (weights, rows).
template <Product kProduct>
void Multiply(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Window window(node, in[0].shape(), in[2]);
  const auto size = static_cast<std::size_t>(in[1].shape()[3]), seen = static_cast<std::size_t>(window.seen);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(static_cast<std::size_t>(out[0].size()), T{0});
    kernels::ParallelFor(window.batch, 1, [&](std::int64_t entry) {
      window.ForEach(entry, [&](std::int64_t row, std::int64_t other, std::int64_t k) {
        const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(other);
        const std::size_t weight = i * seen + static_cast<std::size_t>(k);
        if constexpr (kProduct == Product::kScores) {
          for (std::size_t c = 0; c < size; ++c) y[weight] += a[i * size + c] * b[j * size + c];
        } else {
          const auto [to, from] = kProduct == Product::kSeen ? std::pair(i, j) : std::pair(j, i);
          for (std::size_t c = 0; c < size; ++c) y[to * size + c] += a[weight] * b[from * size + c];
        }
      });
    });
    Store(y, out[0]);
  });
}

DTypeRule TwoFloatsAndDilations() {
  return {[](DTypeRelation& r) {
    r.Same({0, 1}, {0});
    r.InIsFloat(0);
    if (!IsKnown(r.in(2))) r.In(2, DType::kInt32);
  }};
}

AmpFacts Facts() { return {Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}}; }

void InferScores(ShapeRelation& r) {
  InferHeads(r, 0, 2);
  r.In(0, r.in(1));
  r.In(1, r.in(0));
  const Shape& data = r.in(0);
  r.Out(0, Shape{data[0], data[1], data[2], r.node().params<WindowParam>().seen()});
}

// Infers the shapes of (weights, rows).
void InferSums(ShapeRelation& r) {
  InferHeads(r, 0, 2);
  r.In(0, Shape{kUnknownDim, kUnknownDim, kUnknownDim, r.node().params<WindowParam>().seen()});
  r.In(1, r.out(0));
  r.Out(0, r.in(1));
}

using Kernel = void(const Node&, std::span<const NDArray>, std::span<NDArray>);

auto Registered(const char* name, const char* alias, const char* doc, std::vector<std::string> inputs,
                const char* output, void (*infer)(ShapeRelation&), Kernel* kernel, void (*gradient)(GradientContext&)) {
  auto op = RegisterOp<WindowParam>(name);
  if (alias != nullptr) op.Alias(alias);
  return op.Doc(doc)
      .Params(Schema())
      .Inputs(std::move(inputs))
      .Outputs({output})
      .Set(ShapeRule{infer})
      .Set(TwoFloatsAndDilations())
      .Set(Facts())
      .Set(GradientRule{gradient})
      .Set(ReferenceKernel{kernel});
}

// The two that follow are each other's gradients, beside that of the rows that are seen.
constexpr const char* kScore = "_contrib_sldwin_atten_score";
constexpr const char* kContext = "_contrib_sldwin_atten_context";
constexpr const char* kTransposed = "_sldwin_atten_transposed";

[[maybe_unused]] const auto kScoreCard =
    Registered(kScore, "_npx_sldwin_atten_score",
               "The products of every query (batch, position, head, values) with the keys of its window:\n"
               "w keys before it, its own and, if symmetric, w behind it, `dilation` of its head apart.\n"
               "Those outside of the sequence are 0.",
               {"query", "key", "dilation"}, "score", InferScores, Multiply<Product::kScores>,
               [](GradientContext& c) {
                 c.Set(0, c.Call(kContext, {c.gradient(), c.in(1), c.in(2)}, c.attrs()));
                 c.Set(1, c.Call(kTransposed, {c.gradient(), c.in(0), c.in(2)}, c.attrs()));
               })
        .Set(ReductionDepth{[](const Node&, std::span<const Shape> in, const Shape&) { return in[0][3]; }});

[[maybe_unused]] const auto kContextCard =
    Registered(kContext, "_npx_sldwin_atten_context",
               "The sums of the values (batch, position, head, values) in the window of every position,\n"
               "weighted with its scores (batch, position, head, window): what _contrib_sldwin_atten_score gives.",
               {"score", "value", "dilation"}, "context_vec", InferSums, Multiply<Product::kSeen>,
               [](GradientContext& c) {
                 c.Set(0, c.Call(kScore, {c.gradient(), c.in(1), c.in(2)}, c.attrs()));
                 c.Set(1, c.Call(kTransposed, {c.in(0), c.gradient(), c.in(2)}, c.attrs()));
               })
        .Set(ReductionDepth{
            [](const Node& node, std::span<const Shape>, const Shape&) { return node.params<WindowParam>().seen(); }});

[[maybe_unused]] const auto kTransposedCard =
    Registered(kTransposed, nullptr,
               "The sums over all positions that see a position, of their values weighted with their scores\n"
               "of it: the gradient of what is seen.",
               {"score", "value", "dilation"}, "output", InferSums, Multiply<Product::kOfSeen>, [](GradientContext& c) {
                 c.Set(0, c.Call(kScore, {c.in(1), c.gradient(), c.in(2)}, c.attrs()));
                 c.Set(1, c.Call(kContext, {c.in(0), c.gradient(), c.in(2)}, c.attrs()));
               });

// ---- the mask ----

void InferMask(ShapeRelation& r) {
  r.In(0, Shape{kUnknownDim, kUnknownDim, kUnknownDim, r.node().params<WindowParam>().seen()});
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  r.In(1, Shape{r.in(0)[2]});
  r.In(2, Shape{r.in(0)[0]});
}

void MaskReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Window window(node, in[0].shape(), in[1]);
  const std::vector<std::int64_t> lengths = Numbers<std::int64_t>(in[2]);
  std::vector<float> mask(static_cast<std::size_t>(out[0].size()), 0.f);
  for (std::int64_t b = 0; b < window.batch; ++b) {
    const std::int64_t length = std::clamp<std::int64_t>(lengths[static_cast<std::size_t>(b)], 0, window.positions);
    const std::int64_t first = window.Row(b, 0, 0), rows = length * window.heads;
    window.ForEach(b, [&](std::int64_t row, std::int64_t seen, std::int64_t k) {
      if (row - first < rows && seen - first < rows) mask[static_cast<std::size_t>(row * window.seen + k)] = 1;
    });
  }
  Store(mask, out[0]);
}

[[maybe_unused]] const auto kMask =
    RegisterOp<WindowParam>("_contrib_sldwin_atten_mask_like")
        .Alias("_npx_sldwin_atten_mask_like")
        .Doc("1 where a score (batch, position, head, window) is of two positions below valid_length (batch), else 0.")
        .Params(Schema())
        .Inputs({"score", "dilation", "valid_length"})
        .Outputs({"mask"})
        .Set(ShapeRule{InferMask})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Out(0, DType::kFloat32);
          for (int i = 1; i < 3; ++i) {
            if (!IsKnown(r.in(i))) r.In(i, DType::kInt32);
          }
          if (!IsKnown(r.in(0))) r.In(0, DType::kFloat32);
        }})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex, SlotRole::kIndex}})
        .Set(ConstantRange(Hull(ValueRange::Of(0), ValueRange::Of(1))))
        .Set(ZeroGradient{"the mask depends on positions alone"})
        .Set(ReferenceKernel{MaskReference});

}  // namespace
}  // namespace amp::sliding_window_attention
