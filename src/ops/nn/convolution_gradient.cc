// The gradients of Convolution and Deconvolution. With weights w (F, C / groups, k...), fine data x (N, C, ...) and
// coarse data y (N, F, ...), all of them and the operators themselves are one of three products:
//   y = sum of w x (Convolution),  x = sum of w y (Deconvolution),  w = sum of x y
#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/threads/parallel.h"
#include "ops/common/dot.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/common/spatial.h"
#include "ops/nn/convolution.h"
#include "ops/nn/deconvolution.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::convolution_gradient {
namespace {

struct Geometry {
  std::array<std::int64_t, 3> fine, coarse, kernel, stride, dilate, pad;
  std::int64_t batch, channels, filters, groups;

  std::int64_t fine_plane() const { return fine[0] * fine[1] * fine[2]; }
  std::int64_t coarse_plane() const { return coarse[0] * coarse[1] * coarse[2]; }
  std::int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t channels_per_group() const { return channels / groups; }
  std::int64_t filters_per_group() const { return filters / groups; }
};

// What one element of a window sees of a pair of rows: coarse positions [first, last), which lie on fine positions
// first * stride + offset and so on.
struct Overlap {
  std::int64_t fine_row, coarse_row;  // where the rows begin
  std::int64_t first, last, offset;
};

// Calls f for the pairs of rows that meet in element k of the window.
template <class F>
void ForOverlaps(const Geometry& g, std::int64_t k, F&& f) {
  const std::int64_t kd = k / (g.kernel[1] * g.kernel[2]), kh = k / g.kernel[2] % g.kernel[1], kw = k % g.kernel[2];
  const std::int64_t offset = kw * g.dilate[2] - g.pad[2], stride = g.stride[2];
  const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t last = offset >= g.fine[2] ? 0 : std::min(g.coarse[2], (g.fine[2] - 1 - offset) / stride + 1);
  if (first >= last) return;
  for (std::int64_t d = 0; d < g.coarse[0]; ++d) {
    const std::int64_t fd = d * g.stride[0] + kd * g.dilate[0] - g.pad[0];
    if (fd < 0 || fd >= g.fine[0]) continue;
    for (std::int64_t h = 0; h < g.coarse[1]; ++h) {
      const std::int64_t fh = h * g.stride[1] + kh * g.dilate[1] - g.pad[1];
      if (fh < 0 || fh >= g.fine[1]) continue;
      f(Overlap{(fd * g.fine[1] + fh) * g.fine[2], (d * g.coarse[1] + h) * g.coarse[2], first, last, offset});
    }
  }
}

template <class T>
void SumCoarse(const Geometry& g, const std::vector<T>& x, const std::vector<T>& w, std::vector<T>* y) {
  const std::int64_t per_group = g.channels_per_group();
  kernels::ParallelFor(g.batch * g.filters, 1, [&](std::int64_t plane) {
    const std::int64_t n = plane / g.filters, f = plane % g.filters, group = f / g.filters_per_group();
    T* to = y->data() + plane * g.coarse_plane();
    for (std::int64_t c = 0; c < per_group; ++c) {
      const T* from = x.data() + (n * g.channels + group * per_group + c) * g.fine_plane();
      for (std::int64_t k = 0; k < g.window(); ++k) {
        const T weight = w[(f * per_group + c) * g.window() + k];
        ForOverlaps(g, k, [&](const Overlap& o) {
          const T* row = from + o.fine_row + o.offset;
          for (std::int64_t i = o.first; i < o.last; ++i) to[o.coarse_row + i] += weight * row[i * g.stride[2]];
        });
      }
    }
  });
}

template <class T>
void SumFine(const Geometry& g, const std::vector<T>& y, const std::vector<T>& w, std::vector<T>* x) {
  const std::int64_t per_group = g.channels_per_group(), filters = g.filters_per_group();
  kernels::ParallelFor(g.batch * g.channels, 1, [&](std::int64_t plane) {
    const std::int64_t n = plane / g.channels, c = plane % g.channels, group = c / per_group;
    T* to = x->data() + plane * g.fine_plane();
    for (std::int64_t f = group * filters; f < (group + 1) * filters; ++f) {
      const T* from = y.data() + (n * g.filters + f) * g.coarse_plane();
      for (std::int64_t k = 0; k < g.window(); ++k) {
        const T weight = w[(f * per_group + c % per_group) * g.window() + k];
        ForOverlaps(g, k, [&](const Overlap& o) {
          T* row = to + o.fine_row + o.offset;
          for (std::int64_t i = o.first; i < o.last; ++i) row[i * g.stride[2]] += weight * from[o.coarse_row + i];
        });
      }
    }
  });
}

// Sums of a row in the type of the data, sums of rows in double.
template <class T>
void SumWeights(const Geometry& g, const std::vector<T>& x, const std::vector<T>& y, std::vector<T>* w) {
  const std::int64_t per_group = g.channels_per_group();
  kernels::ParallelFor(g.filters * per_group, 1, [&](std::int64_t pair) {
    const std::int64_t f = pair / per_group, c = f / g.filters_per_group() * per_group + pair % per_group;
    for (std::int64_t k = 0; k < g.window(); ++k) {
      double sum = 0;
      for (std::int64_t n = 0; n < g.batch; ++n) {
        const T* fine = x.data() + (n * g.channels + c) * g.fine_plane();
        const T* coarse = y.data() + (n * g.filters + f) * g.coarse_plane();
        ForOverlaps(g, k, [&](const Overlap& o) {
          const T* row = fine + o.fine_row + o.offset;
          const T* other = coarse + o.coarse_row;
          if (g.stride[2] == 1) {
            sum += static_cast<double>(Dot(row + o.first, other + o.first, o.last - o.first));
            return;
          }
          for (std::int64_t i = o.first; i < o.last; ++i) {
            sum += static_cast<double>(row[i * g.stride[2]]) * static_cast<double>(other[i]);
          }
        });
      }
      (*w)[pair * g.window() + k] = static_cast<T>(sum);
    }
  });
}

enum class Product { kFine, kCoarse, kWeights };

// All arrays channels first.
void Compute(Product product, const Geometry& g, const NDArray& a, const NDArray& b, NDArray& out) {
  WithFloatType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> first = Numbers<T>(a), second = Numbers<T>(b);
    std::vector<T> sums(static_cast<std::size_t>(out.size()), T{0});
    if (product == Product::kFine) SumFine(g, first, second, &sums);
    if (product == Product::kCoarse) SumCoarse(g, first, second, &sums);
    if (product == Product::kWeights) SumWeights(g, first, second, &sums);
    Store(sums, out);
  });
}

