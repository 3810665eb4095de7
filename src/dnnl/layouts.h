// AssignLayouts: decides in which memory layout every value lies and makes each change of layout an explicit step.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dnnl/constants.h"
#include "dnnl/primitives.h"
#include "passes/numeric_mode.h"

namespace amp::onednn {

struct LaidOutProgram {
  Program program;                                         // reorders inserted, reshapes and permutes gone
  std::vector<std::optional<PreparedPrimitive>> prepared;  // by step; nullopt: own kernel
  std::vector<Desc> layouts;                               // by value
  std::vector<ValueId> storage;  // by value: the value whose memory it shares (itself, where it has its own)
  // Nodes of which the library has no primitive; non-empty: the program is incomplete and to be lowered again.
  std::map<NodeId, std::string> refused;

  // Nodes whose fused steps it does not have: to be lowered again without that.
  std::set<NodeId> apart;

  bool IsConstant(ValueId v) const { return program.values[storage[v]].source == ValueSource::kConstant; }
};

// Sums of products choose their layouts; everything else takes what its producer wrote. Heads end in row-major memory
// of their own. In mode `fast` a reorder rounds, too, where a cast stands before it.
LaidOutProgram AssignLayouts(NumericMode mode, Program program, const ConstantStore& store);

}  // namespace amp::onednn
