// A program whose values have layouts: what AssignLayouts makes, and what the last stages of compilation change.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dnnl/memory_desc.h"
#include "dnnl/prepared_primitive.h"
#include "program/step.h"

namespace amp::onednn {

// A constant of the store that a plan needs.
struct HeldConstant {
  std::string name;
  TensorType type;
  Desc layout;
  std::shared_ptr<const void> data;
};

struct LaidOutProgram {
  Program program;                                         // reorders inserted, reshapes and permutes gone
  std::vector<std::optional<PreparedPrimitive>> prepared;  // by step; nullopt: own kernel
  std::vector<Desc> layouts;                               // by value
  // For each value the one whose memory it shares (itself, where it has its own).
  std::vector<ValueId> storage;
  // For each value that is a constant and read by some step: its memory. Filled by FoldConstants.
  std::vector<std::shared_ptr<const void>> constants;
  std::size_t own_constant_bytes = 0;  // of those that the store does not have
  // What its steps read of the store, in their order, and what those constants are made from that it does not have.
  std::vector<HeldConstant> held;
  std::map<std::string, TensorType> folded;  // constants that were computed for it and are the model's, by name

  // Nodes of which oneDNN has no primitive; non-empty: the program is incomplete and to be lowered again.
  std::map<NodeId, std::string> unsupported;
  // Nodes whose fused steps it does not have: to be lowered again without that.
  std::set<NodeId> do_not_fuse;

  const TensorType& TypeOf(ValueId v) const { return program.values[v].type; }
  StepTypes TypesOf(const Step& step) const { return program.TypesOf(step); }
  bool IsConstant(ValueId v) const { return program.values[storage[v]].source == ValueSource::kConstant; }
  // The value whose memory v lies in. Paths are shortened on the way, so that long chains stay cheap.
  ValueId RootOf(ValueId v);
  std::set<ValueId> RootsOfOutputs();
  // For each value the last step that reads what lies in its memory.
  std::vector<std::size_t> LastUses();
  ValueId AddValue(TensorType type, std::string name, Desc layout);
};

}  // namespace amp::onednn
