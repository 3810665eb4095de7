// Pooling in one to three dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/common/spatial.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::pooling {
namespace {

struct PoolingParam {
  IntTuple kernel, stride, pad;
  std::string pool_type = "max";
  std::string pooling_convention = "valid";
  bool global_pool = false;
  std::optional<std::int64_t> p_value;
  std::optional<bool> count_include_pad;
  std::string layout = "None";
};

ParamSchema<PoolingParam> Schema() {
  return ParamSchema<PoolingParam>()
      .Optional("kernel", &PoolingParam::kernel, "Size of the window; needed unless global_pool.")
      .Optional("pool_type", &PoolingParam::pool_type, "What becomes of a window's elements.")
      .OneOf({"max", "avg", "sum", "lp"})
      .Optional("global_pool", &PoolingParam::global_pool,
                "The window is the whole plane; kernel, stride and pad are ignored.")
      .Optional("pooling_convention", &PoolingParam::pooling_convention,
                "Rounding of the output size: valid down, full up; same: ceil(size / stride), one axis only.")
      .OneOf({"valid", "full", "same"})
      .Optional("stride", &PoolingParam::stride, "Step of the window; 1 where not given.")
      .Optional("pad", &PoolingParam::pad, "Padding on both sides of each axis.")
      .Optional("p_value", &PoolingParam::p_value, "lp: the exponent (1, 2 or 3) in (sum of x^p)^(1/p).")
      .Optional("count_include_pad", &PoolingParam::count_include_pad,
                "avg: padding counts in the divisor (the default).")
      .Optional("layout", &PoolingParam::layout, "Order of the axes; None: channels first.")
      .OneOf(LayoutWords())
      .Ignored("cudnn_off")
      .Ignored("output_size");  // of another operator that shares the struct in 2.0
}

void Validate(PoolingParam& p) {
  if (p.pool_type == "lp" && (!p.p_value || *p.p_value < 1 || *p.p_value > 3)) {
    throw GraphError("attribute p_value: pool_type lp needs 1, 2 or 3");
  }
  if (p.global_pool) return;
  const std::size_t n = p.kernel.size();
  if (n < 1 || n > 3) Throw<GraphError>("attribute kernel: expected one to three values, got {}", n);
  FillTuple(&p.kernel, n, 1, 1, "kernel");
  std::replace(p.stride.begin(), p.stride.end(), std::int64_t{0}, std::int64_t{1});
  // Further values are not read, as in MXNet.
  p.stride.resize(std::min(p.stride.size(), n));
  p.pad.resize(std::min(p.pad.size(), n));
  FillTuple(&p.stride, n, 1, 1, "stride");
  FillTuple(&p.pad, n, 0, 0, "pad");
  ParseLayout(p.layout, n);
  if (p.pooling_convention == "same" && n != 1)
    throw GraphError("pooling_convention same is defined for one axis only");
  for (std::size_t i = 0; i < n; ++i) {
    if (p.pad[i] >= p.kernel[i]) {
      Throw<GraphError>("padding {} must be smaller than the kernel {}", PrintAttr(p.pad), PrintAttr(p.kernel));
    }
  }
}

SpatialLayout LayoutOf(const PoolingParam& p, const Shape& data) {
  return ParseLayout(p.layout, static_cast<std::size_t>(data.rank() - 2));
}

std::int64_t OutputSize(const PoolingParam& p, int i, std::int64_t size) {
  if (p.pooling_convention == "same") return (size + 2 * p.pad[i] + p.stride[i] - 1) / p.stride[i];
  const std::int64_t room = size + 2 * p.pad[i] - p.kernel[i];
  const std::int64_t round_up = p.pooling_convention == "full" ? p.stride[i] - 1 : 0;
  return (room + round_up) / p.stride[i] + 1;
}

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<PoolingParam>();
  if (!r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  const bool fits =
      data.rank() >= 3 && data.rank() <= 5 && (p.global_pool || data.rank() == static_cast<int>(p.kernel.size()) + 2);
  if (!fits) {
    FailAt(r.node(), "expected data of rank {}, got shape {}",
           p.global_pool ? "3 to 5" : std::to_string(p.kernel.size() + 2), data.ToString());
  }
  const SpatialLayout layout = LayoutOf(p, data);
  Shape out = data;
  for (int i = 0; i < layout.num_spatial; ++i) {
    const int axis = layout.spatial_axis(i);
    if (p.global_pool) {
      out[axis] = 1;
    } else if (data[axis] >= 0) {
      if (p.pooling_convention != "same" && p.kernel[i] > data[axis] + 2 * p.pad[i]) {
        FailAt(r.node(), "kernel {} does not fit into data of shape {} with padding {}", PrintAttr(p.kernel),
               data.ToString(), PrintAttr(p.pad));
      }
      out[axis] = OutputSize(p, i, data[axis]);
    }
  }
  r.Out(0, out);
}

// The window of one axis: elements [begin, end) of the data; `padded` counts the padding that it covers, too.
struct Window {
  std::int64_t begin, end, padded;
};

struct Geometry {
  std::array<std::int64_t, 3> in, out, kernel, stride, pad;

