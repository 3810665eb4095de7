// Convolutions whose windows' elements are moved by offsets: _contrib_DeformableConvolution and
// _contrib_ModulatedDeformableConvolution.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/threads/parallel.h"
#include "kernels/vision/deformable_columns.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/common/spatial.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::deformable_convolution {
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
  FillWindow(&p.kernel, &p.stride, &p.dilate, &p.pad);
  CheckFilters(p.num_filter, p.num_group);
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

// An element that a sample is interpolated from, and how the sample changes with it and with its own position.
template <class T>
struct Corner {
  std::int64_t place;  // in the plane; -1: a zero outside of it
  T weight, by_row, by_column;
};

// The four elements around a position of a plane; how it goes on outside is told in the documentation of the operators.
template <class T>
std::array<Corner<T>, 4> CornersOf(std::int64_t height, std::int64_t width, T y, T x, bool zeros_outside) {
  std::array<Corner<T>, 4> corners{};
  for (Corner<T>& corner : corners) corner.place = -1;
  const T low = zeros_outside ? T{-1} : T{0};
  const bool is_inside = y >= low && x >= low && y < static_cast<T>(height) && x < static_cast<T>(width);
  if (!is_inside) return corners;
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const T down = y - static_cast<T>(top), across = x - static_cast<T>(left);
  for (int k = 0; k < 4; ++k) {
    std::int64_t row = top + k / 2, column = left + k % 2;
    if (!zeros_outside) {
      row = std::min(row, height - 1);
      column = std::min(column, width - 1);
    }
    if (row < 0 || column < 0 || row >= height || column >= width) continue;
    const T vertical = k / 2 == 0 ? 1 - down : down, horizontal = k % 2 == 0 ? 1 - across : across;
    corners[static_cast<std::size_t>(k)] = {row * width + column, vertical * horizontal,
                                            k / 2 == 0 ? -horizontal : horizontal, k % 2 == 0 ? -vertical : vertical};
  }
  return corners;
}

template <class T>
T SampleOf(const T* plane, const std::array<Corner<T>, 4>& corners) {
  T sample{0};
  for (const Corner<T>& corner : corners) {
    if (corner.place >= 0) sample += corner.weight * plane[corner.place];
  }
  return sample;
}

template <class T>
struct DeformableArrays {
  std::vector<T> data, offset, mask, weight, bias;
};

// Where element k of the window of a position reads channel c of an image.
template <class T>
class Sampler {
 public:
  Sampler(const DeformableParam& p, const DeformableArrays<T>& a, const Shape& data, const Shape& out)
      : p_(p), a_(a), data_(data), out_(out) {}

  std::int64_t plane() const { return out_[2] * out_[3]; }
  // The first of (offset group, element of the window)'s samples.
  std::int64_t SampleAt(std::int64_t image, std::int64_t c, std::int64_t k) const {
    const std::int64_t group = c / (data_[1] / p_.num_deformable_group);
    return (image * p_.num_deformable_group + group) * Window(p_) + k;
  }
  std::array<Corner<T>, 4> At(std::int64_t image, std::int64_t c, std::int64_t k, std::int64_t position) const {
    const T* moved = a_.offset.data() + 2 * SampleAt(image, c, k) * plane() + position;
    const std::int64_t row = position / out_[3] * p_.stride[0] + k / p_.kernel[1] * p_.dilate[0] - p_.pad[0];
    const std::int64_t column = position % out_[3] * p_.stride[1] + k % p_.kernel[1] * p_.dilate[1] - p_.pad[1];
    return CornersOf(data_[2], data_[3], static_cast<T>(row) + moved[0], static_cast<T>(column) + moved[plane()],
                     !a_.mask.empty());
  }
  T AmountAt(std::int64_t image, std::int64_t c, std::int64_t k, std::int64_t position) const {
    return a_.mask.empty() ? T{1} : a_.mask[SampleAt(image, c, k) * plane() + position];
  }

 private:
  const DeformableParam& p_;
  const DeformableArrays<T>& a_;
  const Shape &data_, &out_;
};

