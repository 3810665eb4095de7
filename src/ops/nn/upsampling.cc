// UpSampling: by repetition, or as a transposed convolution of each channel.
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::upsampling {
namespace {

struct UpSamplingParam {
  std::int64_t scale = 1;
  std::int64_t num_filter = 0;
  std::string sample_type;
  std::string multi_input_mode = "concat";
  std::int64_t num_args = 1;
};

bool IsBilinear(const Node& node) { return node.params<UpSamplingParam>().sample_type == "bilinear"; }

// The transposed convolution has the stride `scale`.
std::int64_t KernelSize(std::int64_t scale) { return 2 * scale - scale % 2; }
std::int64_t Padding(std::int64_t scale) { return scale / 2; }

// The enlarged shape of data of rank 4.
Shape Enlarged(const Shape& data, std::int64_t scale) {
  const auto times = [scale](std::int64_t size) { return size < 0 ? size : size * scale; };
  return Shape{data[0], data[1], times(data[2]), times(data[3])};
}

void InferBilinear(ShapeRelation& r) {
  const auto& p = r.node().params<UpSamplingParam>();
  const std::int64_t size = KernelSize(p.scale);
  r.In(0, Shape{kUnknownDim, p.num_filter, kUnknownDim, kUnknownDim});
  r.In(1, Shape{p.num_filter, 1, size, size});
  r.Out(0, Enlarged(r.in(0), p.scale));
}

// All inputs grow to the size of the first one times `scale`.
void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<UpSamplingParam>();
  if (IsBilinear(r.node())) return InferBilinear(r);
  if (r.num_inputs() == 1 && r.in(0).rank() == 4 && !r.in(0).fully_known()) return r.Out(0, Enlarged(r.in(0), p.scale));
  Shape out;
  std::int64_t channels = 0;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
    const Shape& data = r.in(i);
    if (data.rank() != 4) FailAt(r.node(), "expected data of rank 4, got shape {}", data.ToString());
    if (i == 0) out = Enlarged(data, p.scale);
    const bool fits = data[2] > 0 && data[3] > 0 && out[2] % data[2] == 0 && out[3] % data[3] == 0 &&
                      data[0] == out[0] && (p.multi_input_mode == "concat" || data[1] == out[1]);
    if (!fits) FailAt(r.node(), "input {} of shape {} does not fit the output {}", i, data.ToString(), out.ToString());
    channels += data[1];
  }
  if (p.multi_input_mode == "concat") out[1] = channels;
  r.Out(0, out);
}

void BilinearReference(std::int64_t scale, const NDArray& data, const NDArray& weight, NDArray& out) {
  const std::int64_t height = data.shape()[2], width = data.shape()[3], size = KernelSize(scale);
  const std::int64_t channels = data.shape()[1], down = out.shape()[2], across = out.shape()[3];
  WithFloatType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(data), w = Numbers<T>(weight);
    std::vector<T> y(out.size(), T{0});
    for (std::int64_t i = 0; i < data.size(); ++i) {
      const std::int64_t plane = i / (height * width), top = i / width % height * scale - Padding(scale);
      const std::int64_t left = i % width * scale - Padding(scale);
      const T* kernel = w.data() + plane % channels * size * size;
      for (std::int64_t k = 0; k < size * size; ++k) {
        const std::int64_t row = top + k / size, column = left + k % size;
        const bool inside = row >= 0 && row < down && column >= 0 && column < across;
        if (inside) y[(plane * down + row) * across + column] += x[i] * kernel[k];
      }
    }
    Store(y, out);
  });
}