  Window At(int axis, std::int64_t i) const {
    const std::int64_t begin = i * stride[axis] - pad[axis];
    const std::int64_t end = std::min(begin + kernel[axis], in[axis] + pad[axis]);
    return {std::max<std::int64_t>(begin, 0), std::min(end, in[axis]), end - begin};
  }
};

Geometry GeometryOf(const PoolingParam& p, const Shape& in, const Shape& out) {
  Geometry g{Spatial3(in), Spatial3(out), {}, {1, 1, 1}, {0, 0, 0}};
  g.kernel = g.in;
  if (!p.global_pool) {
    g.kernel = Tuple3(p.kernel, 1);
    g.stride = Tuple3(p.stride, 1);
    g.pad = Tuple3(p.pad, 0);
  }
  return g;
}

// MXNet's lp pooling takes no absolute values: odd powers keep their sign.
template <class T>
T Power(T value, std::int64_t p) {
  return p == 1 ? value : p == 2 ? value * value : value * value * value;
}

template <class T>
T Root(T value, std::int64_t p) {
  return p == 1 ? value : p == 2 ? std::sqrt(value) : std::cbrt(value);
}

// Reduces one window of one plane.
template <class T>
T Reduce(const PoolingParam& p, const T* plane, const Geometry& g, const std::array<Window, 3>& w) {
  const bool is_max = p.pool_type == "max";
  T result = is_max ? std::numeric_limits<T>::lowest() : T{0};
  for (std::int64_t d = w[0].begin; d < w[0].end; ++d) {
    for (std::int64_t h = w[1].begin; h < w[1].end; ++h) {
      for (std::int64_t x = w[2].begin; x < w[2].end; ++x) {
        const T value = plane[(d * g.in[1] + h) * g.in[2] + x];
        if (is_max) {
          result = value > result || std::isnan(value) ? value : result;
        } else if (p.pool_type == "lp") {
          result += Power(value, *p.p_value);
        } else {
          result += value;
        }
      }
    }
  }
  if (p.pool_type == "lp") return Root(result, *p.p_value);
  if (p.pool_type != "avg") return result;
  const bool with_padding = p.count_include_pad.value_or(true);
  std::int64_t count = 1;
  for (const Window& window : w) count *= with_padding ? window.padded : window.end - window.begin;
  return count > 0 ? result / static_cast<T>(count) : T{0};  // convention full has windows beyond everything
}

template <class T>
void Pool(const PoolingParam& p, const NDArray& in, NDArray& out) {
  const Geometry g = GeometryOf(p, in.shape(), out.shape());
  const std::int64_t planes = in.shape()[0] * in.shape()[1];
  const std::vector<T> x = Numbers<T>(in);
  std::vector<T> y(out.size());
  const std::int64_t in_plane = g.in[0] * g.in[1] * g.in[2], out_plane = g.out[0] * g.out[1] * g.out[2];
  kernels::ParallelFor(planes, 1, [&](std::int64_t i) {
    T* result = y.data() + i * out_plane;
    for (std::int64_t d = 0; d < g.out[0]; ++d) {
      for (std::int64_t h = 0; h < g.out[1]; ++h) {
        for (std::int64_t w = 0; w < g.out[2]; ++w) {
          *result++ = Reduce(p, x.data() + i * in_plane, g, {g.At(0, d), g.At(1, h), g.At(2, w)});
        }
      }
    }
  });
  Store(y, out);
}

Shape ChannelsFirst(const Shape& shape, const SpatialLayout& layout) {
  Shape first = shape;
  const std::vector<int> axes = layout.ToChannelsFirst();
  for (int i = 0; i < shape.rank(); ++i) first[i] = shape[axes[i]];
  return first;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<PoolingParam>();
  const SpatialLayout layout = LayoutOf(p, in[0].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (!layout.channels_last) return Pool<T>(p, in[0], out[0]);
    NDArray result(out[0].dtype(), ChannelsFirst(out[0].shape(), layout));
    Pool<T>(p, Transposed(in[0], layout.ToChannelsFirst()), result);
    CopyElements(Transposed(result, layout.FromChannelsFirst()), out[0]);
  });
}