// One element of the result: its filter's sum over the group's channels and the window.
template <class T>
T SumOf(const DeformableParam& p, const DeformableArrays<T>& a, const Shape& data, const Shape& out, std::int64_t image,
        std::int64_t filter, std::int64_t position) {
  const Sampler<T> sampler(p, a, data, out);
  const std::int64_t per_group = data[1] / p.num_group, window = Window(p);
  const std::int64_t first = filter / (p.num_filter / p.num_group) * per_group;
  T sum{0};
  for (std::int64_t c = first; c < first + per_group; ++c) {
    const T* source = a.data.data() + (image * data[1] + c) * data[2] * data[3];
    for (std::int64_t k = 0; k < window; ++k) {
      const T value = SampleOf(source, sampler.At(image, c, k, position));
      sum += a.weight[(filter * per_group + c - first) * window + k] * sampler.AmountAt(image, c, k, position) * value;
    }
  }
  return sum;
}

template <class T>
DeformableArrays<T> ArraysOf(bool modulated, std::span<const NDArray> in) {
  DeformableArrays<T> a{Numbers<T>(in[0]), Numbers<T>(in[1]), {}, Numbers<T>(in[modulated ? 3 : 2]), {}};
  if (modulated) a.mask = Numbers<T>(in[2]);
  return a;
}

void Reference(bool modulated, const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DeformableParam>();
  const Shape &data = in[0].shape(), &shape = out[0].shape();
  const std::size_t weight = modulated ? 3 : 2;
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    DeformableArrays<T> a = ArraysOf<T>(modulated, in);
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

// ---- gradients ----

// The gradients of all arrays, to which one channel of one image adds its part at a time.
template <class T>
class DeformableGradients {
 public:
  DeformableGradients(const DeformableParam& p, const DeformableArrays<T>& a, const Shape& data, const Shape& out,
                      const std::vector<T>& gradient)
      : p_(p), a_(a), data_(data), out_(out), gradient_(gradient), sampler_(p, a, data, out) {
    sums_.data.assign(a.data.size(), T{0});
    sums_.offset.assign(a.offset.size(), T{0});
    sums_.mask.assign(a.mask.size(), T{0});
    sums_.weight.assign(a.weight.size(), T{0});
  }

  void AddAll() {
    for (std::int64_t image = 0; image < data_[0]; ++image) {
      for (std::int64_t c = 0; c < data_[1]; ++c) {
        for (std::int64_t k = 0; k < Window(p_); ++k) {
          for (std::int64_t position = 0; position < sampler_.plane(); ++position) Add(image, c, k, position);
        }
      }
    }
  }
  const DeformableArrays<T>& sums() const { return sums_; }

 private:
  void Add(std::int64_t image, std::int64_t c, std::int64_t k, std::int64_t position) {
    const std::array<Corner<T>, 4> corners = sampler_.At(image, c, k, position);
    const std::int64_t plane = sampler_.plane(), first = (image * data_[1] + c) * data_[2] * data_[3];
    const T amount = sampler_.AmountAt(image, c, k, position), value = SampleOf(a_.data.data() + first, corners);
    const T by_product = OfProduct(image, c, k, position, amount * value), by_sample = by_product * amount;
    const std::int64_t at = sampler_.SampleAt(image, c, k) * plane + position;
    if (!sums_.mask.empty()) sums_.mask[at] += by_product * value;
    T* moved = sums_.offset.data() + 2 * sampler_.SampleAt(image, c, k) * plane + position;
    for (const Corner<T>& corner : corners) {
      if (corner.place < 0) continue;
      sums_.data[first + corner.place] += by_sample * corner.weight;
      moved[0] += by_sample * corner.by_row * a_.data[first + corner.place];
      moved[plane] += by_sample * corner.by_column * a_.data[first + corner.place];
    }
  }

  // The gradient of what is multiplied with the weights; adds the product's part to theirs.
  T OfProduct(std::int64_t image, std::int64_t c, std::int64_t k, std::int64_t position, T factor) {
    const std::int64_t per_group = data_[1] / p_.num_group, filters = p_.num_filter / p_.num_group;
    T sum{0};
    for (std::int64_t f = c / per_group * filters; f < (c / per_group + 1) * filters; ++f) {
      const T gradient = gradient_[(image * p_.num_filter + f) * sampler_.plane() + position];
      const std::int64_t weight = (f * per_group + c % per_group) * Window(p_) + k;
      sums_.weight[weight] += gradient * factor;
      sum += gradient * a_.weight[weight];
    }
    return sum;
  }

  const DeformableParam& p_;
  const DeformableArrays<T>& a_;
  const Shape &data_, &out_;
  const std::vector<T>& gradient_;
  const Sampler<T> sampler_;
  DeformableArrays<T> sums_;
};

// Inputs: the gradient, then data, offset, [mask], weight, whose gradients are the outputs.
void BackwardReference(bool modulated, const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::span<const NDArray> arrays = in.subspan(1);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const DeformableArrays<T> a = ArraysOf<T>(modulated, arrays);
    const std::vector<T> gradient = Numbers<T>(in[0]);
    DeformableGradients<T> gradients(node.params<DeformableParam>(), a, arrays[0].shape(), in[0].shape(), gradient);
    gradients.AddAll();
    const DeformableArrays<T>& sums = gradients.sums();
    std::vector<const std::vector<T>*> results{&sums.data, &sums.offset};
    if (modulated) results.push_back(&sums.mask);
    results.push_back(&sums.weight);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (out[i].defined()) Store(*results[i], out[i]);
    }
  });
}

