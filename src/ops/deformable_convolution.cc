// Convolutions whose windows' elements are moved by offsets: _contrib_DeformableConvolution and
// _contrib_ModulatedDeformableConvolution.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/deformable_columns.h"
#include "kernels/parallel.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "ops/spatial.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct DeformableParam {
  IntTuple kernel, stride, dilate, pad;
  std::int64_t num_filter = 0;
  std::int64_t num_group = 1;
  std::int64_t num_deformable_group = 1;
  bool no_bias = false;
  std::string layout = "None";
};

ParamSchema<DeformableParam> Schema() {
  return ParamSchema<DeformableParam>()
      .Required("kernel", &DeformableParam::kernel, "Height and width of the window.")
      .Required("num_filter", &DeformableParam::num_filter, "Number of output channels.")
      .Range(1, 100000)
      .Optional("stride", &DeformableParam::stride, "Step of the window; 1 where not given.")
      .Optional("dilate", &DeformableParam::dilate, "Distance of the window's elements; 1 where not given.")
      .Optional("pad", &DeformableParam::pad, "How far windows begin outside of the data.")
      .Optional("num_group", &DeformableParam::num_group, "Channels are convolved in this many separate groups.")
      .Range(1, 100000)
      .Optional("num_deformable_group", &DeformableParam::num_deformable_group,
                "Channels fall into this many groups with offsets of their own.")
      .Range(1, 100000)
      .Optional("no_bias", &DeformableParam::no_bias, "There is no bias input.")
      .Optional("layout", &DeformableParam::layout, "Only NCHW is supported.")
      .OneOf({"None", "NCHW"})
      .Ignored("workspace")
      .Ignored("im2col_step");
}

void Validate(DeformableParam& p) {
  if (p.kernel.size() != 2) Throw<GraphError>("attribute kernel: expected two values, got {}", p.kernel.size());
  FillTuple(&p.kernel, 2, 1, 1, "kernel");
  std::replace(p.stride.begin(), p.stride.end(), std::int64_t{0}, std::int64_t{1});
  std::replace(p.dilate.begin(), p.dilate.end(), std::int64_t{0}, std::int64_t{1});
  FillTuple(&p.stride, 2, 1, 1, "stride");
  FillTuple(&p.dilate, 2, 1, 1, "dilate");
  FillTuple(&p.pad, 2, 0, 0, "pad");
  if (p.num_filter % p.num_group != 0) {
    Throw<GraphError>("num_filter {} is not a multiple of num_group {}", p.num_filter, p.num_group);
  }
}

std::int64_t Window(const DeformableParam& p) { return p.kernel[0] * p.kernel[1]; }

// -1 while the data's size is not known.
std::int64_t OutSize(const ShapeRelation& r, const DeformableParam& p, int axis) {
  const std::int64_t size = r.in(0)[2 + axis];
  if (size < 0) return kUnknownDim;
  const std::int64_t extent = (p.kernel[axis] - 1) * p.dilate[axis] + 1, room = size + 2 * p.pad[axis] - extent;
  if (room < 0 || size == 0) {
    FailAt(r.node(), "a window of {} elements does not fit into axis {} of data {} with padding {}", extent, 2 + axis,
           r.in(0).ToString(), p.pad[axis]);
  }
  return room / p.stride[axis] + 1;
}

// Inputs: data, offset, [mask], weight, [bias].
void InferShape(bool modulated, ShapeRelation& r) {
  const auto& p = r.node().params<DeformableParam>();
  const int weight = modulated ? 3 : 2;
  r.In(0, Shape::OfRank(4));
  const std::int64_t channels = r.in(0)[1];
  for (const std::int64_t groups : {p.num_group, p.num_deformable_group}) {
    if (channels >= 0 && channels % groups != 0) {
      FailAt(r.node(), "{} input channels cannot be split into {} groups", channels, groups);
    }
  }
  const std::int64_t height = OutSize(r, p, 0), width = OutSize(r, p, 1), batch = r.in(0)[0];
  const std::int64_t samples = p.num_deformable_group * Window(p);
  r.In(1, Shape{batch, 2 * samples, height, width});
  if (modulated) r.In(2, Shape{batch, samples, height, width});
  const std::int64_t per_group = channels >= 0 ? channels / p.num_group : kUnknownDim;
  r.In(weight, Shape{p.num_filter, per_group, p.kernel[0], p.kernel[1]});
  if (!p.no_bias) r.In(weight + 1, Shape{p.num_filter});
  r.Out(0, Shape{batch, p.num_filter, height, width});
}

