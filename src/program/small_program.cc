#include "program/small_program.h"

#include <algorithm>

namespace amp {
namespace {

using Dims = std::vector<std::int64_t>;

// Steps whose results are rounded, and whose specs hold no sizes of tensors.
bool CanShrink(const StepSpec& spec) {
  return std::holds_alternative<ConvolutionSpec>(spec) || std::holds_alternative<DeconvolutionSpec>(spec) ||
         std::holds_alternative<WeightGradientSpec>(spec) || std::holds_alternative<InnerProductSpec>(spec) ||
         std::holds_alternative<MatMulSpec>(spec) || std::holds_alternative<PoolingSpec>(spec) ||
         std::holds_alternative<EltwiseSpec>(spec) || std::holds_alternative<BinarySpec>(spec) ||
         std::holds_alternative<ScaleShiftSpec>(spec) || std::holds_alternative<SoftmaxSpec>(spec) ||
         std::holds_alternative<LayerNormSpec>(spec) || std::holds_alternative<ReductionSpec>(spec) ||
         std::holds_alternative<PReluSpec>(spec) || std::holds_alternative<MapSpec>(spec) ||
         std::holds_alternative<CastSpec>(spec) || std::holds_alternative<AttentionSpec>(spec);
}

// A window that moves over the axes behind the channels.
struct Window {
  Dims kernel, strides, dilates, begin, end;

  std::int64_t Extent(std::size_t axis) const { return (kernel[axis] - 1) * (dilates[axis] + 1) + 1; }
  std::int64_t Padded(std::size_t axis, std::int64_t size) const { return size + begin[axis] + end[axis]; }
  std::int64_t Results(std::size_t axis, std::int64_t size) const {
    return (Padded(axis, size) - Extent(axis)) / strides[axis] + 1;
  }
  std::int64_t Spread(std::size_t axis, std::int64_t size) const {
    return (size - 1) * strides[axis] + Extent(axis) - begin[axis] - end[axis];
  }
};

Dims DimsBehind(const Shape& shape, int first) { return {shape.dims().begin() + first, shape.dims().end()}; }

template <class Spec>
Window SmallWindowOf(const Spec& spec, const Shape& weights, std::size_t axes) {
  return {DimsBehind(weights, weights.rank() - static_cast<int>(axes)), spec.strides, spec.dilates, spec.pads_begin,
          spec.pads_end};
}

Window SmallWindowOf(const PoolingSpec& spec) {
  return {spec.kernel, spec.strides, Dims(spec.kernel.size()), spec.pads_begin, spec.pads_end};
}

// The types of one step of the chain, made smaller. `source` is the shape that the step before writes, if there is one.
class Shrinking {
 public:
  Shrinking(const TypedStep& given, const SmallSizes& sizes, std::optional<Shape> source)
      : step_(given.step), types_(given.types), sizes_(sizes), source_(std::move(source)) {}

  // Whether there are such types.
  bool Run() {
    if (!CanShrink(step_.spec) || types_.outputs.size() != 1 || types_.inputs.empty()) return false;
    small_ = types_;
    const Shape in = Source(), out = Result();
    if (!ShrinkLayer()) return false;
    for (std::size_t i = FirstOther(); i < small_.inputs.size(); ++i) {
      if (!Follow(types_.inputs[i].shape, in, out, &small_.inputs[i].shape)) return false;
    }
    const auto is_possible = [](const TensorType& type) {
      return std::all_of(type.shape.dims().begin(), type.shape.dims().end(), [](std::int64_t d) { return d > 0; });
    };
    return std::all_of(small_.inputs.begin(), small_.inputs.end(), is_possible) && is_possible(small_.outputs[0]);
  }
  const StepTypes& types() const { return small_; }

 private:
  const Shape& Source() const { return types_.inputs[0].shape; }
  const Shape& Result() const { return types_.outputs[0].shape; }
  Shape& SmallSource() { return small_.inputs[0].shape; }
  Shape& SmallResult() { return small_.outputs[0].shape; }