// oneDNN's windows are those of the data with padding on both sides. It divides by the whole window, so where an
// average counts padding no window may reach beyond the padding that the attribute gives; and every window must touch
// the data.
bool Expressible(const PoolingParam& p, const Shape& in, const Shape& out, PoolingSpec* work) {
  const bool counts_padding = p.pool_type == "avg" && p.count_include_pad.value_or(true);
  for (int i = 0; i < in.rank() - 2; ++i) {
    const std::int64_t size = in[i + 2];
    const std::int64_t kernel = p.global_pool ? size : p.kernel[i];
    const std::int64_t stride = p.global_pool ? 1 : p.stride[i];
    const std::int64_t pad = p.global_pool ? 0 : p.pad[i];
    const std::int64_t last = (out[i + 2] - 1) * stride - pad;
    const std::int64_t pad_end = std::max<std::int64_t>(0, last + kernel - size);
    if (last >= size || pad_end >= kernel || (counts_padding && pad_end > pad)) return false;
    work->kernel.push_back(kernel);
    work->strides.push_back(stride);
    work->pads_begin.push_back(pad);
    work->pads_end.push_back(pad_end);
  }
  return true;
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<PoolingParam>();
  const SpatialLayout layout = LayoutOf(p, c.in_type(0).shape);
  if (p.pool_type != "max" && p.pool_type != "avg") return false;
  PoolingSpec work;
  if (p.pool_type == "avg") {
    work.kind =
        p.count_include_pad.value_or(true) ? PoolingKind::kAverageIncludePadding : PoolingKind::kAverageExcludePadding;
  }
  const auto data = layout.channels_last ? c.Permute(c.in(0), layout.ToChannelsFirst()) : c.in(0);
  TensorType type = c.out_type(0);
  if (layout.channels_last) type.shape = ChannelsFirst(type.shape, layout);
  if (!Expressible(p, c.ShapeOf(data), type.shape, &work)) return false;
  const auto out = c.Emit(work, {data}, type);
  c.SetOut(0, layout.channels_last ? c.Permute(out, layout.FromChannelsFirst()) : out);
  return true;
}

// The other conventions round sizes in ways that depend on the stride.
std::optional<SlidingWindow> WindowOf(const Node& node) {
  const auto& p = node.params<PoolingParam>();
  if (p.global_pool || p.pooling_convention != "valid") return std::nullopt;
  return SlidingWindow{ParseLayout(p.layout, p.kernel.size()).spatial_axis(0), p.kernel, p.stride, p.pad};
}

// ---- the gradient ----

template <class T>
T PowerSlope(T x, T y, std::int64_t p) {
  return p == 1 ? T{1} : p == 2 ? x / y : x * x / (y * y);
}

