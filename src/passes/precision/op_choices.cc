#include "passes/precision/op_choices.h"

#include <algorithm>

#include "passes/op_facts.h"
#include "passes/precision/operator_names.h"

namespace amp {

PrecisionCategory RoleOf(GraphAmpCategory category) {
  switch (category) {
    case GraphAmpCategory::kAllow:
      return PrecisionCategory::kLow;
    case GraphAmpCategory::kInfer:
      return PrecisionCategory::kNeutral;
    case GraphAmpCategory::kDeny:
      break;
  }
  return PrecisionCategory::kKeep;
}

OpChoices::OpChoices(const ConvertOptions& options, std::vector<std::string>* details, Problems* problems)
    : options_(options), details_(details), problems_(problems) {
  if (options.policy == PrecisionPolicy::kMXNet) AddPublished();
  if (options.policy == PrecisionPolicy::kGraphAmp) AddPreset();
  AddLists();
  conditional_ = Conditional();
  for (const ConditionalOp& entry : conditional_) conditional_ops_.push_back(FindOp(entry.op));
}

OpChoice OpChoices::Of(const Node& node) {
  const auto found = by_op_.find(node.op());
  const bool from_call = found != by_op_.end() && found->second.strength > 0;
  if (!from_call) {
    if (const ConditionalOp* entry = MatchingCondition(node)) return Kept(*entry);
  }
  if (found != by_op_.end()) return found->second;
  if (preset_) return OfCategory(node);
  return by_op_[node.op()] = FromFacts(*node.op());
}

std::uint32_t OpChoices::Detail(std::string text) {
  details_->push_back(std::move(text));
  return static_cast<std::uint32_t>(details_->size() - 1);
}

PrecisionCategory OpChoices::RoleOfList(ListRole role) {
  switch (role) {
    case ListRole::kTarget:
      return PrecisionCategory::kLow;
    case ListRole::kFloat32:
      return PrecisionCategory::kKeep;
    case ListRole::kWidest:
      return PrecisionCategory::kWidest;
    case ListRole::kNeutral:
      break;
  }
  return PrecisionCategory::kNeutral;
}

bool OpChoices::IsReplaced(ListRole role) const {
  return (role == ListRole::kTarget && options_.target_ops) || (role == ListRole::kFloat32 && options_.float32_ops) ||
         (role == ListRole::kWidest && options_.widest_ops);
}

void OpChoices::AddPublished() {
  for (const auto& [op, role] : MXNetLists(options_.target).roles) {
    if (IsReplaced(role) || role == ListRole::kNeutral) continue;
    const std::string text = fmt::format("{} is in MXNet's {} for {}", op->name, NameOf(role), NameOf(options_.target));
    by_op_[op] = {RoleOfList(role), {ReasonKind::kListed, Reason::kNone, Detail(text)}, 0};
  }
}

void OpChoices::AddPreset() {
  std::vector<std::string> problems;
  preset_.emplace(options_.preset ? *options_.preset : DefaultPreset(), options_.target, options_.training, &problems);
  for (std::string& problem : problems) problems_->Add(std::move(problem));
  if (options_.widest_ops) {
    problems_->Add("widest_dtype_ops: policy graphamp has the categories allow, infer and deny alone");
  }
}

OpChoice OpChoices::OfCategory(const Node& node) {
  const GraphAmpCategory category = preset_->Of(node);
  const auto [place, is_new] = category_details_.emplace(std::make_pair(node.op(), category), 0);
  if (is_new) {
    place->second =
        Detail(fmt::format("{} is in category {} of preset {}", node.op_name(), NameOf(category), preset_->name()));
  }
  return {RoleOf(category), {ReasonKind::kListed, Reason::kNone, place->second}, 0};
}

void OpChoices::AddLists() {
  AddList(options_.target_ops, ListRole::kTarget);
  AddList(options_.float32_ops, ListRole::kFloat32);
  AddList(options_.widest_ops, ListRole::kWidest);
  AddList(options_.neutral_ops, ListRole::kNeutral);
}

void OpChoices::AddList(const List& list, ListRole role) {
  if (!list) return;
  for (const std::string& name : *list) {
    const Op* op = FindOp(name);
    if (op == nullptr) {
      problems_->Add(fmt::format("{}: there is no operator '{}'{}", NameOf(role), Quotable(name),
                                 NearMatches(name, OperatorNames())));
      continue;
    }
    const auto [place, is_new] = listed_.emplace(op, role);
    if (!is_new && place->second != role) {
      problems_->Add(fmt::format("{} is both in {} and in {}", op->name, NameOf(place->second), NameOf(role)));
    }
    by_op_[op] = {RoleOfList(role), role == ListRole::kNeutral ? Reason{} : InList(*op, role), 1};
  }
}

Reason OpChoices::InList(const Op& op, ListRole role) {
  return {ReasonKind::kUser, Reason::kNone, Detail(fmt::format("{} is in the call's {}", op.name, NameOf(role)))};
}

std::vector<ConditionalOp> OpChoices::Conditional() {
  if (!options_.conditional) {
    if (options_.policy != PrecisionPolicy::kMXNet) return {};
    return MXNetLists(options_.target).conditional;
  }
  for (const ConditionalOp& entry : *options_.conditional) Check(entry);
  return *options_.conditional;
}

void OpChoices::Check(const ConditionalOp& entry) {
  const Op* op = FindOp(entry.op);
  if (op == nullptr) {
    problems_->Add(fmt::format("conditional_fp32_ops: there is no operator '{}'{}", Quotable(entry.op),
                               NearMatches(entry.op, OperatorNames())));
    return;
  }
  std::vector<std::string> attrs;
  for (const FieldInfo& field : op->fields) attrs.push_back(field.name);
  if (std::find(attrs.begin(), attrs.end(), entry.attr) != attrs.end()) return;
  problems_->Add(fmt::format("conditional_fp32_ops: {} has no attribute '{}'{}", op->name, Quotable(entry.attr),
                             NearMatches(entry.attr, attrs)));
}

const ConditionalOp* OpChoices::MatchingCondition(const Node& node) const {
  for (std::size_t i = 0; i < conditional_.size(); ++i) {
    if (conditional_ops_[i] != node.op()) continue;
    const ConditionalOp& entry = conditional_[i];
    const std::string* written = node.FindAttr(entry.attr);
    std::optional<std::string> value;
    if (written != nullptr) value = *written;
    for (const FieldInfo& field : node.op()->fields) {
      if (!value && field.name == entry.attr) value = field.default_text;
    }
    if (value && std::find(entry.values.begin(), entry.values.end(), *value) != entry.values.end()) return &entry;
  }
  return nullptr;
}

OpChoice OpChoices::Kept(const ConditionalOp& entry) {
  const std::string text = fmt::format("conditional_fp32_ops keeps {} with such a value of {}", entry.op, entry.attr);
  const auto kind = options_.conditional ? ReasonKind::kUser : ReasonKind::kListed;
  const auto [place, is_new] = condition_details_.emplace(&entry, 0);
  if (is_new) place->second = Detail(text);
  const bool widens = options_.conditional && options_.policy == PrecisionPolicy::kMXNet;
  return {PrecisionCategory::kKeep, {kind, Reason::kNone, place->second}, 0, widens};
}

OpChoice OpChoices::FromFacts(const Op& op) const {
  const auto* facts = op.Find<AmpFacts>();
  if (options_.policy == PrecisionPolicy::kMXNet || facts == nullptr) return {};
  if (facts->arithmetic == Arithmetic::kAccumulates) return {PrecisionCategory::kLow, {ReasonKind::kAccumulates}, 0};
  if (facts->arithmetic == Arithmetic::kNeedsFloat32) return {PrecisionCategory::kKeep, {ReasonKind::kNeedsFloat32}, 0};
  return {};
}

}  // namespace amp
