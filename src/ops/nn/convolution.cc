// Convolution in one to three dimensions.
#include <algorithm>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/common/spatial.h"
#include "ops/nn/convolution.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/optimize/fold_batch_norm.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

std::int64_t Extent(const ConvolutionParam& p, int i) { return (p.kernel[i] - 1) * p.dilate[i] + 1; }

Shape ConvolutionWeightShape(const ConvolutionParam& p, std::int64_t channels_per_group) {
  const SpatialLayout layout = p.parsed_layout();
  Shape shape = Shape::OfRank(layout.rank());
  shape[0] = p.num_filter;
  shape[layout.channel_axis()] = channels_per_group;
  for (int i = 0; i < layout.num_spatial; ++i) shape[layout.spatial_axis(i)] = p.kernel[i];
  return shape;
}

void InferConvolutionShape(ShapeRelation& r) {
  const auto& p = r.node().params<ConvolutionParam>();
  const SpatialLayout layout = p.parsed_layout();
  const int channel_axis = layout.channel_axis();
  if (r.in(0).rank_known() && r.in(0).rank() != layout.rank()) {
    FailAt(r.node(), "expected data of rank {} for a kernel of {} values, got shape {}", layout.rank(), p.kernel.size(),
           r.in(0).ToString());
  }
  r.In(0, Shape::OfRank(layout.rank()));
  r.In(1, ConvolutionWeightShape(p, kUnknownDim));
  const std::int64_t channels = r.in(0)[channel_axis];
  if (channels >= 0) {
    if (channels % p.num_group != 0) {
      FailAt(r.node(), "{} input channels cannot be split into {} groups", channels, p.num_group);
    }
    const std::int64_t expected = channels / p.num_group;
    const std::int64_t got = r.in(1)[channel_axis];
    if (got >= 0 && got != expected) {
      FailAt(r.node(), "expected weight with {} input channels, got {} (weight shape {}, data shape {}, num_group {})",
             expected, got, r.in(1).ToString(), r.in(0).ToString(), p.num_group);
    }
    r.In(1, ConvolutionWeightShape(p, expected));
  } else if (r.in(1)[channel_axis] >= 0) {
    Shape data = Shape::OfRank(layout.rank());
    data[channel_axis] = r.in(1)[channel_axis] * p.num_group;
    r.In(0, data);
  }
  if (!p.no_bias) r.In(2, Shape{p.num_filter});

  Shape out = Shape::OfRank(layout.rank());
  out[0] = r.in(0)[0];
  out[channel_axis] = p.num_filter;
  for (int i = 0; i < layout.num_spatial; ++i) {
    const std::int64_t size = r.in(0)[layout.spatial_axis(i)];
    if (size < 0) continue;
    const std::int64_t room = size + 2 * p.pad[i] - Extent(p, i);
    if (room < 0) {
      FailAt(r.node(), "a window of {} elements does not fit into axis {} of data {} with padding {}", Extent(p, i),
             layout.spatial_axis(i), r.in(0).ToString(), p.pad[i]);
    }
    out[layout.spatial_axis(i)] = room / p.stride[i] + 1;
  }
  r.Out(0, out);
  Shape data = Shape::OfRank(layout.rank());
  data[0] = r.out(0)[0];
  for (int i = 0; i < layout.num_spatial; ++i) {
    const std::int64_t size = r.out(0)[layout.spatial_axis(i)];
    const std::int64_t from = size - 1 + Extent(p, i) - 2 * p.pad[i];
    if (size >= 0 && from > 0 && p.stride[i] == 1) data[layout.spatial_axis(i)] = from;
  }
  r.In(0, data);
}

// One output row of one filter: adds weight * source, over the positions whose source element exists.
template <class T>
void AddRow(T weight, const T* source, std::int64_t source_size, std::int64_t offset, std::int64_t stride, T* row,
            std::int64_t row_size) {
  // Source index of position i is i * stride + offset.
  const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t last = offset >= source_size ? 0 : std::min(row_size, (source_size - 1 - offset) / stride + 1);
  if (stride == 1) {
    for (std::int64_t i = first; i < last; ++i) row[i] += weight * source[i + offset];
  } else {
    for (std::int64_t i = first; i < last; ++i) row[i] += weight * source[i * stride + offset];
  }
}

struct Geometry {
  std::array<std::int64_t, 3> in, out, kernel, stride, dilate, pad;
};

