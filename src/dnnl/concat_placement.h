// Where the parts of concatenations along channels lie, once they are written where they belong in the outermost one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "program/concat_aliasing.h"

namespace amp::onednn {

class ConcatPlacement {
 public:
  // Finds nothing to place where the pass AliasConcats is disabled.
  explicit ConcatPlacement(const Program& source);

  // What a concatenation is a part of; nullptr where it cannot be placed.
  const ConcatAlias* AliasOf(ValueId concat) const;

  // The value is a concatenation that has been placed, or a part of one.
  bool IsPlaced(ValueId v) const { return first_channels_.contains(v); }
  // In its buffer; nullopt where it is not placed.
  std::optional<std::int64_t> FirstChannelOf(ValueId v) const;
  void SetFirstChannel(ValueId v, std::int64_t channel) { first_channels_[v] = channel; }

 private:
  std::map<ValueId, ConcatAlias> aliases_;          // of concatenations
  std::map<ValueId, std::int64_t> first_channels_;  // of what is placed
};

}  // namespace amp::onednn