// ---- of Convolution: the gradient is coarse ----

Geometry GeometryOf(const ConvolutionParam& p, const Shape& fine, const Shape& coarse) {
  return {
      Spatial3(fine), Spatial3(coarse), Tuple3(p.kernel, 1), Tuple3(p.stride, 1), Tuple3(p.dilate, 1), Tuple3(p.pad, 0),
      fine[0],        fine[1],          coarse[1],           p.num_group};
}

NDArray ChannelsFirst(const SpatialLayout& layout, const NDArray& array) {
  return layout.channels_last ? Transposed(array, layout.ToChannelsFirst()) : array;
}

Shape ChannelsFirst(const SpatialLayout& layout, const Shape& shape) {
  Shape first = shape;
  const std::vector<int> axes = layout.ToChannelsFirst();
  for (int i = 0; i < shape.rank() && layout.channels_last; ++i) first[i] = shape[axes[i]];
  return first;
}

void ComputeConvolution(Product product, const Node& node, std::span<const NDArray> in, const Shape& data,
                        NDArray& out) {
  const auto& p = node.params<ConvolutionParam>();
  const SpatialLayout layout = p.parsed_layout();
  const NDArray gradient = ChannelsFirst(layout, in[0]), other = ChannelsFirst(layout, in[1]);
  const Geometry g = GeometryOf(p, ChannelsFirst(layout, data), gradient.shape());
  NDArray result = layout.channels_last ? NDArray(out.dtype(), ChannelsFirst(layout, out.shape())) : out;
  if (product == Product::kWeights) {
    Compute(product, g, other, gradient, result);
  } else {
    Compute(product, g, gradient, other, result);
  }
  if (layout.channels_last) CopyElements(Transposed(result, layout.FromChannelsFirst()), out);
}

// ---- of Deconvolution: the gradient is fine ----

void ComputeDeconvolution(Product product, const Node& node, std::span<const NDArray> in, const Shape& data,
                          NDArray& out) {
  const auto& p = node.params<DeconvolutionParam>();
  const Shape& fine = in[0].shape();
  IntTuple pads;
  for (int i = 0; i < std::ssize(p.kernel); ++i) pads.push_back(ExtentOf(node, p, i, data[i + 2]).pad);
  const Geometry g{Spatial3(fine),
                   Spatial3(data),
                   Tuple3(p.kernel, 1),
                   Tuple3(p.stride, 1),
                   Tuple3(p.dilate, 1),
                   Tuple3(pads, 0),
                   fine[0],
                   fine[1],
                   data[1],
                   p.num_group};
  Compute(product, g, in[0], in[1], out);
}

