// What the precision policies decide about a symbol.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "passes/precision/decide.h"
#include "passes/typed.h"

namespace amp::testing {

inline ConvertOptions MXNetOptions() { return {.policy = PrecisionPolicy::kMXNet}; }

// The decision with the kinds of its reasons. Variables are float32[2,2] unless `known` says otherwise.
inline std::string Decided(const Symbol& symbol, const ConvertOptions& options = {},
                           const std::set<std::string>& parameters = {}, const TypeMap& known = {}) {
  const Model model = MakeTyped(symbol, parameters, known);
  return PrintKinds(model.graph(), Decide(model, options));
}

// The lines of a decision, for graphs that differ in the order of their nodes.
inline std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The dtype of the first output that each operator produces, by the operator's name.
inline std::map<std::string, std::string> Produced(const Symbol& symbol, const ConvertOptions& options,
                                                   const std::set<std::string>& parameters = {}) {
  const Model model = MakeTyped(symbol, parameters);
  const Decision decision = Decide(model, options);
  std::map<std::string, std::string> produced;
  for (NodeId id = 0; id < model.graph().num_nodes(); ++id) {
    if (model.graph().node(id).is_variable()) continue;
    produced[model.graph().node(id).name()] = NameOf(decision.produced[model.graph().EntryOf(id, 0)]);
  }
  return produced;
}

}  // namespace amp::testing
