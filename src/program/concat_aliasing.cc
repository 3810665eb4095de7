#include "program/concat_aliasing.h"

#include <algorithm>
#include <set>

namespace amp {
namespace {

bool JoinsChannels(const Program& program, const Step& step) {
  const auto* concat = std::get_if<ConcatSpec>(&step.spec);
  if (concat == nullptr || concat->axis != 1) return false;
  const TensorType& type = program.values[step.outputs[0]].type;
  const bool has_positions =
      type.shape.rank() > 2 && type.shape.rank() <= 5 && type.shape.SizeOf(2, type.shape.rank()) > 1;
  const bool is_float = type.dtype == DType::kFloat32 || type.dtype == DType::kBFloat16;
  return has_positions && is_float && std::any_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) {
           return program.values[v].source != ValueSource::kConstant;
         });
}

}  // namespace

std::map<ValueId, ConcatAlias> FindConcatAliases(const Program& program) {
  std::map<ValueId, ConcatAlias> aliases;
  std::set<ValueId> joined;
  // Backwards: what contains a concatenation is known before it.
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    if (!JoinsChannels(program, step)) continue;
    const ValueId out = step.outputs[0];
    joined.insert(out);
    const ConcatAlias own = aliases.try_emplace(out, ConcatAlias{out, 0}).first->second;
    std::int64_t channel = own.first_channel;
    for (const ValueId part : step.inputs) {
      aliases.insert_or_assign(part, ConcatAlias{own.buffer, channel});  // the earliest place wins
      channel += program.values[part].type.shape[1];
    }
  }
  std::erase_if(aliases, [&](const auto& entry) { return !joined.contains(entry.first); });
  return aliases;
}

}  // namespace amp