// Adds the contribution of one source plane to one output plane.
template <class T>
void AddPlane(const Geometry& g, const T* source, const T* weights, T* sums) {
  for (std::int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    for (std::int64_t kh = 0; kh < g.kernel[1]; ++kh) {
      for (std::int64_t od = 0; od < g.out[0]; ++od) {
        const std::int64_t id = od * g.stride[0] + kd * g.dilate[0] - g.pad[0];
        if (id < 0 || id >= g.in[0]) continue;
        for (std::int64_t oh = 0; oh < g.out[1]; ++oh) {
          const std::int64_t ih = oh * g.stride[1] + kh * g.dilate[1] - g.pad[1];
          if (ih < 0 || ih >= g.in[1]) continue;
          const T* source_row = source + (id * g.in[1] + ih) * g.in[2];
          T* row = sums + (od * g.out[1] + oh) * g.out[2];
          for (std::int64_t kw = 0; kw < g.kernel[2]; ++kw) {
            const T weight = weights[(kd * g.kernel[1] + kh) * g.kernel[2] + kw];
            AddRow(weight, source_row, g.in[2], kw * g.dilate[2] - g.pad[2], g.stride[2], row, g.out[2]);
          }
        }
      }
    }
  }
}

template <class T>
void Convolve(const ConvolutionParam& p, const NDArray& data, const NDArray& weight, const NDArray& bias,
              NDArray& out) {
  const Geometry g{Spatial3(data.shape()), Spatial3(out.shape()), Tuple3(p.kernel, 1),
                   Tuple3(p.stride, 1),    Tuple3(p.dilate, 1),   Tuple3(p.pad, 0)};
  const std::int64_t batch = data.shape()[0], channels = data.shape()[1];
  const std::int64_t per_group = channels / p.num_group;
  const std::int64_t filters_per_group = p.num_filter / p.num_group;
  const std::int64_t in_plane = g.in[0] * g.in[1] * g.in[2], out_plane = g.out[0] * g.out[1] * g.out[2];
  const std::int64_t window = g.kernel[0] * g.kernel[1] * g.kernel[2];
  const std::vector<T> x = Numbers<T>(data), w = Numbers<T>(weight);
  const std::vector<T> b = p.no_bias ? std::vector<T>(p.num_filter, T{0}) : Numbers<T>(bias);
  std::vector<T> y(out.size(), T{0});
  kernels::ParallelFor(batch * p.num_filter, 1, [&](std::int64_t plane) {
    const std::int64_t n = plane / p.num_filter, f = plane % p.num_filter;
    T* sums = y.data() + plane * out_plane;
    const std::int64_t first_channel = f / filters_per_group * per_group;
    for (std::int64_t c = 0; c < per_group; ++c) {
      AddPlane(g, x.data() + (n * channels + first_channel + c) * in_plane, w.data() + (f * per_group + c) * window,
               sums);
    }
    for (std::int64_t i = 0; i < out_plane; ++i) sums[i] += b[f];
  });
  Store(y, out);
}

void ConvolutionReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<ConvolutionParam>();
  const SpatialLayout layout = p.parsed_layout();
  const NDArray bias = p.no_bias ? NDArray() : in[2];
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (!layout.channels_last) return Convolve<T>(p, in[0], in[1], bias, out[0]);
    const std::vector<int> axes = layout.ToChannelsFirst();
    const Shape& last = out[0].shape();
    Shape first = last;
    for (int i = 0; i < last.rank(); ++i) first[i] = last[axes[i]];
    NDArray result(out[0].dtype(), first);
    Convolve<T>(p, Transposed(in[0], axes), Transposed(in[1], axes), bias, result);
    CopyElements(Transposed(result, layout.FromChannelsFirst()), out[0]);
  });
}

bool LowerConvolution(LowerContext& c) {
  const auto& p = c.node().params<ConvolutionParam>();
  const SpatialLayout layout = p.parsed_layout();
  ValueId data = c.in(0), weight = c.in(1);
  if (layout.channels_last) {
    data = c.Permute(data, layout.ToChannelsFirst());
    weight = c.Permute(weight, layout.ToChannelsFirst());
  }
  if (p.num_group > 1) {
    std::vector<std::int64_t> grouped{p.num_group, p.num_filter / p.num_group};
    const auto& dims = c.ShapeOf(weight).dims();
    grouped.insert(grouped.end(), dims.begin() + 1, dims.end());
    weight = c.Reshape(weight, Shape(grouped));
  }
  IntTuple dilates = p.dilate;
  for (auto& d : dilates) --d;
  std::vector<ValueId> inputs{data, weight};
  if (!p.no_bias) inputs.push_back(c.Bias(2));
  TensorType type = c.out_type(0);
  if (layout.channels_last) {
    const std::vector<int> axes = layout.ToChannelsFirst();
    for (int i = 0; i < type.shape.rank(); ++i) type.shape[i] = c.out_type(0).shape[axes[i]];
  }
  const auto out = c.Emit(ConvolutionSpec{p.stride, dilates, p.pad, p.pad}, inputs, type);
  c.SetOut(0, layout.channels_last ? c.Permute(out, layout.FromChannelsFirst()) : out);
  return true;
}