// ---- lowering ----

struct Window {
  IntTuple strides, dilates, pads_begin, pads_end;  // dilates count skipped elements
};

// Elements behind the last window have no gradient and give none: padding makes up for what is missing only.
Window WindowOf(const IntTuple& kernel, const IntTuple& stride, const IntTuple& dilate, const IntTuple& pad,
                const Shape& fine, const Shape& coarse) {
  Window window{stride, dilate, pad, {}};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t seen = (coarse[axis] - 1) * stride[i] + (kernel[i] - 1) * dilate[i] + 1;
    --window.dilates[i];
    window.pads_end.push_back(std::max<std::int64_t>(0, seen - pad[i] - fine[axis]));
  }
  return window;
}

// Weights (F, C / groups, k...) with a leading axis of groups where there are several.
Shape InGroups(const Shape& weights, std::int64_t groups) {
  if (groups == 1) return weights;
  std::vector<std::int64_t> dims{groups, weights[0] / groups};
  dims.insert(dims.end(), weights.dims().begin() + 1, weights.dims().end());
  return Shape(dims);
}

// Axes of features and channels change places.
ValueId Swapped(LowerContext& c, ValueId weights, std::int64_t groups) {
  std::vector<int> axes(static_cast<std::size_t>(c.ShapeOf(weights).rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const std::size_t first = groups > 1 ? 1 : 0;
  std::swap(axes[first], axes[first + 1]);
  return c.Permute(weights, axes);
}

// `a` and `b` as Compute has them, and the result, channels first.
ValueId EmitProduct(LowerContext& c, Product product, const Window& w, std::int64_t groups, ValueId a, ValueId b,
                    const TensorType& result) {
  if (product == Product::kWeights) {
    const ValueId sums = c.Emit(WeightGradientSpec{w.strides, w.dilates, w.pads_begin, w.pads_end}, {a, b},
                                {result.dtype, InGroups(result.shape, groups)});
    return c.Reshape(sums, result.shape);
  }
  const ValueId weights = c.Reshape(b, InGroups(c.ShapeOf(b), groups));
  if (product == Product::kCoarse) {
    return c.Emit(ConvolutionSpec{w.strides, w.dilates, w.pads_begin, w.pads_end}, {a, weights}, result);
  }
  return c.Emit(DeconvolutionSpec{w.strides, w.dilates, w.pads_begin, w.pads_end}, {a, Swapped(c, weights, groups)},
                result);
}

// The gradient and the other operand, both in float32 where one is.
std::pair<ValueId, ValueId> InOneDType(LowerContext& c) {
  const DType gradient = c.in_type(0).dtype, other = c.in_type(1).dtype;
  const DType dtype = gradient == other ? other : DType::kFloat32;
  return {c.Cast(c.in(0), dtype), c.Cast(c.in(1), dtype)};
}

bool LowerConvolution(LowerContext& c, bool of_weight) {
  const auto& p = c.node().params<ConvolutionParam>();
  const SpatialLayout layout = p.parsed_layout();
  const auto first = [&](ValueId v) { return layout.channels_last ? c.Permute(v, layout.ToChannelsFirst()) : v; };
  const auto [from_gradient, from_other] = InOneDType(c);
  const ValueId gradient = first(from_gradient), other = first(from_other);
  const TensorType result{c.out_type(0).dtype, ChannelsFirst(layout, c.out_type(0).shape)};
  const Shape& fine = of_weight ? c.ShapeOf(other) : result.shape;
  const Window window = WindowOf(p.kernel, p.stride, p.dilate, p.pad, fine, c.ShapeOf(gradient));
  const ValueId sums = of_weight ? EmitProduct(c, Product::kWeights, window, p.num_group, other, gradient, result)
                                 : EmitProduct(c, Product::kFine, window, p.num_group, gradient, other, result);
  c.SetOut(0, layout.channels_last ? c.Permute(sums, layout.FromChannelsFirst()) : sums);
  return true;
}

bool LowerDeconvolution(LowerContext& c, bool of_weight) {
  const auto& p = c.node().params<DeconvolutionParam>();
  const Shape &fine = c.in_type(0).shape, &coarse = (of_weight ? c.in_type(1) : c.out_type(0)).shape;
  const auto [gradient, other] = InOneDType(c);
  IntTuple pads;
  for (int i = 0; i < std::ssize(p.kernel); ++i) pads.push_back(ExtentOf(c.node(), p, i, coarse[i + 2]).pad);
  const Window window = WindowOf(p.kernel, p.stride, p.dilate, pads, fine, coarse);
  const Product product = of_weight ? Product::kWeights : Product::kCoarse;
  c.SetOut(0, EmitProduct(c, product, window, p.num_group, gradient, other, c.out_type(0)));
  return true;
}

// ---- registration ----

// Inputs are (gradient, other operand, what the result is like). The operator itself relates their shapes.
ShapeRule Shapes(const char* op, bool of_weight) {
  return {[op, of_weight](ShapeRelation& r) {
    r.In(2, r.out(0));
    r.Out(0, r.in(2));
    std::vector<Shape> in{r.in(of_weight ? 1 : 2), r.in(of_weight ? 2 : 1), Shape()},
        out(1);  // a bias that is not read
    ShapeRelation forward(r.node(), in, out);
    OpRegistry::Get().Require(kMXNetDomain, op).Find<ShapeRule>()->infer(forward);
    r.In(0, out[0]);
    r.In(1, in[of_weight ? 0 : 1]);
    r.In(2, in[of_weight ? 1 : 0]);
    r.Out(0, in[of_weight ? 1 : 0]);
  }};
}

// The result is like input 2; the gradient may be of another float dtype.
DTypeRule DTypes() {
  return {[](DTypeRelation& r) {
    r.Same({1, 2}, {0});
    if (!IsKnown(r.in(0))) r.In(0, r.in(1));
    r.InIsFloat(0);
    r.InIsFloat(1);
  }};
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema, void (*validate)(P&), const char* op,
                         bool of_weight) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(schema, validate)
      .Inputs({"gradient", of_weight ? "data" : "weight", of_weight ? "weight" : "data"})
      .Set(Shapes(op, of_weight))
      .Set(DTypes())
      .Set(AmpFacts{Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kData, SlotRole::kIgnored}});
}