  // The inputs in front are those of the layer itself.
  std::size_t FirstOther() const {
    if (std::holds_alternative<ConvolutionSpec>(step_.spec) || std::holds_alternative<DeconvolutionSpec>(step_.spec) ||
        std::holds_alternative<InnerProductSpec>(step_.spec) || std::holds_alternative<MatMulSpec>(step_.spec) ||
        std::holds_alternative<WeightGradientSpec>(step_.spec))
      return 2;
    return std::holds_alternative<AttentionSpec>(step_.spec) ? small_.inputs.size() : 1;
  }

  bool ShrinkLayer() {
    if (const auto* spec = std::get_if<ConvolutionSpec>(&step_.spec)) return ShrinkConvolution(*spec, false);
    if (const auto* spec = std::get_if<DeconvolutionSpec>(&step_.spec)) return ShrinkConvolution(*spec, true);
    if (const auto* spec = std::get_if<WeightGradientSpec>(&step_.spec)) return ShrinkGradient(*spec);
    if (const auto* spec = std::get_if<PoolingSpec>(&step_.spec)) return ShrinkPooling(*spec);
    if (std::holds_alternative<InnerProductSpec>(step_.spec)) return ShrinkDense();
    if (std::holds_alternative<MatMulSpec>(step_.spec)) return ShrinkMatMul();
    if (const auto* spec = std::get_if<AttentionSpec>(&step_.spec)) return ShrinkAttention(*spec);
    return ShrinkElements();
  }

  std::int64_t ImageSize(std::size_t axis, std::size_t axes, std::int64_t size) const {
    return std::min(size, sizes_.image[3 - std::min<std::size_t>(axes, 3) + std::min<std::size_t>(axis, 2)]);
  }

  // Sizes of the source along the axes of a window, and where `spreads` the result is the larger one.
  void ShrinkWindow(const Window& window, bool spreads) {
    const std::size_t axes = window.kernel.size();
    for (std::size_t i = 0; i < axes; ++i) {
      const int axis = static_cast<int>(i) + 2;
      const std::int64_t least = spreads ? 1 : window.Extent(i) - window.begin[i] - window.end[i];
      const std::int64_t size = std::max(ImageSize(i, axes, Source()[axis]), std::min(least, Source()[axis]));
      const std::int64_t in = source_ ? (*source_)[axis] : size;
      SmallSource()[axis] = in;
      SmallResult()[axis] = spreads ? window.Spread(i, in) : window.Results(i, in);
    }
  }

  // Channels of the source and of the result; weights have an axis of groups in front where their rank is larger.
  bool ShrinkChannels(Shape* weights) {
    const bool is_grouped = weights->rank() == Source().rank() + 1;
    const int out = is_grouped ? 1 : 0, in = out + 1;
    const std::int64_t groups = is_grouped ? (*weights)[0] : 1;
    std::int64_t channels = std::min((*weights)[in], std::max<std::int64_t>(sizes_.channels / groups, 1));
    std::int64_t count = groups;
    if (is_grouped && (*weights)[in] == 1 && (*weights)[out] == 1) count = std::min(groups, sizes_.channels);
    if (source_) {
      if ((*weights)[in] == 1 && is_grouped) count = (*source_)[1];
      if ((*source_)[1] % count != 0) return false;
      channels = (*source_)[1] / count;
    }
    if (is_grouped) (*weights)[0] = count;
    (*weights)[in] = channels;
    (*weights)[out] = std::min((*weights)[out], std::max<std::int64_t>(sizes_.results / count, 1));
    SmallSource()[1] = channels * count;
    SmallResult()[1] = (*weights)[out] * count;
    return true;
  }

  template <class Spec>
  bool ShrinkConvolution(const Spec& spec, bool spreads) {
    Shape& weights = small_.inputs[1].shape;
    SmallSource()[0] = SmallResult()[0] = source_ ? (*source_)[0] : 1;
    ShrinkWindow(SmallWindowOf(spec, weights, spec.strides.size()), spreads);
    return ShrinkChannels(&weights);
  }