int ChannelAxis(const Node& node, int) { return node.params<ConvolutionParam>().parsed_layout().channel_axis(); }

std::optional<SlidingWindow> WindowOf(const Node& node) {
  const auto& p = node.params<ConvolutionParam>();
  return SlidingWindow{p.parsed_layout().spatial_axis(0), p.kernel, p.stride, p.pad};
}

std::optional<FoldReader::Use> ReaderUse(const Node& node, int) {
  const auto& p = node.params<ConvolutionParam>();
  if (std::any_of(p.pad.begin(), p.pad.end(), [](std::int64_t pad) { return pad != 0; })) return std::nullopt;
  const int axis = p.parsed_layout().channel_axis();  // of data and weight
  return FoldReader::Use{axis, axis, p.num_group};
}

[[maybe_unused]] const auto kConvolution =
    RegisterOp<ConvolutionParam>("Convolution")
        .Alias("Convolution_v1")
        .Alias("_npx_convolution")
        .Doc(
            "Convolution of data (N, C, spatial...) with weight (num_filter, C / num_group, kernel...), plus bias.\n"
            "Output size per axis: floor((size + 2 pad - dilate (kernel - 1) - 1) / stride) + 1.")
        .Params(ConvolutionSchema(), ValidateConvolution)
        .Inputs([](const ConvolutionParam& p) { return DataWeightBias(p.no_bias); })
        .Set(ShapeRule{InferConvolutionShape})
        .Set(DataWeightBiasDType())
        .Set(AmpFacts{Arithmetic::kAccumulates, DataWeightBiasRoles()})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          return SumOfProducts(q, q.InSize(1) / static_cast<double>(q.node.params<ConvolutionParam>().num_filter));
        }})
        .Set(FoldTarget{ChannelAxis})
        .Set(FoldReader{ReaderUse})
        .Set(HasWindow{WindowOf})
        .Set(GradientRule{[](GradientContext& c) { SetWindowGradients(c, "Convolution", ChannelAxis(c.node(), 0)); }})
        .Set(ReferenceKernel{ConvolutionReference})
        .Set(LowerRule{LowerConvolution});

}  // namespace

void SetWindowGradients(GradientContext& c, const std::string& name, int channel_axis) {
  AttrMap attrs = c.attrs();
  attrs["no_bias"] = "True";
  const Term g = c.gradient();
  if (c.is_asked(0)) c.Set(0, c.Call("_backward_" + name + "_data", {g, c.in(1), c.in(0)}, attrs));
  if (c.is_asked(1)) c.Set(1, c.Call("_backward_" + name + "_weight", {g, c.in(0), c.in(1)}, attrs));
  if (c.num_inputs() > 2) c.Set(2, SumOfChannels(g, channel_axis, c.in(2)));
}

ParamSchema<ConvolutionParam> ConvolutionSchema() {
  return ParamSchema<ConvolutionParam>()
      .Required("kernel", &ConvolutionParam::kernel, "Size of the window: (w,), (h, w) or (d, h, w).")
      .Required("num_filter", &ConvolutionParam::num_filter, "Number of output channels.")
      .Range(1, 100000)
      .Optional("stride", &ConvolutionParam::stride, "Step of the window; 1 where not given.")
      .Optional("dilate", &ConvolutionParam::dilate, "Distance of the window's elements; 1 where not given.")
      .Optional("pad", &ConvolutionParam::pad, "Zeros added on both sides of each axis.")
      .Optional("num_group", &ConvolutionParam::num_group, "Channels are convolved in this many separate groups.")
      .Range(1, 100000)
      .Optional("no_bias", &ConvolutionParam::no_bias, "There is no bias input.")
      .Optional("layout", &ConvolutionParam::layout, "Order of the axes of data and output; None: channels first.")
      .OneOf(LayoutWords())
      .Ignored("workspace")
      .Ignored("cudnn_tune")
      .Ignored("cudnn_off");
}

void ValidateConvolution(ConvolutionParam& p) {
  FillWindow(&p.kernel, &p.stride, &p.dilate, &p.pad);
  CheckFilters(p.num_filter, p.num_group);
  p.parsed_layout();
}

}  // namespace amp
