// Deconvolution (transposed convolution) in one to three dimensions.
#include <algorithm>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/common/spatial.h"
#include "ops/nn/convolution.h"
#include "ops/nn/deconvolution.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/optimize/fold_batch_norm.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

Shape DeconvolutionWeightShape(const DeconvolutionParam& p, std::int64_t channels) {
  std::vector<std::int64_t> dims{channels, p.num_filter / p.num_group};
  dims.insert(dims.end(), p.kernel.begin(), p.kernel.end());
  return Shape(dims);
}

void InferDeconvolutionShape(ShapeRelation& r) {
  const auto& p = r.node().params<DeconvolutionParam>();
  const int rank = static_cast<int>(p.kernel.size()) + 2;
  if (r.in(0).rank_known() && r.in(0).rank() != rank) {
    FailAt(r.node(), "expected data of rank {}, got shape {}", rank, r.in(0).ToString());
  }
  r.In(0, Shape::OfRank(rank));
  const std::int64_t channels = r.in(0)[1];
  if (channels >= 0 && channels % p.num_group != 0) {
    FailAt(r.node(), "{} input channels cannot be split into {} groups", channels, p.num_group);
  }
  r.In(1, DeconvolutionWeightShape(p, channels));
  if (!p.no_bias) r.In(2, Shape{p.num_filter});
  Shape learnt = Shape::OfRank(rank);
  learnt[1] = r.in(1)[0];
  r.In(0, learnt);
  Shape out = Shape::OfRank(rank);
  out[0] = r.in(0)[0];
  out[1] = p.num_filter;
  for (int i = 0; i + 2 < rank; ++i) {
    if (r.in(0)[i + 2] < 0) continue;
    out[i + 2] = ExtentOf(r.node(), p, i, r.in(0)[i + 2]).size;
    if (r.in(0)[i + 2] < 1 || out[i + 2] < 1) {
      FailAt(r.node(), "data of shape {} gives no output with kernel {} and padding {}", r.in(0).ToString(),
             PrintAttr(p.kernel), PrintAttr(p.pad));
    }
  }
  r.Out(0, out);
}

template <class T>
void Deconvolve(const Node& node, const NDArray& data, const NDArray& weight, const NDArray& bias, NDArray& out) {
  const auto& p = node.params<DeconvolutionParam>();
  const std::array<std::int64_t, 3> in = Spatial3(data.shape()), to = Spatial3(out.shape());
  const std::array<std::int64_t, 3> kernel = Tuple3(p.kernel, 1), stride = Tuple3(p.stride, 1);
  const std::array<std::int64_t, 3> dilate = Tuple3(p.dilate, 1);
  IntTuple pads;
  for (std::size_t i = 0; i < p.kernel.size(); ++i) {
    pads.push_back(ExtentOf(node, p, static_cast<int>(i), data.shape()[static_cast<int>(i) + 2]).pad);
  }
  const std::array<std::int64_t, 3> pad = Tuple3(pads, 0);
  const std::int64_t channels = data.shape()[1], per_group = channels / p.num_group;
  const std::int64_t filters = p.num_filter / p.num_group;
  const std::int64_t in_plane = in[0] * in[1] * in[2], out_plane = to[0] * to[1] * to[2];
  const std::int64_t window = kernel[0] * kernel[1] * kernel[2];
  const std::vector<T> x = Numbers<T>(data), w = Numbers<T>(weight);
  const std::vector<T> b = p.no_bias ? std::vector<T>(p.num_filter, T{0}) : Numbers<T>(bias);
  std::vector<T> y(out.size());
  kernels::ParallelFor(data.shape()[0] * p.num_filter, 1, [&](std::int64_t plane) {
    const std::int64_t n = plane / p.num_filter, f = plane % p.num_filter;
    T* sums = y.data() + plane * out_plane;
    std::fill_n(sums, out_plane, T{0});
    const std::int64_t group = f / filters;
    for (std::int64_t c = group * per_group; c < (group + 1) * per_group; ++c) {
      const T* source = x.data() + (n * channels + c) * in_plane;
      const T* weights = w.data() + (c * filters + f % filters) * window;
      for (std::int64_t k = 0; k < window; ++k) {
        const std::int64_t kd = k / (kernel[1] * kernel[2]), kh = k / kernel[2] % kernel[1], kw = k % kernel[2];
        for (std::int64_t i = 0; i < in_plane; ++i) {
          const std::int64_t d = i / (in[1] * in[2]) * stride[0] + kd * dilate[0] - pad[0];
          const std::int64_t h = i / in[2] % in[1] * stride[1] + kh * dilate[1] - pad[1];
          const std::int64_t v = i % in[2] * stride[2] + kw * dilate[2] - pad[2];
          const bool inside = d >= 0 && d < to[0] && h >= 0 && h < to[1] && v >= 0 && v < to[2];
          if (inside) sums[(d * to[1] + h) * to[2] + v] += weights[k] * source[i];
        }
      }
    }
    for (std::int64_t i = 0; i < out_plane; ++i) sums[i] += b[f];
  });
  Store(y, out);
}

void DeconvolutionReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const NDArray bias = node.params<DeconvolutionParam>().no_bias ? NDArray() : in[2];
  WithFloatType(in[0].dtype(), [&](auto zero) { Deconvolve<decltype(zero)>(node, in[0], in[1], bias, out[0]); });
}

// oneDNN wants the weights as (O, I, k...), or (G, O/G, I/G, k...).
ValueId Weights(LowerContext& c, const DeconvolutionParam& p) {
  const std::int64_t channels = c.in_type(1).shape[0];
  std::vector<std::int64_t> dims{p.num_group, channels / p.num_group, p.num_filter / p.num_group};
  dims.insert(dims.end(), p.kernel.begin(), p.kernel.end());
  std::vector<int> axes{0, 2, 1};
  for (std::size_t i = 0; i < p.kernel.size(); ++i) axes.push_back(static_cast<int>(i) + 3);
  if (p.num_group > 1) return c.Permute(c.Reshape(c.in(1), Shape(dims)), axes);
  axes = {1, 0};
  for (std::size_t i = 0; i < p.kernel.size(); ++i) axes.push_back(static_cast<int>(i) + 2);
  return c.Permute(c.in(1), axes);
}

bool AllOnes(const IntTuple& tuple) {
  return std::all_of(tuple.begin(), tuple.end(), [](std::int64_t value) { return value == 1; });
}

// oneDNN's strided deconvolution (3.2, avx512_core) adds a bias several times where it goes over the kernel in
// several parts: kernel 4, stride 2, 256 channels. Here it is added to the float32 sums, which are rounded then.
ValueId AddBias(LowerContext& c, ValueId sums) {
  std::vector<std::int64_t> dims(c.ShapeOf(sums).rank(), 1);
  dims[1] = c.in_type(2).shape[0];
  const auto bias = c.Reshape(c.Cast(c.in(2), DType::kFloat32), Shape(dims));
  const TensorType type{DType::kFloat32, c.ShapeOf(sums)};
  const auto out = c.Emit(BinarySpec{BinaryKind::kAdd}, {sums, bias}, type);
  return c.Cast(out, c.out_type(0).dtype);
}

bool LowerDeconvolution(LowerContext& c) {
  const auto& p = c.node().params<DeconvolutionParam>();
  DeconvolutionSpec work{p.stride, p.dilate, {}, {}};
  for (std::size_t i = 0; i < p.kernel.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t in = c.in_type(0).shape[axis];
    const DeconvolutionExtent extent = ExtentOf(c.node(), p, static_cast<int>(i), in);
    const std::int64_t full = (in - 1) * p.stride[i] + (p.kernel[i] - 1) * p.dilate[i] + 1;
    --work.dilates[i];
    work.pads_begin.push_back(extent.pad);
    work.pads_end.push_back(full - extent.pad - extent.size);
    if (work.pads_end.back() < 0) return false;  // beyond the end of the sums: zeros plus bias
  }
  std::vector<ValueId> inputs{c.in(0), Weights(c, p)};
  if (!p.no_bias && !AllOnes(p.stride)) {
    c.SetOut(0, AddBias(c, c.Emit(work, inputs, {DType::kFloat32, c.out_type(0).shape})));
    return true;
  }
  if (!p.no_bias) inputs.push_back(c.Bias(2));
  c.SetOut(0, c.Emit(work, inputs, c.out_type(0)));
  return true;
}

