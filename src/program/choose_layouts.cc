#include "program/choose_layouts.h"

#include <algorithm>

#include "program/layer_kernel.h"

namespace amp {
namespace {

// Beyond the caches of a core: below it the choice makes no difference that could be measured.
constexpr std::int64_t kLargeBytes = 8 << 20;
constexpr std::int64_t kFewChannels = 16;

std::int64_t BytesOfValue(const Program& program, ValueId v) {
  const TensorType& type = program.values[v].type;
  return type.shape.size() * static_cast<std::int64_t>(BytesOf(type.dtype));
}

const Shape& ShapeOf(const Program& program, const Step& step, std::size_t input) {
  return program.values[step.inputs[input]].type.shape;
}

bool IsPlanar(const Program& program, const Step& step) {
  return step.layer() == nullptr && std::holds_alternative<ConvolutionSpec>(step.spec) &&
         ShapeOf(program, step, 0).rank() == 4;
}

// Weights (G, 1, 1, k, k).
bool HasDepthwiseWeights(const Program& program, const Step& step) {
  const Shape& weights = ShapeOf(program, step, 1);
  return weights.rank() == 5 && weights[1] == 1 && weights[2] == 1 && weights[0] > 1;
}

// oneDNN writes the result of a convolution over an image in blocks, which the next one does not read: a reorder
// of a large tensor. MobileNetV2, batch 16, without blocks: 36 against 44 ms; Inception-v3, batch 16: 2 % better;
// nothing is gained or lost at batch 1.
bool IsLargeImage(const Program& program, const Step& step) {
  return ShapeOf(program, step, 0)[1] < kFewChannels && BytesOfValue(program, step.outputs[0]) >= kLargeBytes;
}

LayoutHint HintFor(const Program& program, const Step& step, bool in_blocks, bool has_amx) {
  const bool computes_in_tiles = has_amx && IsLowPrecision(program.values[step.inputs[1]].type.dtype);
  if (in_blocks && !computes_in_tiles) return LayoutHint::kBlocked;
  return IsLargeImage(program, step) ? LayoutHint::kChannelsLastOut : LayoutHint::kAny;
}

// One row times a matrix reads that matrix once: packing does not help. VGG-16, batch 1, bfloat16: 74.8 against 78.3 ms
// for the whole network; float32: 149 against 155.
bool IsOneRow(const Program& program, const Step& step) { return ShapeOf(program, step, 0)[0] == 1; }

// AMX multiplies low precision with channels last.
void ChooseBackward(bool has_amx, const Program& program, Step* step) {
  auto* by_weights = std::get_if<WeightGradientSpec>(&step->spec);
  auto* by_data = std::get_if<DeconvolutionSpec>(&step->spec);
  if ((by_weights == nullptr && by_data == nullptr) || ShapeOf(program, *step, 0).rank() != 4) return;
  if (has_amx && IsLowPrecision(program.values[step->inputs[1]].type.dtype)) return;
  if (by_weights != nullptr) by_weights->layout_hint = LayoutHint::kBlocked;
  const bool is_image = program.values[step->outputs[0]].type.shape[1] < kFewChannels;
  if (by_data != nullptr && !is_image) by_data->layout_hint = LayoutHint::kBlocked;
}

}  // namespace

bool IsTraining(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return std::holds_alternative<WeightGradientSpec>(step.spec); });
}

// Large depthwise convolutions are bound by memory, and oneDNN's blocked code for them and for the 1x1
// convolutions around them loses less. MobileNetV2, batch 16, 2 threads, Zen4: 31.4 against 43.9 ms in bfloat16, 59.8
// against 76.2 in float32; batch 4: 7.9 against 8.2; batch 1: 2.16 against 2.02. ResNet-50, batch 16: 0 to 4 % better;
// Inception-v3: 2 to 5 % worse. `make bench` with --ablation measures it again. Blocked code in bfloat16 does without
// AMX: MobileNetV2, batch 16, on a Xeon: 62 against 25 ms; in float32 45 against 52. Our own depthwise blocks read and
// write channels last.
// Backward convolutions are faster in blocks, too, above all strided ones (ResNet-50, batch 4, one thread of a Xeon
// without AMX: 370 against 516 ms by data), and all three of a layer read the same tensors.
bool WantsBlocks(const Program& program) {
  if (IsTraining(program)) return true;
  const bool has_own = std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    return step.layer() != nullptr && step.choice->kernel->keeps_channels_last;
  });
  return !has_own && std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return IsPlanar(program, step) && HasDepthwiseWeights(program, step) &&
           BytesOfValue(program, step.inputs[0]) >= kLargeBytes;
  });
}

void ChooseLayouts(bool has_amx, Program* program) {
  const bool in_blocks = WantsBlocks(*program), is_training = IsTraining(*program);
  for (Step& step : program->steps) {
    auto* product = std::get_if<InnerProductSpec>(&step.spec);
    if (product != nullptr && IsOneRow(*program, step)) product->layout_hint = LayoutHint::kRowMajorWeights;
    if (is_training) ChooseBackward(has_amx, *program, &step);
    if (!IsPlanar(*program, step)) continue;
    std::get<ConvolutionSpec>(step.spec).layout_hint = HintFor(*program, step, in_blocks, has_amx);
  }
}

}  // namespace amp