// Hands the gradient of one window's result to its elements; that of a largest element to the first such.
template <class T>
void Spread(const PoolingParam& p, const Geometry& g, const std::array<Window, 3>& w, const T* x, T y, T gradient,
            T* sums) {
  const bool with_padding = p.count_include_pad.value_or(true);
  std::int64_t count = 1;
  for (const Window& window : w) count *= with_padding ? window.padded : window.end - window.begin;
  const T share = p.pool_type == "avg" ? gradient / static_cast<T>(std::max<std::int64_t>(1, count)) : gradient;
  for (std::int64_t d = w[0].begin; d < w[0].end; ++d) {
    for (std::int64_t h = w[1].begin; h < w[1].end; ++h) {
      for (std::int64_t v = w[2].begin; v < w[2].end; ++v) {
        const std::int64_t place = (d * g.in[1] + h) * g.in[2] + v;
        if (p.pool_type == "max") {
          if (x[place] != y) continue;
          sums[place] += gradient;
          return;
        }
        sums[place] += p.pool_type == "lp" ? gradient * PowerSlope(x[place], y, *p.p_value) : share;
      }
    }
  }
}

template <class T>
void SpreadAll(const PoolingParam& p, const NDArray& gradient, const NDArray& in, const NDArray& pooled, NDArray& out) {
  const Geometry g = GeometryOf(p, in.shape(), pooled.shape());
  const std::vector<T> dy = Numbers<T>(gradient), x = Numbers<T>(in), y = Numbers<T>(pooled);
  std::vector<T> dx(x.size(), T{0});
  const std::int64_t in_plane = g.in[0] * g.in[1] * g.in[2], out_plane = g.out[0] * g.out[1] * g.out[2];
  kernels::ParallelFor(in.shape()[0] * in.shape()[1], 1, [&](std::int64_t plane) {
    for (std::int64_t i = 0; i < out_plane; ++i) {
      const std::array<Window, 3> window{g.At(0, i / (g.out[1] * g.out[2])), g.At(1, i / g.out[2] % g.out[1]),
                                         g.At(2, i % g.out[2])};
      const std::int64_t from = plane * out_plane + i, to = plane * in_plane;
      Spread(p, g, window, x.data() + to, y[from], dy[from], dx.data() + to);
    }
  });
  Store(dx, out);
}

void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<PoolingParam>();
  const SpatialLayout layout = LayoutOf(p, in[1].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (!layout.channels_last) return SpreadAll<T>(p, in[0], in[1], in[2], out[0]);
    const std::vector<int> axes = layout.ToChannelsFirst();
    NDArray result(out[0].dtype(), ChannelsFirst(out[0].shape(), layout));
    SpreadAll<T>(p, Transposed(in[0], axes), Transposed(in[1], axes), Transposed(in[2], axes), result);
    CopyElements(Transposed(result, layout.FromChannelsFirst()), out[0]);
  });
}

void InferBackwardShape(ShapeRelation& r) {
  r.In(1, r.out(0));
  r.Out(0, r.in(1));
  r.In(0, r.in(2));
  r.In(2, r.in(0));
  if (!r.in(1).fully_known()) return;
  std::vector<Shape> in{r.in(1)}, out(1);
  ShapeRelation forward(r.node(), in, out);
  InferShape(forward);
  r.In(0, out[0]);
  r.In(2, out[0]);
}

// Each element gets its share: a map, which merges with others.
bool LowerBackwardGlobalAverage(LowerContext& c, const SpatialLayout& layout) {
  using kernels::MapOp;
  const Shape& shape = c.in_type(1).shape;
  double count = 1;
  for (int i = 0; i < layout.num_spatial; ++i) count *= static_cast<double>(shape[layout.spatial_axis(i)]);
  return LowerToMap(c, {{.op = MapOp::kConstant, .alpha = static_cast<float>(count)}, {.op = MapOp::kDiv, .y = 1}},
                    {c.in(0)}, {});
}

