#include "passes/precision/precision_categories.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "passes/op_facts.h"
#include "passes/precision/op_choices.h"
#include "passes/runs_bodies.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

class RoleChooser {
 public:
  RoleChooser(const Graph& graph, const ConvertOptions& options, Problems* problems)
      : graph_(graph), options_(options), problems_(*problems), ops_(options, &result_.details, problems) {}

  PrecisionChoices Run() {
    result_.roles.assign(graph_.num_nodes(), PrecisionCategory::kKeep);
    result_.reasons.assign(graph_.num_nodes(), {ReasonKind::kVariable});
    result_.named.resize(graph_.num_nodes());
    result_.forced.resize(graph_.num_nodes());
    result_.widens.resize(graph_.num_nodes());
    const std::uint32_t disabled = Detail("AMP is disabled for it (__opt_constraint__)");
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable()) continue;
      if (NamesNodes()) ids_by_name_.emplace(node.name(), id);
      const OpChoice choice = ops_.Of(node);
      Set(id, choice);
      if (IsListedFollower(id)) Set(id, {});
      const bool is_from_call = choice.strength > 0;
      if (!is_from_call && LetsBodiesDecide(id)) Set(id, {PrecisionCategory::kKeep, {ReasonKind::kRunsBodies}, 0});
      if (!is_from_call && IsKeptInTraining(id)) Set(id, {PrecisionCategory::kKeep, {ReasonKind::kTraining}, 0});
      if (IsAmpDisabled(node)) SetNamed(id, PrecisionCategory::kKeep, disabled);
    }
    ChooseCasts();
    if (options_.over_limit) KeepWhatExceedsLimits();
    for (const std::string& name : options_.excluded) Exclude(name);
    for (const auto& [name, dtype] : options_.force) Force(name, dtype);
    for (const auto& [name, category] : options_.categories) Categorize(name, category);
    CheckOutputs();
    CheckPolicy();
    CheckTraining();
    return std::move(result_);
  }

 private:
  std::uint32_t Detail(std::string text) {
    result_.details.push_back(std::move(text));
    return static_cast<std::uint32_t>(result_.details.size() - 1);
  }

  void Set(NodeId id, const OpChoice& choice) {
    result_.roles[id] = choice.role;
    result_.reasons[id] = choice.reason;
    result_.widens[id] = choice.widens;
  }

  void SetNamed(NodeId id, PrecisionCategory role, std::uint32_t detail) {
    Set(id, {role, {ReasonKind::kUser, Reason::kNone, detail}, 0});
    result_.named[id] = true;
  }

  bool NamesNodes() const {
    return !options_.excluded.empty() || !options_.force.empty() || !options_.categories.empty();
  }

  bool IsListedFollower(NodeId id) const {
    return options_.policy == PrecisionPolicy::kMXNet && result_.reasons[id].kind == ReasonKind::kListed &&
           options_.followers.contains(graph_.node(id).name());
  }

  // Under policies that convert bodies they decide what their node reads and writes, but for what the call says.
  bool LetsBodiesDecide(NodeId id) const {
    return options_.policy != PrecisionPolicy::kMXNet && HasBodies(graph_.node(id)) &&
           result_.reasons[id].kind != ReasonKind::kUser;
  }

  // What follows its neighbours, under policies of facts. In a graph with gradients every rounding counts twice, there
  // and back: one that is made anyway, for a product, may move, and others are not made. A batch norm is left to
  // follow, because its memory traffic is what training is slow by, and its statistics are float32 whatever it reads.
  bool IsKeptInTraining(NodeId id) const {
    if (!options_.training || result_.roles[id] != PrecisionCategory::kNeutral) return false;
    if (options_.policy != PrecisionPolicy::kDefault && options_.policy != PrecisionPolicy::kOptimal) return false;
    const Node& node = graph_.node(id);
    return !CommutesWithRounding(node, options_.target, true) && node.op()->Find<BatchNormFact>() == nullptr;
  }

  // Casts come before MXNet's lists (rule 1 of its pass). Those of the program stay as they are; an amp_multicast of a
  // conversion is what its name says: low where all inputs are, or, to the narrowest dtype, where one is.
  void ChooseCasts() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable() || result_.reasons[id].kind == ReasonKind::kUser) continue;
      if (FactsOf(node).arithmetic != Arithmetic::kCasts) continue;
      Set(id, {RoleOfCast(node), {ReasonKind::kCasts}, 0});
    }
  }

  // Casts aside: their dtype is their purpose.
  void KeepWhatExceedsLimits() {
    std::map<std::string, std::uint32_t> details;
    for (const auto& [name, how] : *options_.over_limit) details[name] = Detail(how);
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable() || FactsOf(node).arithmetic == Arithmetic::kCasts || result_.named[id]) continue;
      const auto found = details.find(node.name());
      if (found == details.end()) continue;
      Set(id, {PrecisionCategory::kKeep, {ReasonKind::kOverLimit, Reason::kNone, found->second}, 0});
    }
  }

  PrecisionCategory RoleOfCast(const Node& node) const {
    if (IsCastOfProgram(node)) return PrecisionCategory::kKeep;
    if (node.op_name() != "amp_multicast") return PrecisionCategory::kCast;
    if (options_.policy == PrecisionPolicy::kGraphAmp) return PrecisionCategory::kKeep;
    return node.Attr<bool>("cast_narrow") ? PrecisionCategory::kNeutral : PrecisionCategory::kWidest;
  }

  // The operator nodes of this name; otherwise those that the pattern describes.
  std::vector<NodeId> Matches(const std::string& pattern, const char* what) {
    std::vector<NodeId> ids;
    const auto [first, last] = ids_by_name_.equal_range(pattern);
    for (auto it = first; it != last; ++it) ids.push_back(it->second);
    if (ids.empty()) {
      for (const auto& [name, id] : ids_by_name_) {
        if (MatchesGlob(pattern, name)) ids.push_back(id);
      }
    }
    if (!ids.empty()) return ids;
    if (options_.ignore_unknown_names) {
      result_.unknown_names.push_back(pattern);
    } else {
      problems_.Add(fmt::format("{}: the model has no operator node '{}'{}", what, Quotable(pattern),
                                NearMatches(pattern, NodeNames())));
    }
    return {};
  }

  std::vector<std::string> NodeNames() const {
    std::vector<std::string> names;
    for (const auto& [name, id] : ids_by_name_) names.push_back(name);
    return names;
  }

  void Exclude(const std::string& name) {
    const std::vector<NodeId> ids = Matches(name, "excluded_sym_names");
    if (ids.empty()) return;
    const std::uint32_t detail = Detail(fmt::format("excluded by '{}'", name));
    for (const NodeId id : ids) SetNamed(id, PrecisionCategory::kKeep, detail);
  }

  void Force(const std::string& name, DType dtype) {
    if (dtype != options_.target && dtype != DType::kFloat32) {
      problems_.Add(fmt::format("force: expected '{}' to be {} or float32, got {}", Quotable(name),
                                NameOf(options_.target), NameOf(dtype)));
      return;
    }
    const PrecisionCategory role = dtype == DType::kFloat32 ? PrecisionCategory::kKeep : PrecisionCategory::kLow;
    const std::uint32_t detail = Detail(fmt::format("forced to {} by '{}'", NameOf(dtype), name));
    for (const NodeId id : Matches(name, "force")) {
      const auto [place, is_new] = forced_.emplace(id, dtype);
      if (!is_new && place->second != dtype) {
        problems_.Add(fmt::format("force: '{}' is forced both to {} and to {}", graph_.node(id).name(),
                                  NameOf(place->second), NameOf(dtype)));
      }
      SetNamed(id, role, detail);
      result_.forced[id] = role == PrecisionCategory::kLow;
      if (role == PrecisionCategory::kLow && graph_.node(id).name() == name) result_.forced_low.push_back(id);
    }
  }

  void Categorize(const std::string& name, GraphAmpCategory category) {
    const std::uint32_t detail = Detail(fmt::format("put into category {} by '{}'", NameOf(category), name));
    for (const NodeId id : Matches(name, "categories")) {
      const std::string& node = graph_.node(id).name();
      if (forced_.contains(id)) problems_.Add(fmt::format("'{}' is both in force and in categories", Quotable(node)));
      const auto [place, is_new] = categories_.emplace(id, category);
      if (!is_new && place->second != category) {
        problems_.Add(
            fmt::format("categories: '{}' is both {} and {}", Quotable(node), NameOf(place->second), NameOf(category)));
      }
      SetNamed(id, RoleOf(category), detail);
    }
  }

  void CheckTraining() {
    if (!options_.training) return;
    if (options_.cast_params_offline) {
      problems_.Add("cast_params_offline: the parameters of a model for training stay float32");
    }
    if (options_.fold_batch_norm.value_or(false)) {
      problems_.Add("fold_batch_norm: a model for training keeps its batch norms");
    }
  }

  void CheckPolicy() {
    for (const auto& [name, dtype] : options_.output_dtypes) {
      if (!IsOff(options_) || dtype == DType::kFloat32) continue;
      problems_.Add(fmt::format("output_dtypes: '{}' cannot be {}: preset mp0 changes nothing", name, NameOf(dtype)));
    }
    const bool is_optimal = options_.policy == PrecisionPolicy::kOptimal;
    if (options_.minimize && !is_optimal) {
      problems_.Add(fmt::format("minimize: expected policy 'optimal', got '{}'", NameOf(options_.policy)));
    }
    if (options_.accuracy && !is_optimal && options_.policy != PrecisionPolicy::kDefault) {
      problems_.Add(fmt::format("accuracy: expected policy 'default' or 'optimal', got '{}'", NameOf(options_.policy)));
    }
    if (options_.policy == PrecisionPolicy::kGraphAmp) return;
    const auto refuse = [this](const char* what) {
      problems_.Add(fmt::format("{}: of policy graphamp, not of {}", what, NameOf(options_.policy)));
    };
    if (options_.preset) refuse("preset");
    if (!options_.categories.empty()) refuse("categories");
  }

  void CheckOutputs() {
    if (options_.output_dtypes.empty()) return;
    const std::vector<std::string> names = OutputNames(graph_.outputs());
    for (const auto& [name, dtype] : options_.output_dtypes) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        problems_.Add(
            fmt::format("output_dtypes: the model has no output '{}'{}", Quotable(name), NearMatches(name, names)));
      } else if (!IsFloat(dtype) || dtype == DType::kFloat64) {
        problems_.Add(fmt::format("output_dtypes: expected '{}' to be float32, float16 or bfloat16, got {}", name,
                                  NameOf(dtype)));
      }
    }
  }

  const Graph& graph_;
  const ConvertOptions& options_;
  PrecisionChoices result_;
  Problems& problems_;
  OpChoices ops_;
  std::multimap<std::string, NodeId> ids_by_name_;
  std::map<NodeId, DType> forced_;
  std::map<NodeId, GraphAmpCategory> categories_;
};

}  // namespace

