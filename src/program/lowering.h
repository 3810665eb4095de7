// Lower: from a typed graph to a program. Each operator's definition says how it becomes steps.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/model.h"
#include "program/lower_context.h"
#include "program/step.h"

namespace amp {

struct LowerOptions {
  bool reference = false;  // every node runs on its reference kernel
  bool native_bf16 = true;
  // Says for each NodeId whether the node computes in float32 between casts all the same; empty: none does.
  std::vector<bool> in_float32 = {};
  AlternateSettings alternate = {.backward = false};
  // Nodes that a later stage cannot run, with the reason: they run on their reference kernels.
  std::map<NodeId, std::string> unsupported = {};
  // Makes plans of bodies of control flow; null: they run on reference kernels.
  BodyPlanner plan_body = nullptr;
};

struct LoweredGraph {
  Program program;
  std::map<std::string, NDArray> constants;  // by value name: what lowering rules made up; parameters are in the store
  std::vector<std::string> input_names;      // of program.inputs
};

// Parameters become constants (see ParameterKey), other variables inputs. Variables that only feed ignored slots are
// neither.
LoweredGraph Lower(const Model& model, const LowerOptions& options);

// Nodes whose result is needed for an output: not those behind ignored slots (labels).
std::vector<bool> NeededNodes(const Graph& graph);

// Whether the node reads or writes bfloat16.
bool TouchesBFloat16(const Model& model, NodeId id);

}  // namespace amp
