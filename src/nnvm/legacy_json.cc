#include "nnvm/legacy_json.h"

#include <algorithm>
#include <optional>

#include "nnvm/op.h"

namespace amp {
namespace {

constexpr const char* kHiddenKeys[] = {"ctx_group",       "lr_mult",      "wd_mult",
                                       "force_mirroring", "mirror_stage", "profiler_scope"};

const Op* FindOp(const RawNode& node) {
  return node.op == "null" ? nullptr : OpRegistry::Get().Find(kMXNetDomain, node.op);
}

bool IsParameter(const Op* op, const std::string& key) {
  return op != nullptr &&
         std::any_of(op->fields.begin(), op->fields.end(), [&](const FieldInfo& field) { return field.name == key; });
}

// Names of the node's inputs; empty where its parameters do not parse (building the node reports that).
std::vector<std::string> KnownInputNames(const Op& op, const AttrMap& attrs) {
  try {
    return op.input_names(op.parse(attrs).get());
  } catch (const Error&) {
    return {};
  }
}

// "weight" for the key "weight_lr_mult".
std::optional<std::string> InputOfKey(const std::string& key, const std::string& hidden) {
  const std::string suffix = "_" + hidden;
  if (key.size() <= suffix.size() || !key.ends_with(suffix)) return std::nullopt;
  return key.substr(0, key.size() - suffix.size());
}

void HideKeys(std::size_t id, std::vector<RawNode>* nodes) {
  RawNode& node = (*nodes)[id];
  const Op* op = FindOp(node);
  AttrMap kept;
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> moved;  // input -> (hidden key, value)
  for (auto& [key, value] : node.attrs) {
    std::string target = key;
    for (const char* hidden : kHiddenKeys) {
      if (IsHiddenKey(key) || IsParameter(op, key)) break;
      if (key == hidden) target = "__" + key + "__";
      const auto input = InputOfKey(key, hidden);
      if (op != nullptr && input) moved.push_back({*input, {std::string("__") + hidden + "__", value}});
      if (op != nullptr && input) target.clear();
    }
    if (!target.empty()) kept.emplace(target, value);
  }
  node.attrs = std::move(kept);
  if (moved.empty()) return;
  const std::vector<std::string> names = KnownInputNames(*op, node.attrs);
  for (const auto& [input, attr] : moved) {
    const auto slot = static_cast<std::size_t>(std::find(names.begin(), names.end(), input) - names.begin());
    if (slot >= names.size() || slot >= node.inputs.size()) continue;
    RawNode& source = (*nodes)[node.inputs[slot].first];
    if (source.op == "null") source.attrs.emplace(attr);
  }
}

// Skips operators whose inputs an attribute counts: a file left out none, and that count must not make many nodes.
void AppendMissingVariables(std::size_t id, std::vector<RawNode>* nodes) {
  const Op* op = FindOp((*nodes)[id]);
  if (op == nullptr || !op->variadic_attr.empty()) return;
  const std::vector<std::string> names = KnownInputNames(*op, (*nodes)[id].attrs);
  for (std::size_t slot = (*nodes)[id].inputs.size(); slot < names.size(); ++slot) {
    (*nodes)[id].inputs.emplace_back(nodes->size(), 0);
    nodes->push_back({"null", (*nodes)[id].name + "_" + names[slot], (*nodes)[id].attrs, {}, {}});
  }
}

void DropDefaultAxis(RawNode* node) {
  if (node->op != "argmax" && node->op != "argmin") return;
  const auto axis = node->attrs.find("axis");
  if (axis != node->attrs.end() && axis->second == "-1") node->attrs.erase(axis);
}

}  // namespace

void UpgradeLegacyNodes(int version, std::vector<RawNode>* nodes) {
  const std::size_t num_nodes = nodes->size();
  for (std::size_t id = 0; id < num_nodes; ++id) HideKeys(id, nodes);
  for (std::size_t id = 0; id < num_nodes && version < 900; ++id) AppendMissingVariables(id, nodes);
  for (std::size_t id = 0; id < num_nodes && version < 905; ++id) DropDefaultAxis(&(*nodes)[id]);
}

}  // namespace amp