// The kernel's result is float32.
bool LowerBackward(LowerContext& c) {
  const auto& p = c.node().params<PoolingParam>();
  const TensorType& in = c.in_type(1);
  if ((p.pool_type != "max" && p.pool_type != "avg") || in.dtype == DType::kFloat64 || in.shape.size() == 0) {
    return false;
  }
  const SpatialLayout layout = LayoutOf(p, in.shape);
  const auto first = [&](ValueId v) { return layout.channels_last ? c.Permute(v, layout.ToChannelsFirst()) : v; };
  const TensorType type{DType::kFloat32, layout.channels_last ? ChannelsFirst(in.shape, layout) : in.shape};
  if (p.global_pool && p.pool_type == "avg") return LowerBackwardGlobalAverage(c, layout);
  PoolingGradientSpec work{PoolingKind::kMax, p.kernel, p.stride, p.pad};
  if (p.global_pool) {
    const auto sizes = static_cast<std::size_t>(layout.num_spatial);
    work.kernel.assign(type.shape.dims().begin() + 2, type.shape.dims().end());
    work.strides.assign(sizes, 1);
    work.pads.assign(sizes, 0);
  }
  std::vector<ValueId> inputs{first(c.in(0))};
  if (p.pool_type == "max") {
    inputs.push_back(first(c.in(1)));
    inputs.push_back(first(c.in(2)));
  } else {
    work.kind =
        p.count_include_pad.value_or(true) ? PoolingKind::kAverageIncludePadding : PoolingKind::kAverageExcludePadding;
  }
  const ValueId sums = c.Emit(work, inputs, type);
  c.SetOut(0, c.Cast(layout.channels_last ? c.Permute(sums, layout.FromChannelsFirst()) : sums, in.dtype));
  return true;
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<PoolingParam>("_backward_Pooling")
        .Doc("The gradient of Pooling's data. The first of several largest elements gets that of their window.")
        .Params(Schema(), Validate)
        .Inputs({"gradient", "data", "output"})
        .Set(ShapeRule{InferBackwardShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          const std::string& type = c.params<PoolingParam>().pool_type;
          if (type != "avg" && type != "sum") {
            throw UnsupportedError(c.node().Describe() + ": the gradient of pool_type " + type + " has none");
          }
          c.Set(0, c.Call("Pooling", {c.gradient()}, c.attrs()));  // which is linear
        }})
        .Set(ReferenceKernel{BackwardReference})
        .Set(LowerRule{LowerBackward});

// Whether some window may lie in the padding alone, where the largest element is the lowest number that there is.
bool MaySeeNothing(const PoolingParam& p) {
  if (p.global_pool) return false;
  for (std::size_t i = 0; i < p.kernel.size(); ++i) {
    if (p.pad[i] >= p.kernel[i]) return true;
  }
  return p.pooling_convention != "valid";
}

ValueRange RangeOf(const RangeQuery& q, int) {
  const auto& p = q.node.params<PoolingParam>();
  const ValueRange &in = q.in[0], padded = Hull(in, {0, 0});
  const double below = padded.low < 0 ? -ValueRange::kInfinity : 0, above = padded.high > 0 ? ValueRange::kInfinity : 0;
  if (p.pool_type == "max") return {MaySeeNothing(p) ? -ValueRange::kInfinity : in.low, in.high, in.is_integer};
  if (p.pool_type == "avg") return {padded.low, padded.high};
  return {below, above};
}

[[maybe_unused]] const auto kCard =
    RegisterOp<PoolingParam>("Pooling")
        .Alias("Pooling_v1")
        .Alias("_npx_pooling")
        .Doc(
            "Reduces windows of data (N, C, spatial...) to one value each. An average with count_include_pad divides "
            "by\n"
            "the part of the window that lies in the data or its padding.")
        .Params(Schema(), Validate)
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kElementwise,
                      {},
                      [](const Node& node, DType) { return node.params<PoolingParam>().pool_type == "max"; }})
        .Set(HasWindow{WindowOf})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_Pooling", {c.gradient(), c.in(0), c.out()}, c.attrs()));
        }})
        .Set(RangeRule{RangeOf})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::pooling
