#include "dnnl/concat_placement.h"

#include "passes/pipeline.h"

namespace amp::onednn {

ConcatPlacement::ConcatPlacement(const Program& source) {
  if (PassEnabled("AliasConcats")) aliases_ = FindConcatAliases(source);
}

const ConcatAlias* ConcatPlacement::AliasOf(ValueId concat) const {
  const auto found = aliases_.find(concat);
  return found == aliases_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> ConcatPlacement::FirstChannelOf(ValueId v) const {
  const auto found = first_channels_.find(v);
  return found == first_channels_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace amp::onednn