bool IsOff(const ConvertOptions& options) {
  return options.policy == PrecisionPolicy::kGraphAmp && (options.preset ? *options.preset : DefaultPreset()).IsOff();
}

bool MatchesGlob(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

long OptConstraints(const Node& node) {
  long bits = 0;
  if (const std::string* text = node.FindAttr(kOptConstraintAttr)) {
    char* end = nullptr;
    const long value = std::strtol(text->c_str(), &end, 10);
    if (end != text->c_str() && *end == '\0') bits = value;
  }
  if (HasBodies(node)) return bits;
  for (const std::vector<NodeEntry>& outputs : node.subgraphs()) {
    const Graph body(outputs);
    for (const NodePtr& inner : body.nodes()) bits |= OptConstraints(*inner);
  }
  return bits;
}

bool IsAmpDisabled(const Node& node) { return (OptConstraints(node) & kDisableAmpBit) != 0; }

PrecisionPolicy PolicyFromName(const std::string& name) {
  if (name == "default") return PrecisionPolicy::kDefault;
  if (name == "mxnet") return PrecisionPolicy::kMXNet;
  if (name == "graphamp") return PrecisionPolicy::kGraphAmp;
  if (name == "optimal") return PrecisionPolicy::kOptimal;
  Throw<ArgumentError>("policy: expected 'default', 'mxnet', 'graphamp' or 'optimal', got '{}'", Quotable(name));
}

const char* NameOf(PrecisionPolicy policy) {
  switch (policy) {
    case PrecisionPolicy::kMXNet:
      return "mxnet";
    case PrecisionPolicy::kGraphAmp:
      return "graphamp";
    case PrecisionPolicy::kOptimal:
      return "optimal";
    case PrecisionPolicy::kDefault:
      break;
  }
  return "default";
}

Minimize MinimizeFromName(const std::string& name) {
  if (name == "time") return Minimize::kTime;
  if (name == "casts") return Minimize::kCasts;
  Throw<ArgumentError>("minimize: expected 'time' or 'casts', got '{}'", Quotable(name));
}

PrecisionChoices ChoosePrecision(const Graph& graph, const ConvertOptions& options, Problems* problems) {
  return RoleChooser(graph, options, problems).Run();
}

PrecisionChoices ChoosePrecision(const Graph& graph, const ConvertOptions& options) {
  Problems problems;
  PrecisionChoices choices = ChoosePrecision(graph, options, &problems);
  problems.ThrowIfAny();
  return choices;
}

}  // namespace amp