// Each input by itself, then joined or added.
bool Lower(LowerContext& c) {
  const auto& p = c.node().params<UpSamplingParam>();
  if (IsBilinear(c.node())) {
    const std::int64_t size = KernelSize(p.scale), pad = Padding(p.scale);
    const ValueId weights = c.Reshape(c.in(1), Shape{p.num_filter, 1, 1, size, size});
    const DeconvolutionSpec work{{p.scale, p.scale}, {0, 0}, {pad, pad}, {pad, pad}};
    c.SetOut(0, c.Emit(work, {c.in(0), weights}, c.out_type(0)));
    return true;
  }
  std::vector<ValueId> grown;
  for (std::int64_t i = 0; i < p.num_args; ++i) {
    TensorType type = c.out_type(0);
    type.shape[1] = c.in_type(static_cast<int>(i)).shape[1];
    grown.push_back(c.Emit(NearestResampleSpec{}, {c.in(static_cast<int>(i))}, type));
  }
  if (grown.size() == 1) {
    c.SetOut(0, grown[0]);
  } else if (p.multi_input_mode == "concat") {
    c.SetOut(0, c.Emit(ConcatSpec{1}, std::move(grown), c.out_type(0)));
  } else {
    std::vector<kernels::MapStep> steps;
    const auto count = static_cast<std::uint8_t>(grown.size());
    if (count > kernels::Map::kMaxOperands) return false;
    for (std::uint8_t i = 1; i < count; ++i) {
      const auto sum = static_cast<std::uint8_t>(i == 1 ? 0 : count + i - 2);
      steps.push_back({.op = kernels::MapOp::kAdd, .x = sum, .y = i});
    }
    c.SetOut(0, c.Emit(MapSpec{std::move(steps)}, std::move(grown), c.out_type(0)));
  }
  return true;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  if (IsBilinear(node)) return BilinearReference(node.params<UpSamplingParam>().scale, in[0], in[1], out[0]);
  const bool concat = node.params<UpSamplingParam>().multi_input_mode == "concat";
  const Shape& shape = out[0].shape();
  WithNumberType(out[0].dtype(), [&](auto zero) {  // numbers of places, too: see _backward_move
    using T = decltype(zero);
    std::vector<T> y(out[0].size(), T{0});
    std::int64_t first = 0;
    for (const NDArray& array : in) {
      const std::vector<T> x = Numbers<T>(array);
      const Shape& from = array.shape();
      for (std::int64_t i = 0; i < shape[0] * from[1] * shape[2] * shape[3]; ++i) {
        const std::int64_t w = i % shape[3], h = i / shape[3] % shape[2];
        const std::int64_t c = i / (shape[3] * shape[2]) % from[1], n = i / (shape[3] * shape[2] * from[1]);
        const std::int64_t source =
            ((n * from[1] + c) * from[2] + h * from[2] / shape[2]) * from[3] + w * from[3] / shape[3];
        y[((n * shape[1] + first + c) * shape[2] + h) * shape[3] + w] += x[source];
      }
      if (concat) first += from[1];
    }
    Store(y, out[0]);
  });
}

// The sums of the blocks that elements became. Several inputs grow by different factors.
void NearestGradient(GradientContext& c, std::int64_t scale) {
  if (c.num_inputs() > 1) {
    for (int i = 0; i < c.num_inputs(); ++i) MoveGradient(i).apply(c);
    return;
  }
  const std::string blocks = fmt::format("(0, 0, -4, -1, {}, -4, -1, {})", scale, scale);
  c.Set(0, c.Call("sum", {c.Call("Reshape", {c.gradient()}, {{"shape", blocks}})}, {{"axis", "(3, 5)"}}));
}

Term ComposeBilinear(GradientContext& c) {
  const auto& p = c.params<UpSamplingParam>();
  const std::int64_t size = KernelSize(p.scale), pad = Padding(p.scale);
  const auto pair = [](std::int64_t value) { return PrintAttr(IntTuple{value, value}); };
  return c.Call("Deconvolution", {c.in(0), c.in(1)},
                {{"kernel", pair(size)},
                 {"stride", pair(p.scale)},
                 {"pad", pair(pad)},
                 {"num_filter", PrintAttr(p.num_filter)},
                 {"num_group", PrintAttr(p.num_filter)},
                 {"no_bias", "True"}});
}

void Gradient(GradientContext& c) {
  static const GradientRule kBilinear =
      CompositionRule([](GradientContext& context) { return std::vector<Term>{ComposeBilinear(context)}; });
  if (IsBilinear(c.node())) return kBilinear.apply(c);
  NearestGradient(c, c.params<UpSamplingParam>().scale);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<UpSamplingParam>("UpSampling")
        .Doc(
            "Grows data (N, C, H, W) `scale` times: rows and columns are repeated, or weight (C, 1, K, K) "
            "interpolates.")
        .Params(ParamSchema<UpSamplingParam>()
                    .Required("scale", &UpSamplingParam::scale, "How often.")
                    .Range(1, 1000)
                    .Optional("num_filter", &UpSamplingParam::num_filter, "bilinear: the number of channels.")
                    .Range(0, 1 << 30)
                    .Required("sample_type", &UpSamplingParam::sample_type, "How.")
                    .OneOf({"nearest", "bilinear"})
                    .Optional("multi_input_mode", &UpSamplingParam::multi_input_mode, "What becomes of several inputs.")
                    .OneOf({"concat", "sum"})
                    .Optional("num_args", &UpSamplingParam::num_args, "Number of inputs.")
                    .Range(1, 1 << 16)
                    .Ignored("workspace"))
        .Variadic("num_args")
        .Inputs([](const UpSamplingParam& p) {
          if (p.sample_type == "bilinear") return std::vector<std::string>{"data", "weight"};
          return p.num_args == 1 ? std::vector<std::string>{"data"} : NumberedNames("arg", p.num_args);
        })
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kMovesData,
                      {},
                      [](const Node& node, DType) {
                        const auto& p = node.params<UpSamplingParam>();
                        if (IsBilinear(node)) return false;
                        return p.num_args == 1 || p.multi_input_mode == "concat";
                      }})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          if (IsBilinear(q.node)) return ValueRange{};
          const bool adds = q.node.params<UpSamplingParam>().multi_input_mode != "concat";
          ValueRange all = q.in[0];
          for (std::size_t i = 1; i < q.in.size(); ++i) all = adds ? Sum(all, q.in[i]) : Hull(all, q.in[i]);
          return all;
        }})
        .Set(GradientRule{Gradient})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::upsampling
