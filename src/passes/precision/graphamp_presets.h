// Policy graphamp sorts operators into three categories. A preset is a rule for that.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/node.h"

namespace amp {

enum class GraphAmpCategory : std::uint8_t {
  kAllow,  // reads low precision
  kInfer,  // is low where everything that reads its results reads them low
  kDeny,   // keeps its dtypes
};
// "allow", "infer" and "deny"; throws ArgumentError that begins with `what` for other names.
GraphAmpCategory CategoryFromName(const std::string& what, const std::string& name);
const char* NameOf(GraphAmpCategory category);

struct GraphAmpPreset {
  std::string name = "mp1";  // "mp0" to "mp4", or "custom"
  // The lists of a custom one: operators by name or alias, and the category of all others.
  std::vector<std::string> allow = {}, infer = {}, deny = {};
  GraphAmpCategory rest = GraphAmpCategory::kDeny;

  // The pass is off: the model comes back as it was.
  bool IsOff() const { return name == "mp0"; }
};
// "mp0" to "mp4"; throws ArgumentError for other names.
GraphAmpPreset PresetFromName(const std::string& name);
// What AMP_GRAPHAMP_PRESET says, else mp1.
GraphAmpPreset DefaultPreset();

// The category of each node under a preset.
class PresetCategories {
 public:
  // Adds to `problems` what is wrong with the lists of a custom preset.
  PresetCategories(GraphAmpPreset preset, DType target, bool training, std::vector<std::string>* problems);

  GraphAmpCategory Of(const Node& node) const;
  const std::string& name() const { return preset_.name; }

 private:
  using Rule = GraphAmpCategory (*)(const Node&, DType target, bool training);

  void Add(const std::vector<std::string>& names, GraphAmpCategory category, std::vector<std::string>* problems);

  GraphAmpPreset preset_;
  DType target_;
  bool training_;
  Rule rule_ = nullptr;  // of mp0 to mp4
  std::map<const Op*, GraphAmpCategory> listed_;
};

}  // namespace amp