// The bilinear interpolation of a plane; how it goes on outside is told in the documentation of the operators.
template <class T>
T SampleOf(const T* plane, std::int64_t height, std::int64_t width, T y, T x, bool zeros_outside) {
  const T low = zeros_outside ? T{-1} : T{0};
  const bool is_inside = y >= low && x >= low && y < static_cast<T>(height) && x < static_cast<T>(width);
  if (!is_inside) return T{0};
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const auto at = [&](std::int64_t r, std::int64_t c) {
    if (!zeros_outside) return plane[std::min(r, height - 1) * width + std::min(c, width - 1)];
    return r >= 0 && c >= 0 && r < height && c < width ? plane[r * width + c] : T{0};
  };
  const T down = y - static_cast<T>(top), across = x - static_cast<T>(left);
  return (1 - down) * ((1 - across) * at(top, left) + across * at(top, left + 1)) +
         down * ((1 - across) * at(top + 1, left) + across * at(top + 1, left + 1));
}

template <class T>
struct DeformableArrays {
  std::vector<T> data, offset, mask, weight, bias;
};

// One element of the result: its filter's sum over the group's channels and the window.
template <class T>
T SumOf(const DeformableParam& p, const DeformableArrays<T>& a, const Shape& data, const Shape& out, std::int64_t image,
        std::int64_t filter, std::int64_t position) {
  const std::int64_t per_group = data[1] / p.num_group, per_offset = data[1] / p.num_deformable_group;
  const std::int64_t plane = out[2] * out[3], window = Window(p);
  const std::int64_t first = filter / (p.num_filter / p.num_group) * per_group;
  T sum{0};
  for (std::int64_t c = first; c < first + per_group; ++c) {
    const T* source = a.data.data() + (image * data[1] + c) * data[2] * data[3];
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t sample = (image * p.num_deformable_group + c / per_offset) * window + k;
      const T* moved = a.offset.data() + 2 * sample * plane + position;
      const std::int64_t row = position / out[3] * p.stride[0] + k / p.kernel[1] * p.dilate[0] - p.pad[0];
      const std::int64_t column = position % out[3] * p.stride[1] + k % p.kernel[1] * p.dilate[1] - p.pad[1];
      const T value = SampleOf(source, data[2], data[3], static_cast<T>(row) + moved[0],
                               static_cast<T>(column) + moved[plane], !a.mask.empty());
      const T amount = a.mask.empty() ? T{1} : a.mask[sample * plane + position];
      sum += a.weight[(filter * per_group + c - first) * window + k] * amount * value;
    }
  }
  return sum;
}

void Reference(bool modulated, const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DeformableParam>();
  const Shape &data = in[0].shape(), &shape = out[0].shape();
  const std::size_t weight = modulated ? 3 : 2;
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    DeformableArrays<T> a{Numbers<T>(in[0]), Numbers<T>(in[1]), {}, Numbers<T>(in[weight]), {}};
    if (modulated) a.mask = Numbers<T>(in[2]);
    a.bias = p.no_bias ? std::vector<T>(p.num_filter, T{0}) : Numbers<T>(in[weight + 1]);
    const std::int64_t plane = shape[2] * shape[3];
    std::vector<T> y(out[0].size());
    kernels::ParallelFor(shape[0] * p.num_filter, 1, [&](std::int64_t i) {
      const std::int64_t filter = i % p.num_filter;
      for (std::int64_t k = 0; k < plane; ++k) {
        y[i * plane + k] = SumOf(p, a, data, shape, i / p.num_filter, filter, k) + a.bias[filter];
      }
    });
    Store(y, out[0]);
  });
}

kernels::DeformableColumns WorkOf(const DeformableParam& p, const Shape& data, const Shape& out, bool modulated) {
  const auto pair = [](const IntTuple& tuple) { return std::array<std::int64_t, 2>{tuple[0], tuple[1]}; };
  kernels::DeformableColumns work;
  work.images = data[0];
  work.channels = data[1];
  work.size = {data[2], data[3]};
  work.out_size = {out[2], out[3]};
  work.kernel = pair(p.kernel);
  work.stride = pair(p.stride);
  work.dilate = pair(p.dilate);
  work.pad = pair(p.pad);
  work.groups = p.num_group;
  work.offset_groups = p.num_deformable_group;
  work.zeros_outside = modulated;
  return work;
}

