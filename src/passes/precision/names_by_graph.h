// Names of nodes in options, told apart by the graph that they are in.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "passes/precision/convert_options.h"
#include "passes/runs_bodies.h"

namespace amp {

// What the caller says of single nodes. The full name of a node in a body is the body's path and its own name.
class NamesByGraph {
 public:
  NamesByGraph(const Graph& graph, const Types& types);

  // Leaves out what names nodes of bodies alone.
  void RemoveInner(ConvertOptions* options) const;
  // Gives `options` what `given` says of the nodes of the body at `path`, and of those further inside.
  void SelectFor(const std::string& path, const ConvertOptions& given, ConvertOptions* options) const;

 private:
  bool IsInner(const std::string& name) const;
  std::vector<std::string> NamesIn(const std::string& path, const std::string& name) const;

  std::set<std::string> outer_;
  std::set<std::string> inner_;  // full names
};

}  // namespace amp
