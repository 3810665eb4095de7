#include "program/plan_summary.h"

#include <fmt/ranges.h>

#include "nnvm/error.h"

namespace amp {
namespace {

// "  [winograd_f4x4_f32, predicted 12.3 us, otherwise 23.4 us, tuned]"
std::string TextOfChoice(const LayerChoice& choice) {
  const auto time = [](const char* what, const std::optional<double>& seconds) {
    return seconds ? fmt::format(", {} {:.1f} us", what, 1e6 * *seconds) : "";
  };
  const bool is_first = choice.baseline_seconds == choice.predicted_seconds;
  return fmt::format("  [{}{}{}{}]", choice.name(), time("predicted", choice.predicted_seconds),
                     is_first ? "" : time("otherwise", choice.baseline_seconds), choice.is_tuned ? ", tuned" : "");
}

// "  {bfloat16, bfloat16 -> float32 + eltwise_relu}"
std::string TextOfTypes(const PlanStep& step) {
  std::vector<std::string> read, written;
  for (const OperandDType& operand : step.dtypes) {
    const bool is_result = operand.role.starts_with("dst") || operand.role == "diff_weights";
    (is_result ? written : read).push_back(operand.dtype);
  }
  std::string text = fmt::format("  {{{} -> {}", fmt::join(read, ", "), fmt::join(written, ", "));
  for (const std::string& op : step.post_ops) text += " + " + op;
  return text + "}" + (step.why_float32.empty() ? "" : "  [float32: " + step.why_float32 + "]");
}

std::string TextOfConstants(std::size_t bytes) {
  return bytes == 0 ? "" : fmt::format("  [constants {:.1f} KB]", static_cast<double>(bytes) / 1024);
}

}  // namespace

std::string PlanSummary::Print() const {
  std::string text = fmt::format(
      "plan: {} steps, {}{} threads, arena {} bytes, constants {} bytes, {} reorders, {} nodes on "
      "reference kernels\n",
      steps.size(), num_threads > 1 ? "up to " : "", num_threads, arena_bytes, constant_bytes, num_reorders,
      num_references);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = steps[i];
    const std::string fused = step.fused.empty() ? "" : " + " + JoinSome(step.fused, 99);
    text += fmt::format("{:4} {:14} {:24} {:8} {}{}{}{}{}{}{}\n", i, step.kind, step.implementation, step.layout,
                        step.node, fused, TextOfTypes(step), step.reason.empty() ? "" : "  (" + step.reason + ")",
                        step.choice ? TextOfChoice(*step.choice) : "", TextOfConstants(step.constant_bytes),
                        step.alternate.empty() ? "" : "  [keeps small numbers: " + step.alternate + "]");
  }
  return text;
}

}  // namespace amp
