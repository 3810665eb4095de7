#include "dnnl/step_kind.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp::onednn {
namespace {

// oneDNN 3.2 keeps sizes in ints: beyond them it divides by zero or loops without end.
bool FitsInt(const TensorType& type) {
  const auto& dims = type.shape.dims();
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim <= INT32_MAX; });
}

}  // namespace

internal::BackEnds& internal::RegisteredBackEnds() {
  static BackEnds back_ends;
  return back_ends;
}

const StepBackEnd& BackEndOf(const StepSpec& spec) {
  const auto& back_end = internal::RegisteredBackEnds()[spec.index()];
  if (!back_end) Throw<InternalError>("no file of dnnl/step_kinds registers '{}'", KindOf(spec).name);
  return *back_end;
}

const StepBackEnd& BackEndOf(const Step& step) {
  return BackEndOf(step.layer() != nullptr ? StepSpec(FusedLayerSpec{""}) : step.spec);
}

std::string NameOfKernel(const Step& step) {
  if (step.layer() != nullptr) return std::string("own:") + step.choice->name();
  if (BackEndOf(step).is_reference) return "reference";
  const auto* spec = std::get_if<KernelSpec>(&step.spec);
  return spec != nullptr && !spec->references.empty() ? "own+reference" : "own";
}

std::optional<PreparedPrimitive> Prepare(const Step& step, const std::vector<TensorType>& in_types,
                                         const TensorType& out_type, const std::vector<Desc>& layouts,
                                         const Desc& out_layout) {
  const auto prepare = BackEndOf(step.spec).prepare;
  if (prepare == nullptr) return std::nullopt;
  const bool sums_fit = std::all_of(step.post_ops.begin(), step.post_ops.end(), [&](const PostOp& op) {
    return !std::holds_alternative<SumSpec>(op.spec) || in_types[op.operand] == out_type;
  });
  if (!sums_fit) return std::nullopt;
  if (!FitsInt(out_type) || !std::all_of(in_types.begin(), in_types.end(), FitsInt)) return std::nullopt;
  return prepare(PrimitiveBuilder(step, in_types, out_type, layouts, out_layout));
}

}  // namespace amp::onednn
