// What the policy and the call say about operators.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nnvm/node.h"
#include "passes/precision/convert_options.h"
#include "passes/precision/graphamp_presets.h"
#include "passes/precision/precision_category.h"
#include "passes/precision/problems.h"
#include "passes/precision/reason.h"

namespace amp {

PrecisionCategory RoleOf(GraphAmpCategory category);

struct OpChoice {
  PrecisionCategory role = PrecisionCategory::kNeutral;
  Reason reason;
  int strength = 0;     // of what set it
  bool widens = false;  // see PrecisionChoices
};

// The first of these that says something: lists of the call, conditions, published lists and presets, facts.
class OpChoices {
 public:
  OpChoices(const ConvertOptions& options, std::vector<std::string>* details, Problems* problems);

  OpChoice Of(const Node& node);

 private:
  using List = std::optional<std::vector<std::string>>;

  std::uint32_t Detail(std::string text);
  static PrecisionCategory RoleOfList(ListRole role);
  // A list that the call gives replaces the published one.
  bool IsReplaced(ListRole role) const;
  void AddPublished();
  void AddPreset();
  // A node's category may depend on its attributes.
  OpChoice OfCategory(const Node& node);
  void AddLists();
  void AddList(const List& list, ListRole role);
  Reason InList(const Op& op, ListRole role);
  std::vector<ConditionalOp> Conditional();
  void Check(const ConditionalOp& entry);
  // An attribute that is not written has its default.
  const ConditionalOp* MatchingCondition(const Node& node) const;
  OpChoice Kept(const ConditionalOp& entry);
  OpChoice FromFacts(const Op& op) const;

  const ConvertOptions& options_;
  std::vector<std::string>* details_;
  Problems* problems_;
  std::unordered_map<const Op*, OpChoice> by_op_;
  std::unordered_map<const Op*, ListRole> listed_;  // by the call
  std::vector<ConditionalOp> conditional_;
  std::vector<const Op*> conditional_ops_;  // of the entries
  std::map<const ConditionalOp*, std::uint32_t> condition_details_;
  std::optional<PresetCategories> preset_;  // under policy graphamp
  std::map<std::pair<const Op*, GraphAmpCategory>, std::uint32_t> category_details_;
};

}  // namespace amp
