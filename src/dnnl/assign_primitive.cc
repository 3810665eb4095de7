#include "dnnl/assign_primitive.h"

#include <utility>

#include "dnnl/alternate_product.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

std::vector<TensorType> InputTypes(const LayoutBuilder& builder, const Step& step) {
  std::vector<TensorType> types;
  for (const ValueId input : step.inputs) types.push_back(builder.TypeOf(input));
  return types;
}

std::vector<Desc> InputLayouts(const LayoutBuilder& builder, const Step& step) {
  std::vector<Desc> layouts;
  for (const ValueId input : step.inputs) layouts.push_back(builder.LayoutOf(input));
  return layouts;
}

// Parts of concatenations lie in something larger: only sums of products say themselves what they want.
void MakeConcatPartsDense(LayoutBuilder* builder, Step* step) {
  if (KindOf(step->spec).chooses_layouts) return;
  for (ValueId& input : step->inputs) {
    if (builder->laid_out().storage[input] == input || !builder->concats().IsPlaced(input)) continue;
    const Desc dense = DenseLike(builder->LayoutOf(input), builder->TypeOf(input));
    input = builder->InLayout(input, dense, step->node, "the primitive reads dense memory");
  }
}

// Some primitives do not take a packed or permuted source that they take row-major; others are slow there.
std::optional<PreparedPrimitive> PrepareOrMakeRowMajor(LayoutBuilder* builder, Step* step) {
  const std::vector<TensorType> types = InputTypes(*builder, *step);
  const TensorType out = builder->TypeOf(step->outputs[0]);
  auto prepared = Prepare(*step, types, out, InputLayouts(*builder, *step));
  const bool is_slow = prepared && prepared->is_reference() && BackEndOf(step->spec).avoids_reference;
  if ((prepared && !is_slow) || IsRowMajor(builder->LayoutOf(step->inputs[0]))) return prepared;
  step->inputs[0] = builder->InRowMajor(step->inputs[0], step->node, "the primitive refuses the producer's layout");
  return Prepare(*step, types, out, InputLayouts(*builder, *step));
}

bool MayRunAlternate(const Step& step) { return step.alternate && *step.alternate != AlternateMode::kF32; }

}  // namespace

void AssignPrimitive(LayoutBuilder* builder, Step step) {
  const Step given = step;  // before anything is reordered for a primitive
  MakeConcatPartsDense(builder, &step);
  const bool on_one_thread = !builder->is_fast() && BackEndOf(step.spec).splits_sums;
  std::optional<ThreadScope> one;
  if (on_one_thread) one.emplace(1);
  auto prepared = PrepareOrMakeRowMajor(builder, &step);
  const auto assign_instead = BackEndOf(step.spec).assign_instead;
  const bool is_slow = !prepared || prepared->is_reference();
  if (is_slow && assign_instead != nullptr && assign_instead(builder, given)) return;
  if (!prepared) {
    return builder->Reject(step, std::string("oneDNN has no ") + KindOf(step.spec).name + " for these types");
  }
  if (step.alternate) builder->KeepCasts(step.inputs);
  if (MayRunAlternate(step) &&
      !AlternateProduct::IsPossible(step, *prepared, InputTypes(*builder, step), builder->TypeOf(step.outputs[0]))) {
    return builder->Reject(step, "oneDNN has no float32 primitive that keeps small numbers here");
  }
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    step.inputs[i] =
        builder->InLayout(step.inputs[i], prepared->inputs[i], step.node, "the primitive requires this layout");
  }
  if (on_one_thread) prepared->num_threads = 1;
  builder->SetLayout(step.outputs[0], prepared->outputs[0]);
  builder->Append(std::move(step), std::move(prepared));
}

}  // namespace amp::onednn