void InferBackward(bool modulated, ShapeRelation& r) {
  for (int i = 0; i < r.num_outputs(); ++i) {
    r.In(i + 1, r.out(i));
    r.Out(i, r.in(i + 1));
  }
  std::vector<Shape> in, out(1);
  for (int i = 1; i < r.num_inputs(); ++i) in.push_back(r.in(i));
  if (!r.node().params<DeformableParam>().no_bias) in.push_back(Shape{});
  ShapeRelation forward(r.node(), in, out);
  InferShape(modulated, forward);
  r.In(0, out[0]);
  for (int i = 0; i < r.num_outputs(); ++i) r.In(i + 1, in[static_cast<std::size_t>(i)]);
}

std::vector<std::string> DifferentiableInputs(bool modulated) {
  if (modulated) return {"data", "offset", "mask", "weight"};
  return {"data", "offset", "weight"};
}

void SetGradients(bool modulated, GradientContext& c) {
  const std::size_t count = DifferentiableInputs(modulated).size();
  std::vector<Term> inputs{c.gradient()};
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(c.in(static_cast<int>(i)));
  const std::vector<Term> found = c.CallAll("_backward_" + c.node().op_name().substr(9), inputs, c.attrs());
  for (std::size_t i = 0; i < count; ++i) c.Set(static_cast<int>(i), found[i]);
  const int bias = static_cast<int>(count);
  if (c.num_inputs() > bias) c.Set(bias, SumOfChannels(c.gradient(), 1, c.in(bias)));
}

OpDefinition<DeformableParam> RegisterBackward(const char* name, bool modulated) {
  return RegisterOp<DeformableParam>(name)
      .Doc("The gradients of the inputs of the operator, but of the bias.")
      .Params(Schema(), Validate)
      .Inputs([modulated](const DeformableParam&) {
        std::vector<std::string> names = DifferentiableInputs(modulated);
        names.insert(names.begin(), "gradient");
        return names;
      })
      .Outputs(DifferentiableInputs(modulated))
      .VisibleOutputs([modulated](const DeformableParam&) { return modulated ? 4 : 3; })
      .Set(ShapeRule{[modulated](ShapeRelation& r) { InferBackward(modulated, r); }})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
      .Set(MultipliesInside{})
      .Set(NoGradient{"second derivatives of deformable convolutions are not implemented"})
      .Set(ReferenceKernel{[modulated](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        BackwardReference(modulated, node, in, out);
      }});
}

[[maybe_unused]] const auto kBackwardDeformable = RegisterBackward("_backward_DeformableConvolution", false);
[[maybe_unused]] const auto kBackwardModulated = RegisterBackward("_backward_ModulatedDeformableConvolution", true);

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
      .Set(MultipliesInside{})
      .Set(GradientRule{[modulated](GradientContext& c) { SetGradients(modulated, c); }})
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
}  // namespace amp::deformable_convolution
