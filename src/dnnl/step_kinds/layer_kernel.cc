// Layers that own kernels compute: layouts, packed weights, and what runs.
#include "program/layer_kernel.h"

#include <utility>

#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "kernels/elementwise/cast.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

// A tensor as kernels see it; nullopt for layouts that they cannot describe.
std::optional<StridedTensor> StridedTensorOf(const TensorType& type, const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  const bool is_blocked = desc.get_inner_nblks() > 0;
  const bool has_channel_blocks = desc.get_inner_nblks() == 1 && desc.get_inner_idxs()[0] == 1;
  if (is_blocked && !has_channel_blocks) return std::nullopt;
  const auto strides = desc.get_strides();
  return StridedTensor{type, {strides.begin(), strides.end()}, is_blocked ? desc.get_inner_blks()[0] : 0};
}

std::optional<StridedTensor> StridedTensorOf(const LaidOutProgram& program, ValueId v) {
  return StridedTensorOf(program.TypeOf(v), program.layouts[v]);
}

// The layout of a line, an image or a volume in blocks of channels.
Desc InBlocks(const TensorType& type, bool of_16) {
  using Format = dnnl::memory::format_tag;
  constexpr std::array<Format, 3> kOf8 = {Format::aBc8b, Format::aBcd8b, Format::aBcde8b},
                                  kOf16 = {Format::aBc16b, Format::aBcd16b, Format::aBcde16b};
  const auto dimensions = static_cast<std::size_t>(type.shape.rank() - 3);
  return Desc(DimsOf(type.shape), DataType(type.dtype), (of_16 ? kOf16 : kOf8).at(dimensions));
}

Desc DescOf(OperandLayout layout, const TensorType& type) {
  if (layout == OperandLayout::kChannelsLast) return ChannelsLast(type);
  const bool of_16 = layout == OperandLayout::kBlocksOf16;
  return of_16 || layout == OperandLayout::kBlocksOf8 ? InBlocks(type, of_16) : PlainDesc(type);
}

const char* ReasonOf(OperandLayout layout) {
  if (layout == OperandLayout::kChannelsLast) return "own kernel requires channels last";
  const bool is_blocked = layout == OperandLayout::kBlocksOf8 || layout == OperandLayout::kBlocksOf16;
  return is_blocked ? "own kernel requires blocks of channels" : "own kernel requires row-major memory";
}

// ---- layers ----

ValueId Packed(LayoutBuilder* builder, ValueId weights, PackedWeights packed, NodeId node) {
  const std::string name = builder->NameOf(weights) + ":" + packed.key;
  const Desc layout = PlainDesc({DType::kUInt8, Shape{static_cast<std::int64_t>(packed.bytes)}});
  return builder->Derived(weights, PackWeightsSpec{std::make_shared<PackedWeights>(std::move(packed))}, name, layout,
                          node);
}

void AssignLayer(LayoutBuilder* builder, Step step) {
  const Layer& layer = *step.layer();
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    ValueId& input = step.inputs[i];
    const OperandLayout layout = layer.LayoutOfInput(i);
    if (layout == OperandLayout::kPacked) {
      input = Packed(builder, input, layer.Pack(i), step.node);
      continue;
    }
    const auto lies = StridedTensorOf(builder->TypeOf(input), builder->LayoutOf(input));
    if (lies && layer.Reads(i, *lies)) continue;
    input = layout == OperandLayout::kRowMajor
                ? builder->InRowMajor(input, step.node, ReasonOf(layout))
                : builder->InLayout(input, DescOf(layout, builder->TypeOf(input)), step.node, ReasonOf(layout));
  }
  builder->SetLayout(step.outputs[0], DescOf(layer.LayoutOfResult(), builder->TypeOf(step.outputs[0])));
  builder->Append(std::move(step));
}

std::unique_ptr<const OwnKernel> MakeLayer(const Step& step, const LaidOutProgram& program) {
  LayerOperands operands;
  for (const ValueId v : step.inputs) operands.inputs.push_back(StridedTensorOf(program, v));
  const auto result = StridedTensorOf(program, step.outputs[0]);
  if (!result) throw InternalError("the result of a layer is no strided tensor");
  operands.result = *result;
  return step.layer()->Make(operands);
}

bool CanWriteLayer(const Step& step, const LaidOutProgram& program, const Desc& layout) {
  const auto result = StridedTensorOf(program.TypeOf(step.outputs[0]), layout);
  return result && step.layer()->Writes(*result);
}

[[maybe_unused]] const bool kLayer = RegisterStepKind<FusedLayerSpec>(
    {.assign_layouts = AssignLayer, .make_kernel = MakeLayer, .can_write = CanWriteLayer});

// ---- their weights ----

// Kernels pack float32 alone.
std::unique_ptr<const OwnKernel> MakePacking(const Step& step, const LaidOutProgram& program) {
  const TensorType& weights = program.TypeOf(step.inputs[0]);
  const bool is_bf16 = weights.dtype == DType::kBFloat16;
  const auto count = static_cast<std::size_t>(weights.shape.size());
  const auto run = [packed = std::get<PackWeightsSpec>(step.spec).packed, is_bf16,
                    count](const KernelOperands& operands) {
    using enum kernels::ElementType;
    if (is_bf16) kernels::Cast(kBFloat16, operands.input(0), kFloat32, operands.scratch(), count);
    packed->pack(static_cast<const float*>(is_bf16 ? operands.scratch() : operands.input(0)), operands.output());
  };
  return MakeOwnKernel(run, is_bf16 ? count * sizeof(float) : 0);
}

[[maybe_unused]] const bool kPackWeights = RegisterStepKind<PackWeightsSpec>({.make_kernel = MakePacking});

}  // namespace
}  // namespace amp::onednn