  bool ShrinkGradient(const WeightGradientSpec& spec) {
    if (source_ || Result().rank() != Source().rank()) return false;
    Shape weights = Result(), gradient = types_.inputs[1].shape;
    std::swap(small_.outputs[0].shape, gradient);  // as of the convolution
    SmallSource()[0] = SmallResult()[0] = std::min<std::int64_t>(2, Source()[0]);
    ShrinkWindow(SmallWindowOf(spec, weights, spec.strides.size()), false);
    if (!ShrinkChannels(&weights)) return false;
    small_.inputs[1].shape = SmallResult();
    SmallResult() = weights;
    return true;
  }

  bool ShrinkPooling(const PoolingSpec& spec) {
    SmallSource()[0] = SmallResult()[0] = source_ ? (*source_)[0] : 1;
    SmallSource()[1] = SmallResult()[1] = source_ ? (*source_)[1] : std::min(Source()[1], sizes_.channels);
    ShrinkWindow(SmallWindowOf(spec), false);
    return true;
  }

  bool ShrinkDense() {
    if (source_ || Source().rank() != 2) return false;
    const std::int64_t rows = std::min(Source()[0], sizes_.rows), channels = std::min(Source()[1], sizes_.channels);
    const std::int64_t results = std::min(Result()[1], sizes_.results);
    SmallSource() = {rows, channels};
    small_.inputs[1].shape = {results, channels};
    SmallResult() = {rows, results};
    return true;
  }

  bool ShrinkMatMul() {
    if (source_) return false;
    Shape &a = SmallSource(), &b = small_.inputs[1].shape, &out = SmallResult();
    const int rank = out.rank();
    for (int axis = 0; axis + 2 < rank; ++axis) {
      for (Shape* shape : {&a, &b, &out}) (*shape)[axis] = std::min<std::int64_t>((*shape)[axis], 2);
    }
    a[rank - 2] = out[rank - 2] = std::min(out[rank - 2], sizes_.rows);
    a[rank - 1] = b[rank - 2] = std::min(a[rank - 1], sizes_.channels);
    b[rank - 1] = out[rank - 1] = std::min(out[rank - 1], sizes_.results);
    return true;
  }

  // Fewer queries, keys, batches and heads, of the same size.
  bool ShrinkAttention(const AttentionSpec& spec) {
    if (source_) return false;
    const auto make_smaller = [](Shape* shape, int axis, std::int64_t size) {
      (*shape)[axis] = std::min((*shape)[axis], size);
    };
    const int batch = spec.interleaved ? 1 : 0, rows = spec.interleaved ? 0 : 2;
    const std::size_t tensors = spec.interleaved ? 1 : 3;
    for (std::size_t i = 0; i < small_.inputs.size(); ++i) {
      Shape* shape = &small_.inputs[i].shape;
      const bool is_mask = i >= tensors;  // or lengths
      make_smaller(shape, is_mask ? 0 : batch, 2);
      make_smaller(shape, is_mask ? 1 : batch + 1, 3);
      make_smaller(shape, is_mask ? 2 : rows, sizes_.rows);
      if (is_mask && spec.masking == Masking::kMask) make_smaller(shape, 3, sizes_.rows);
    }
    make_smaller(&SmallResult(), batch, 2);
    make_smaller(&SmallResult(), batch + 1, 3);
    make_smaller(&SmallResult(), rows, sizes_.rows);
    return true;
  }

  // Each axis of the largest operand becomes smaller; the others follow.
  bool ShrinkElements() {
    if (Source().rank() != Result().rank() || Source().rank() == 0) return false;
    for (int axis = 0; axis < Source().rank(); ++axis) {
      const std::int64_t size = std::max(Source()[axis], Result()[axis]);
      const std::int64_t small = source_ ? (*source_)[axis] : std::min(size, ElementsAlong(axis));
      if (Source()[axis] != 1) SmallSource()[axis] = small;
      if (Result()[axis] != 1) SmallResult()[axis] = small;
    }
    return true;
  }
  std::int64_t ElementsAlong(int axis) const {
    if (axis == Source().rank() - 1) return sizes_.image[2] * 5;
    return axis == 1 ? sizes_.channels : 3;
  }