FoldTarget Target() {
  FoldTarget target{[](const Node&, int) { return 1; }};
  target.weight_axis = 1;
  target.weight_groups = [](const Node& node) { return node.params<DeconvolutionParam>().num_group; };
  return target;
}

[[maybe_unused]] const auto kDeconvolution =
    RegisterOp<DeconvolutionParam>("Deconvolution")
        .Alias("_npx_deconvolution")
        .Doc(
            "Transposed convolution of data (N, C, spatial...) with weight (C, num_filter / num_group, kernel...).\n"
            "Output size per axis: (size - 1) stride - 2 pad + dilate (kernel - 1) + 1 + adj.")
        .Params(DeconvolutionSchema(), ValidateDeconvolution)
        .Inputs([](const DeconvolutionParam& p) { return DataWeightBias(p.no_bias); })
        .Set(ShapeRule{InferDeconvolutionShape})
        .Set(DataWeightBiasDType())
        .Set(AmpFacts{Arithmetic::kAccumulates, DataWeightBiasRoles()})
        .Set(Target())
        .Set(GradientRule{[](GradientContext& c) { SetWindowGradients(c, "Deconvolution", 1); }})
        .Set(ReferenceKernel{DeconvolutionReference})
        .Set(LowerRule{LowerDeconvolution});

}  // namespace

ParamSchema<DeconvolutionParam> DeconvolutionSchema() {
  return ParamSchema<DeconvolutionParam>()
      .Required("kernel", &DeconvolutionParam::kernel, "Size of the window: (w,), (h, w) or (d, h, w).")
      .Required("num_filter", &DeconvolutionParam::num_filter, "Number of output channels.")
      .Range(1, 100000)
      .Optional("stride", &DeconvolutionParam::stride, "Step of the window in the output; 1 where not given.")
      .Optional("dilate", &DeconvolutionParam::dilate, "Distance of the window's elements; 1 where not given.")
      .Optional("pad", &DeconvolutionParam::pad, "Cut off both ends of each axis of the output.")
      .Optional("adj", &DeconvolutionParam::adj, "Added at the end of each axis; below the stride.")
      .Optional("target_shape", &DeconvolutionParam::target_shape, "Sizes of the output; pad and adj follow from it.")
      .Optional("num_group", &DeconvolutionParam::num_group, "Channels are convolved in this many separate groups.")
      .Range(1, 100000)
      .Optional("no_bias", &DeconvolutionParam::no_bias, "There is no bias input.")
      .Optional("layout", &DeconvolutionParam::layout, "Order of the axes; channels first only.")
      .OneOf({"None", "NCW", "NCHW", "NCDHW"})
      .Ignored("workspace")
      .Ignored("cudnn_tune")
      .Ignored("cudnn_off");
}

void ValidateDeconvolution(DeconvolutionParam& p) {
  FillWindow(&p.kernel, &p.stride, &p.dilate, &p.pad);
  const std::size_t n = p.kernel.size();
  FillTuple(&p.adj, n, 0, 0, "adj");
  const bool no_target = std::all_of(p.target_shape.begin(), p.target_shape.end(), [](auto t) { return t == 0; });
  if (no_target) p.target_shape.clear();
  if (!p.target_shape.empty()) FillTuple(&p.target_shape, n, 1, 1, "target_shape");
  CheckFilters(p.num_filter, p.num_group);
  for (std::size_t i = 0; i < n; ++i) {
    if (p.adj[i] >= p.stride[i] && p.target_shape.empty()) {
      Throw<GraphError>("adj {} must be smaller than stride {}", PrintAttr(p.adj), PrintAttr(p.stride));
    }
  }
  ParseLayout(p.layout, n);
}

DeconvolutionExtent ExtentOf(const Node& node, const DeconvolutionParam& p, int i, std::int64_t in) {
  const std::int64_t full = (in - 1) * p.stride[i] + (p.kernel[i] - 1) * p.dilate[i] + 1;
  if (p.target_shape.empty()) return {p.pad[i], full - 2 * p.pad[i] + p.adj[i]};
  const std::int64_t surplus = full - p.target_shape[i];
  if (surplus < 0)
    FailAt(node, "target_shape {} is larger than the {} elements that there are", p.target_shape[i], full);
  return {(surplus + 1) / 2, p.target_shape[i]};
}

}  // namespace amp
