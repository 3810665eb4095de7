#include "nnvm/node.h"

#include <unordered_map>
#include <utility>

namespace amp {
namespace {

std::string DescribeNode(const Op* op, const std::string& name) {
  return fmt::format("{} '{}'", op ? op->name : "variable", Quotable(name));
}
std::string DescribeSpec(const Node::Spec& spec) { return DescribeNode(spec.op, spec.name); }

std::shared_ptr<const AttrMap> SharedAttrs(AttrMap attrs) {
  static const auto none = std::make_shared<const AttrMap>();
  return attrs.empty() ? none : std::make_shared<const AttrMap>(std::move(attrs));
}

void BindSubgraphs(const Node::Spec& spec, void* params) {
  if (spec.op->bind_subgraphs) {
    spec.op->bind_subgraphs(params, spec.subgraphs);
  } else if (!spec.subgraphs.empty()) {
    Throw<GraphError>("expected no subgraphs, got {}", spec.subgraphs.size());
  }
}

ParamPtr ParseOpParams(const Node::Spec& spec) {
  try {
    std::shared_ptr<void> params = spec.op->parse(spec.attrs);
    BindSubgraphs(spec, params.get());
    return params;
  } catch (const GraphError& error) {
    throw GraphError(DescribeSpec(spec) + ": " + error.what());
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(DescribeSpec(spec) + ": " + error.what());
  }
}

void CheckInputs(const Node::Spec& spec, const void* params) {
  const std::vector<std::string> names = spec.op->input_names(params);
  if (names.size() != spec.inputs.size()) {
    Throw<GraphError>("{}: expected {} inputs ({}), got {}", DescribeSpec(spec), names.size(), JoinSome(names),
                      spec.inputs.size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const NodeEntry& entry = spec.inputs[i];
    if (!entry.node) Throw<GraphError>("{}: input {} is missing", DescribeSpec(spec), names[i]);
    if (entry.index >= static_cast<std::uint32_t>(entry.node->num_outputs())) {
      Throw<GraphError>("{}: input {} reads output {} of {}, which has {}", DescribeSpec(spec), names[i], entry.index,
                        entry.node->Describe(), entry.node->num_outputs());
    }
    if (spec.op->is_mutable(params, i) && !entry.node->is_variable()) {
      Throw<GraphError>("{}: input {} is an auxiliary state and must be a variable, got the output of {}",
                        DescribeSpec(spec), names[i], entry.node->Describe());
    }
    if (spec.phase == Phase::kForward && entry.node->phase() == Phase::kBackward) {
      Throw<GraphError>("{}: a forward node cannot read {} of the backward phase", DescribeSpec(spec),
                        entry.node->Describe());
    }
  }
}

// What a node is made to depend on: its inputs and control dependencies.
void CheckLinks(const Node::Spec& spec, const void* params) {
  if (spec.op) {
    CheckInputs(spec, params);
  } else if (!spec.inputs.empty() || !spec.control_deps.empty()) {
    Throw<GraphError>("{}: a variable depends on nothing, got {} inputs and {} control dependencies",
                      DescribeSpec(spec), spec.inputs.size(), spec.control_deps.size());
  } else if (!spec.subgraphs.empty()) {
    Throw<GraphError>("{}: a variable has no subgraphs, got {}", DescribeSpec(spec), spec.subgraphs.size());
  }
  for (const NodePtr& dep : spec.control_deps) {
    if (!dep) Throw<GraphError>("{}: a control dependency is missing", DescribeSpec(spec));
  }
}

}  // namespace

NodePtr Node::Make(Spec spec) {
  if (spec.op && spec.op->implied_subgraphs && spec.subgraphs.empty()) {
    spec.subgraphs = spec.op->implied_subgraphs(spec.attrs);
  }
  ParamPtr params = spec.op ? ParseOpParams(spec) : nullptr;
  CheckLinks(spec, params.get());
  std::shared_ptr<const AttrMap> attrs = SharedAttrs(std::move(spec.attrs));
  return std::make_shared<Node>(Passkey(), std::move(spec), std::move(attrs), std::move(params));
}

NodePtr Node::Variable(std::string name, AttrMap attrs) {
  return std::make_shared<Node>(Passkey(), Spec{nullptr, std::move(name), {}, {}, {}}, SharedAttrs(std::move(attrs)),
                                nullptr);
}

NodePtr Node::WithInputs(std::vector<NodeEntry> inputs, std::vector<NodePtr> control_deps) const {
  Spec spec{op_, name_, {}, std::move(inputs), std::move(control_deps), phase_, subgraphs_};
  CheckLinks(spec, params_.get());
  return std::make_shared<Node>(Passkey(), std::move(spec), attrs_, params_);
}

NodePtr Node::WithAttrs(AttrMap attrs) const {
  return Make({op_, name_, std::move(attrs), inputs_, control_deps_, phase_, subgraphs_});
}

Node::Node(Passkey, Spec spec, std::shared_ptr<const AttrMap> attrs, ParamPtr params)
    : op_(spec.op),
      name_(std::move(spec.name)),
      attrs_(std::move(attrs)),
      params_(std::move(params)),
      inputs_(std::move(spec.inputs)),
      control_deps_(std::move(spec.control_deps)),
      subgraphs_(std::move(spec.subgraphs)),
      phase_(spec.phase) {
  if (op_) num_outputs_ = static_cast<int>(op_->output_names(params_.get()).size());
}

// Lets go of a chain of any length without recursion: whatever only this node keeps alive is unlinked before it dies.
Node::~Node() {
  std::vector<NodePtr> doomed;
  Unlink(&doomed);
  while (!doomed.empty()) {
    NodePtr node = std::move(doomed.back());
    doomed.pop_back();
    if (node && node.use_count() == 1) const_cast<Node&>(*node).Unlink(&doomed);
  }
}

void Node::Unlink(std::vector<NodePtr>* unlinked) {
  for (NodeEntry& entry : inputs_) unlinked->push_back(std::move(entry.node));
  for (NodePtr& node : control_deps_) unlinked->push_back(std::move(node));
  for (std::vector<NodeEntry>& subgraph : subgraphs_) {
    for (NodeEntry& entry : subgraph) unlinked->push_back(std::move(entry.node));
  }
  inputs_.clear();
  control_deps_.clear();
  subgraphs_.clear();
}

const std::string& Node::op_name() const {
  static const std::string null = "null";
  return op_ ? op_->name : null;
}

const std::string* Node::FindAttr(const std::string& key) const {
  const auto found = attrs_->find(key);
  return found == attrs_->end() ? nullptr : &found->second;
}

const std::string& Node::AttrText(const std::string& key) const {
  if (const std::string* given = FindAttr(key)) return *given;
  if (op_ == nullptr) FailAttr(key);
  for (const FieldInfo& field : op_->fields) {
    if (field.name == key && field.default_text) return *field.default_text;
  }
  FailAttr(key);
}

void Node::FailAttr(const std::string& key) const {
  Throw<InternalError>("{}: attribute {} was asked for under another name or type than its schema's", Describe(), key);
}

int Node::num_visible_outputs() const { return op_ ? op_->num_visible_outputs(params_.get()) : 1; }

std::vector<std::string> Node::input_names() const {
  return op_ ? op_->input_names(params_.get()) : std::vector<std::string>();
}

std::vector<std::string> Node::output_names() const {
  return op_ ? op_->output_names(params_.get()) : std::vector<std::string>{"output"};
}

std::string Node::Describe() const { return DescribeNode(op_, name_); }

std::string OutputName(const NodeEntry& entry) { return OutputNames({entry})[0]; }

std::vector<std::string> OutputNames(const std::vector<NodeEntry>& entries) {
  std::unordered_map<const Node*, std::vector<std::string>> suffixes;  // asked for once a node
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const NodeEntry& entry : entries) {
    const Node& node = *entry.node;
    const std::string* given = node.is_variable() ? &node.name() : nullptr;
    const bool is_only = !node.is_variable() && entry.index == 0 && node.num_visible_outputs() == 1;
    if (is_only) given = node.FindAttr(kOutputNameAttr);
    if (given != nullptr) {
      names.push_back(*given);
      continue;
    }
    std::vector<std::string>& of_node = suffixes[&node];
    if (of_node.empty()) of_node = node.output_names();
    names.push_back(node.name() + "_" + of_node[entry.index]);
  }
  return names;
}

std::vector<NodeEntry> AllOutputs(const NodePtr& node) {
  std::vector<NodeEntry> entries;
  for (int i = 0; i < node->num_outputs(); ++i) entries.push_back({node, static_cast<std::uint32_t>(i)});
  return entries;
}

void CopyHiddenAttrs(const Node& from, AttrMap* to) {
  for (const auto& [key, value] : from.attrs()) {
    if (IsHiddenKey(key)) (*to)[key] = value;
  }
}

void FailWithText(const Node& node, const std::string& text) { throw GraphError(node.Describe() + ": " + text); }

}  // namespace amp
