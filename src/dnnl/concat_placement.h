// Concatenations along channels whose parts are written where they belong in the outermost one.
#pragma once

#include <cstdint>
#include <map>

#include "dnnl/memory_desc.h"
#include "program/concat_aliasing.h"

namespace amp::onednn {

class LayoutBuilder;

class ConcatPlacement {
 public:
  // Places nothing where the pass AliasConcats is disabled.
  explicit ConcatPlacement(const Program& source);

  // The value is a concatenation that has been placed, or a part of one.
  bool IsPlaced(ValueId v) const { return first_channels_.contains(v); }

  // Puts the parts of a concatenation in their place, if one of them lies channels-last; false: nothing was done.
  bool Place(LayoutBuilder* builder, const Step& concat);

 private:
  ValueId BufferOf(LayoutBuilder* builder, ValueId concat);
  void PlaceIn(LayoutBuilder* builder, ValueId buffer, std::int64_t first_channel, ValueId v);
  void PutPart(LayoutBuilder* builder, ValueId part, ValueId buffer, std::int64_t first_channel, NodeId node);

  std::map<ValueId, ConcatAlias> aliases_;          // of concatenations
  std::map<ValueId, std::int64_t> first_channels_;  // of what is placed, in its buffer
};

}  // namespace amp::onednn