  // Another operand has the sizes of the result where it had them before, and of the source otherwise; a vector those
  // of channels, or of the last axis.
  bool Follow(const Shape& given, const Shape& in, const Shape& out, Shape* small) {
    if (given.rank() == out.rank()) {
      for (int axis = 0; axis < given.rank(); ++axis) {
        if (given[axis] == out[axis])
          (*small)[axis] = SmallResult()[axis];
        else if (given[axis] != 1)
          (*small)[axis] = in.rank() == given.rank() ? SmallSource()[axis] : 0;
      }
      return true;
    }
    if (given.rank() != 1 || out.rank() < 2) return false;
    const bool is_last = std::holds_alternative<LayerNormSpec>(step_.spec);
    const int axis = is_last ? out.rank() - 1 : 1;
    (*small)[0] = SmallResult()[axis];
    return given[0] == out[axis];
  }

  const Step& step_;
  const StepTypes& types_;
  const SmallSizes& sizes_;
  const std::optional<Shape> source_;
  StepTypes small_;
};

bool IsPostOperand(const Step& step, std::size_t input) {
  return std::any_of(step.post_ops.begin(), step.post_ops.end(), [&](const PostOp& op) {
    return !std::holds_alternative<EltwiseSpec>(op.spec) && op.operand == input;
  });
}

// Weights, biases, scales and shifts.
bool IsConstantOperand(const Step& step, std::size_t input) {
  if (input == 0 || IsPostOperand(step, input) || std::holds_alternative<WeightGradientSpec>(step.spec)) return false;
  return KindOf(step.spec).chooses_layouts || std::holds_alternative<ScaleShiftSpec>(step.spec) ||
         std::holds_alternative<LayerNormSpec>(step.spec) || std::holds_alternative<PReluSpec>(step.spec);
}

ValueId AddOperand(const Step& step, std::size_t input, const TensorType& type, Program* program) {
  const bool is_constant = IsConstantOperand(step, input);
  const std::string name = std::to_string(program->values.size());
  const ValueId v = program->AddValue(type, name, is_constant ? ValueSource::kConstant : ValueSource::kInput);
  if (!is_constant) program->inputs.push_back(v);
  return v;
}

}  // namespace

bool CanBeChecked(const StepSpec& spec) { return CanShrink(spec) && !std::holds_alternative<CastSpec>(spec); }

const std::array<SmallSizes, SmallSizes::kCount>& SmallSizes::All() {
  static constexpr std::array<SmallSizes, kCount> kAll = {
      {{13, 35, 37, {5, 9, 11}}, {35, 64, 64, {5, 14, 13}}, {67, 256, 128, {5, 14, 13}}, {131, 512, 512, {5, 14, 14}}}};
  return kAll;
}

std::optional<Program> SmallProgram(std::span<const TypedStep> chain, const SmallSizes& sizes) {
  Program program;
  std::optional<ValueId> last;
  for (const TypedStep& given : chain) {
    Shrinking shrinking(given, sizes, last ? std::optional(program.values[*last].type.shape) : std::nullopt);
    if (!shrinking.Run()) return std::nullopt;
    Step step = given.step;
    step.inputs.clear();
    step.fused.clear();
    step.choice.reset();
    step.alternate.reset();
    step.node = 0;
    step.is_backward = false;
    const StepTypes& types = shrinking.types();
    for (std::size_t i = 0; i < types.inputs.size(); ++i) {
      step.inputs.push_back(i == 0 && last ? *last : AddOperand(step, i, types.inputs[i], &program));
    }
    last = program.AddValue(types.outputs[0], std::to_string(program.values.size()), ValueSource::kComputed);
    step.outputs = {*last};
    program.steps.push_back(std::move(step));
  }
  if (!last || std::holds_alternative<CastSpec>(program.steps.back().spec)) return std::nullopt;
  program.outputs = {*last};
  return program;
}

}  // namespace amp