// Each gradient of a sum of products of three arrays is one, too.
GradientRule Gradients(const char* forward, const char* data, const char* weight, bool of_weight) {
  return {[=](GradientContext& c) {
    const Term h = c.gradient(), g = c.in(0), other = c.in(1);
    if (c.is_asked(0)) {
      const std::vector<Term> operands = of_weight ? std::vector<Term>{other, h} : std::vector<Term>{h, other};
      c.Set(0, c.Call(forward, operands, c.attrs()));
    }
    if (c.is_asked(1)) c.Set(1, c.Call(of_weight ? data : weight, {g, h, other}, c.attrs()));
  }};
}

[[maybe_unused]] const bool kRegistered = [] {
  Register<ConvolutionParam>("_backward_Convolution_data", "The gradient of Convolution's data.", ConvolutionSchema(),
                             ValidateConvolution, "Convolution", false)
      .Set(Gradients("Convolution", "_backward_Convolution_data", "_backward_Convolution_weight", false))
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        ComputeConvolution(Product::kFine, node, in, out[0].shape(), out[0]);
      }})
      .Set(LowerRule{[](LowerContext& c) { return LowerConvolution(c, false); }});
  Register<ConvolutionParam>("_backward_Convolution_weight", "The gradient of Convolution's weight.",
                             ConvolutionSchema(), ValidateConvolution, "Convolution", true)
      .Set(Gradients("Convolution", "_backward_Convolution_data", "_backward_Convolution_weight", true))
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        ComputeConvolution(Product::kWeights, node, in, in[1].shape(), out[0]);
      }})
      .Set(LowerRule{[](LowerContext& c) { return LowerConvolution(c, true); }});
  Register<DeconvolutionParam>("_backward_Deconvolution_data", "The gradient of Deconvolution's data.",
                               DeconvolutionSchema(), ValidateDeconvolution, "Deconvolution", false)
      .Set(Gradients("Deconvolution", "_backward_Deconvolution_data", "_backward_Deconvolution_weight", false))
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        ComputeDeconvolution(Product::kCoarse, node, in, out[0].shape(), out[0]);
      }})
      .Set(LowerRule{[](LowerContext& c) { return LowerDeconvolution(c, false); }});
  Register<DeconvolutionParam>("_backward_Deconvolution_weight", "The gradient of Deconvolution's weight.",
                               DeconvolutionSchema(), ValidateDeconvolution, "Deconvolution", true)
      .Set(Gradients("Deconvolution", "_backward_Deconvolution_data", "_backward_Deconvolution_weight", true))
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        ComputeDeconvolution(Product::kWeights, node, in, in[1].shape(), out[0]);
      }})
      .Set(LowerRule{[](LowerContext& c) { return LowerDeconvolution(c, true); }});
  return true;
}();

}  // namespace
}  // namespace amp::convolution_gradient