// Weights of a window of one element over the columns' channels: (window, channel) in each group.
ValueId ColumnWeights(LowerContext& c, const DeformableParam& p, ValueId weight) {
  const ValueId sorted = c.Permute(weight, {0, 2, 3, 1});
  const std::int64_t channels = c.ShapeOf(sorted).SizeOf(1, 4);
  if (p.num_group == 1) return c.Reshape(sorted, Shape{p.num_filter, channels, 1, 1});
  return c.Reshape(sorted, Shape{p.num_group, p.num_filter / p.num_group, channels, 1, 1});
}

// What windows read, then a convolution without windows.
bool Lower(bool modulated, LowerContext& c) {
  const auto& p = c.node().params<DeformableParam>();
  if (c.out_type(0).dtype == DType::kFloat64) return false;
  std::vector<ValueId> inputs;
  for (int i = 0; i < static_cast<int>(c.in_types().size()); ++i) inputs.push_back(c.Cast(c.in(i), DType::kFloat32));
  const int weight = modulated ? 3 : 2;
  const Shape &data = c.in_type(0).shape, &out = c.out_type(0).shape;
  const kernels::DeformableColumns work = WorkOf(p, data, out, modulated);
  const auto run = [work](const KernelOperands& operands) {
    const auto input = [&](std::size_t i) { return static_cast<const float*>(operands.input(i)); };
    work.Run(input(0), input(1), work.zeros_outside ? input(2) : nullptr, static_cast<float*>(operands.output()),
             operands.scratch());
  };
  const TensorType columns_type{DType::kFloat32, Shape{data[0], out[2], out[3], Window(p) * data[1]}};
  const ValueId columns = c.Emit(KernelSpec{"deformable_columns", run, work.ScratchBytes()},
                                 {inputs.begin(), inputs.begin() + weight}, columns_type);
  std::vector<ValueId> operands{c.Permute(columns, {0, 3, 1, 2}), ColumnWeights(c, p, inputs[weight])};
  if (!p.no_bias) operands.push_back(inputs[weight + 1]);
  const ValueId result = c.Emit(ConvolutionSpec{{1, 1}, {0, 0}, {0, 0}, {0, 0}}, operands, {DType::kFloat32, out});
  c.SetOut(0, c.Cast(result, c.out_type(0).dtype));
  return true;
}

OpDefinition<DeformableParam> Register(const char* name, const char* doc, bool modulated) {
  return RegisterOp<DeformableParam>(name)
      .Doc(doc)
      .Params(Schema(), Validate)
      .Inputs([modulated](const DeformableParam& p) {
        std::vector<std::string> names{"data", "offset"};
        if (modulated) names.emplace_back("mask");
        names.emplace_back("weight");
        if (!p.no_bias) names.emplace_back("bias");
        return names;
      })
      .Set(ShapeRule{[modulated](ShapeRelation& r) { InferShape(modulated, r); }})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
      .Set(NoGradient{"gradients of deformable convolutions are not implemented"})
      .Set(ReferenceKernel{[modulated](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        Reference(modulated, node, in, out);
      }})
      .Set(LowerRule{[modulated](LowerContext& c) { return Lower(modulated, c); }});
}

[[maybe_unused]] const auto kDeformable =
    Register("_contrib_DeformableConvolution",
             "Convolution of data (N, C, H, W) whose windows' elements are moved down and right by offset\n"
             "(N, 2 * groups * window, h, w) and interpolated; those outside of the data are 0.",
             false)
        .Alias("_npx_deformable_convolution");
[[maybe_unused]] const auto kModulated =
    Register("_contrib_ModulatedDeformableConvolution",
             "DeformableConvolution whose samples are multiplied with mask (N, groups * window, h, w). The data are\n"
             "surrounded by zeros, to which samples up to one pixel outside are interpolated.",
             true)
        .Alias("_npx_modulated_deformable_convolution");

}  // namespace
}  // namespace amp
