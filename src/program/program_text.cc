#include "program/program_text.h"

#include <fmt/format.h>

#include <span>

namespace amp {
namespace {

std::string ListOf(const Program& program, std::span<const ValueId> values) {
  std::string text;
  for (const ValueId v : values) {
    text += fmt::format("{}%{} {}", text.empty() ? "" : ", ", v, program.values[v].type.ToString());
  }
  return text;
}

std::string LineOf(const Program& program, const Step& step) {
  std::string text =
      fmt::format("{} = {}({})", ListOf(program, step.outputs), NameOf(step.spec), ListOf(program, step.inputs));
  if (!step.post_ops.empty()) text += fmt::format(" + {} post-ops", step.post_ops.size());
  if (step.choice) text += fmt::format(" by {}", step.choice->name());
  if (step.is_backward) text += " backward";
  return text;
}

}  // namespace

std::string TextOf(const Program& program) {
  std::string text = fmt::format("inputs: {}\n", ListOf(program, program.inputs));
  for (const Step& step : program.steps) text += LineOf(program, step) + '\n';
  return text + fmt::format("outputs: {}\n", ListOf(program, program.outputs));
}

}  // namespace amp
