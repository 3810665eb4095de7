// The nodes of a symbol graph. A node is immutable once made and cannot exist ill-formed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nnvm/error.h"
#include "nnvm/op.h"

namespace amp {

class Node;
using NodePtr = std::shared_ptr<const Node>;

// One output of one node.
struct NodeEntry {
  NodePtr node;
  std::uint32_t index = 0;

  bool operator==(const NodeEntry&) const = default;
};

enum class Phase : std::uint8_t { kForward, kBackward };
// In files: "1" on nodes of the backward phase.
inline constexpr const char* kBackwardAttr = "__backward__";

class Node {
  struct Passkey {};

 public:
  struct Spec {
    const Op* op = nullptr;
    std::string name;
    AttrMap attrs;  // raw text, kept for files; hidden keys included
    std::vector<NodeEntry> inputs;
    std::vector<NodePtr> control_deps;
    Phase phase = Phase::kForward;
    Subgraphs subgraphs = {};
  };

  // Parses the parameters and checks the inputs; throws GraphError that names the node.
  static NodePtr Make(Spec spec);
  static NodePtr Variable(std::string name, AttrMap attrs = {});

  // A copy of the node that reads other entries (as many as before).
  NodePtr WithInputs(std::vector<NodeEntry> inputs, std::vector<NodePtr> control_deps) const;
  NodePtr WithAttrs(AttrMap attrs) const;

  // `attrs` are the node's, whatever `spec` says.
  Node(Passkey, Spec spec, std::shared_ptr<const AttrMap> attrs, ParamPtr params);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool is_variable() const { return op_ == nullptr; }
  const Op* op() const { return op_; }  // nullptr for a variable
  const std::string& op_name() const;   // "null" for a variable
  const std::string& name() const { return name_; }
  const AttrMap& attrs() const { return *attrs_; }
  const std::vector<NodeEntry>& inputs() const { return inputs_; }
  const std::vector<NodePtr>& control_deps() const { return control_deps_; }
  Phase phase() const { return phase_; }
  const Subgraphs& subgraphs() const { return subgraphs_; }

  // The text of an attribute that was given, or nullptr.
  const std::string* FindAttr(const std::string& key) const;
  // The value of an operator's attribute; where it was not given, the schema's default. Throws InternalError where the
  // schema has no such field or its text is no T.
  template <class T>
  T Attr(const std::string& key) const {
    T value{};
    if (!ParseAttr(AttrText(key), &value)) FailAttr(key);
    return value;
  }
  // Whether this is the operator of that name; false for a variable.
  bool IsOp(std::string_view op_name) const { return op_ != nullptr && op_->name == op_name; }

  // The definition's parameter struct. P must be the type that the operator definition registered.
  template <class P>
  const P& params() const {
    return *static_cast<const P*>(params_.get());
  }

  bool IsMutable(std::size_t slot) const { return op_ && op_->is_mutable(params_.get(), slot); }
  int num_outputs() const { return num_outputs_; }  // hidden ones included
  int num_visible_outputs() const;
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

  // "Convolution 'stage1_conv0'", the beginning of every message about this node.
  std::string Describe() const;

 private:
  const std::string& AttrText(const std::string& key) const;
  [[noreturn]] void FailAttr(const std::string& key) const;
  void Unlink(std::vector<NodePtr>* unlinked);

  const Op* op_;
  std::string name_;
  std::shared_ptr<const AttrMap> attrs_;  // shared by all nodes that WithInputs made of one
  ParamPtr params_;                       // likewise
  std::vector<NodeEntry> inputs_;
  std::vector<NodePtr> control_deps_;
  Subgraphs subgraphs_;
  int num_outputs_ = 1;
  Phase phase_;
};

// All outputs of a node, hidden ones included.
std::vector<NodeEntry> AllOutputs(const NodePtr& node);

// Attributes like "__shape__", which belong to the graph and not to the operator, go on to what takes a node's place.
void CopyHiddenAttrs(const Node& from, AttrMap* to);

// A cast in front of an output of the graph carries that output's own name in this attribute.
inline constexpr const char* kOutputNameAttr = "__output_name__";

// "<node>_<output>" for an operator's output (unless kOutputNameAttr names it), the plain name for a variable.
std::string OutputName(const NodeEntry& entry);
// OutputName of many entries, in linear time even where one node has thousands of them.
std::vector<std::string> OutputNames(const std::vector<NodeEntry>& entries);

// Throws GraphError whose text begins with the node's description.
[[noreturn]] void FailWithText(const Node& node, const std::string& text);

template <class... Args>
[[noreturn]] void FailAt(const Node& node, fmt::format_string<Args...> format, Args&&... args) {
  FailWithText(node, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace amp
