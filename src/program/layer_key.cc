#include "program/layer_key.h"

#include <fmt/ranges.h>

#include "program/step_features.h"

namespace amp {
namespace {

std::string TextOf(const IntTuple& values) { return fmt::format("{}", fmt::join(values, "x")); }

std::string TextOf(const TensorType& type) {
  return fmt::format("{}[{}]", NameOf(type.dtype), fmt::join(type.shape.dims(), "x"));
}

// How a window moves: for the kinds of step that have one.
template <class Spec>
std::string WindowOf(const Spec& spec) {
  if constexpr (requires { spec.strides, spec.dilates, spec.pads_begin, spec.pads_end; }) {
    return fmt::format(" stride {} gaps {} pads {}-{}", TextOf(spec.strides), TextOf(spec.dilates),
                       TextOf(spec.pads_begin), TextOf(spec.pads_end));
  }
  if constexpr (requires { spec.kernel, spec.strides, spec.pads_begin, spec.pads_end; }) {
    return fmt::format(" window {} stride {} pads {}-{}", TextOf(spec.kernel), TextOf(spec.strides),
                       TextOf(spec.pads_begin), TextOf(spec.pads_end));
  }
  return "";
}

std::string NameOfPostOp(const PostOp& op) {
  if (const auto* function = std::get_if<EltwiseSpec>(&op.spec)) return NameOf(function->kind);
  if (const auto* binary = std::get_if<BinarySpec>(&op.spec)) {
    return fmt::format("binary{}", static_cast<int>(binary->kind));
  }
  return std::holds_alternative<SumSpec>(op.spec) ? "sum" : "prelu";
}

}  // namespace

std::string LayerKey(const Step& step, const StepTypes& types, int num_threads) {
  std::string key = KindOf(step.spec).name;
  for (const TensorType& type : types.inputs) key += " " + TextOf(type);
  key += " ->";
  for (const TensorType& type : types.outputs) key += " " + TextOf(type);
  key += std::visit([](const auto& spec) { return WindowOf(spec); }, step.spec);
  for (const PostOp& op : step.post_ops) key += " " + NameOfPostOp(op);
  return key + fmt::format(" {} threads", num_threads);
}

}  // namespace amp
