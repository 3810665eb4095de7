#include "nnvm/symbol.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "nnvm/phase.h"
#include "nnvm/rewriter.h"

namespace amp {
namespace {

NodeEntry SingleOutput(const Symbol& symbol, std::string_view op_name) {
  if (symbol.outputs().size() != 1) {
    Throw<ArgumentError>("{}: an input must have one output, got a symbol with {}", op_name, symbol.outputs().size());
  }
  return symbol.outputs()[0];
}

bool AnyNpShape(const std::vector<Symbol>& symbols) {
  return std::any_of(symbols.begin(), symbols.end(), [](const Symbol& symbol) { return symbol.np_shape(); });
}

std::vector<Symbol> Values(const std::map<std::string, Symbol>& symbols) {
  std::vector<Symbol> values;
  for (const auto& [name, symbol] : symbols) values.push_back(symbol);
  return values;
}

// Whether the attribute that counts inputs does not do so here (UpSampling has data and a weight, or num_args inputs).
bool HasOtherInputs(const Op& op, const AttrMap& attrs, std::int64_t declared) {
  try {
    return static_cast<std::int64_t>(op.input_names(op.parse(attrs).get()).size()) != declared;
  } catch (const Error&) {
    return false;
  }
}

std::vector<NodeEntry> Positional(const Op& op, const std::vector<Symbol>& symbols) {
  std::vector<NodeEntry> entries;
  if (!op.variadic_attr.empty() && symbols.size() == 1) return symbols[0].outputs();
  for (const Symbol& symbol : symbols) entries.push_back(SingleOutput(symbol, op.name));
  return entries;
}

std::vector<std::string> InputNames(const Op& op, const std::string& name, const AttrMap& attrs) {
  try {
    return op.input_names(op.parse(attrs).get());
  } catch (const GraphError& error) {
    Throw<GraphError>("{} '{}': {}", op.name, Quotable(name), error.what());
  } catch (const UnsupportedError& error) {
    Throw<UnsupportedError>("{} '{}': {}", op.name, Quotable(name), error.what());
  }
}

// A variable that a user did not pass has the operator's attributes, as in MXNet: __lr_mult__ and the like count for
// it.
std::vector<NodeEntry> Complete(const Op& op, const std::string& name, const AttrMap& attrs,
                                const std::vector<std::string>& input_names, std::vector<NodeEntry> entries,
                                const std::map<std::string, Symbol>& by_name) {
  if (entries.size() > input_names.size()) {
    Throw<ArgumentError>("{} '{}': expected at most {} inputs ({}), got {}", op.name, name, input_names.size(),
                         JoinSome(input_names), entries.size());
  }
  for (const auto& [key, symbol] : by_name) {
    const auto slot = std::find(input_names.begin(), input_names.end(), key) - input_names.begin();
    if (slot == static_cast<std::ptrdiff_t>(input_names.size())) {
      Throw<ArgumentError>("{} '{}': has no input '{}'{}", op.name, name, key, NearMatches(key, input_names));
    }
    if (slot < static_cast<std::ptrdiff_t>(entries.size()) && entries[slot].node) {
      Throw<ArgumentError>("{} '{}': input {} is given twice", op.name, name, key);
    }
    if (slot >= static_cast<std::ptrdiff_t>(entries.size())) entries.resize(slot + 1);
    entries[slot] = SingleOutput(symbol, op.name);
  }
  entries.resize(input_names.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].node) entries[i] = {Node::Variable(name + "_" + input_names[i], attrs), 0};
  }
  return entries;
}

}  // namespace

Symbol Symbol::Variable(std::string name, AttrMap attrs) {
  if (name.empty()) throw ArgumentError("a variable needs a name");
  return Symbol({{Node::Variable(std::move(name), std::move(attrs)), 0}});
}

Symbol Symbol::Group(const std::vector<Symbol>& symbols) {
  std::vector<NodeEntry> outputs;
  for (const Symbol& symbol : symbols) {
    outputs.insert(outputs.end(), symbol.outputs_.begin(), symbol.outputs_.end());
  }
  if (outputs.empty()) throw ArgumentError("a group needs at least one symbol");
  return Symbol(std::move(outputs), AnyNpShape(symbols));
}

namespace {

// A call means what it says; files may hold more (see FieldTable::Read).
void RequireKnownAttrs(const Op& op, const std::string& name, const AttrMap& attrs) {
  if (!op.fields.empty() || op.takes_any_attributes) return;  // its own parser refuses
  try {
    RefuseUnknownAttrs(op.fields, attrs);
  } catch (const GraphError& error) {
    Throw<GraphError>("{} '{}': {}", op.name, Quotable(name), error.what());
  }
}

}  // namespace

Symbol Symbol::Apply(std::string_view op_name, std::string name, AttrMap attrs, const std::vector<Symbol>& positional,
                     const std::map<std::string, Symbol>& by_name) {
  const Op& op = OpRegistry::Get().Require(kMXNetDomain, op_name);
  if (name.empty()) Throw<ArgumentError>("{}: a node needs a name", op.name);
  RequireKnownAttrs(op, name, attrs);
  std::vector<NodeEntry> entries = Positional(op, positional);
  if (!op.variadic_attr.empty()) {
    const std::size_t given = entries.size() + by_name.size();
    const auto [attr, inserted] = attrs.emplace(op.variadic_attr, std::to_string(given));
    std::int64_t declared = 0;
    const bool is_number = ParseAttr(attr->second, &declared);
    const bool differs =
        !inserted && by_name.empty() && (!is_number || declared != static_cast<std::int64_t>(entries.size()));
    const bool makes_all = is_number && declared > 0 && entries.empty();  // as variables, as of other operators
    if (differs && !makes_all && !HasOtherInputs(op, attrs, declared)) {
      Throw<ArgumentError>("{} '{}': {} is {}, but {} inputs are given", op.name, name, op.variadic_attr,
                           Quotable(attr->second), entries.size());
    }
  }
  const std::vector<std::string> input_names = InputNames(op, name, attrs);
  std::vector<NodeEntry> inputs = Complete(op, name, attrs, input_names, std::move(entries), by_name);
  const Phase phase = PhaseOfReader(inputs);
  const NodePtr node = Node::Make({&op, std::move(name), std::move(attrs), std::move(inputs), {}, phase});
  std::vector<NodeEntry> outputs;
  for (int i = 0; i < node->num_visible_outputs(); ++i) outputs.push_back({node, static_cast<std::uint32_t>(i)});
  return Symbol(std::move(outputs), AnyNpShape(positional) || AnyNpShape(Values(by_name)));
}

std::vector<std::string> Symbol::ListArguments() const {
  const Graph graph = ToGraph();
  std::vector<std::string> names;
  for (const NodeId id : graph.variables()) {
    if (!graph.IsAuxiliary(id)) names.push_back(graph.node(id).name());
  }
  return names;
}

std::vector<std::string> Symbol::ListAuxiliaryStates() const {
  const Graph graph = ToGraph();
  std::vector<std::string> names;
  for (const NodeId id : graph.variables()) {
    if (graph.IsAuxiliary(id)) names.push_back(graph.node(id).name());
  }
  return names;
}

std::vector<std::string> Symbol::ListInputs() const {
  const Graph graph = ToGraph();
  std::vector<std::string> names;
  for (const NodeId id : graph.variables()) names.push_back(graph.node(id).name());
  return names;
}

std::vector<std::string> Symbol::ListOutputs() const { return OutputNames(outputs_); }

std::map<std::string, AttrMap> Symbol::AttrDict() const {
  std::map<std::string, AttrMap> dict;
  const Graph graph = ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->attrs().empty()) dict[node->name()] = node->attrs();
    if (node->phase() == Phase::kBackward) dict[node->name()][kBackwardAttr] = "1";
  }
  return dict;
}

Symbol Symbol::GetInternals() const {
  std::vector<NodeEntry> outputs;
  const Graph graph = ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    for (int i = 0; i < node->num_visible_outputs(); ++i) outputs.push_back({node, static_cast<std::uint32_t>(i)});
  }
  return Symbol(std::move(outputs), np_shape_);
}

Symbol Symbol::GetChildren() const {
  std::vector<NodeEntry> children;
  std::unordered_set<const Node*> seen;
  for (const NodeEntry& output : outputs_) {
    if (!seen.insert(output.node.get()).second) continue;
    children.insert(children.end(), output.node->inputs().begin(), output.node->inputs().end());
  }
  return Symbol(std::move(children), np_shape_);
}

Symbol Symbol::ByName(std::string_view output_name) const {
  const std::vector<std::string> names = ListOutputs();
  const auto found = std::find(names.begin(), names.end(), output_name);
  if (found == names.end()) {
    Throw<ArgumentError>("the symbol has no output '{}'{}", Quotable(output_name), NearMatches(output_name, names));
  }
  return At(static_cast<std::size_t>(found - names.begin()));
}

Symbol Symbol::At(std::size_t index) const {
  if (index >= outputs_.size()) {
    Throw<ArgumentError>("output {} of a symbol that has {}", index, outputs_.size());
  }
  return Symbol({outputs_[index]}, np_shape_);
}

Symbol Symbol::Substitute(const std::map<std::string, Symbol>& variables) const {
  const Graph graph = ToGraph();
  const std::vector<std::string> names = ListInputs();
  const std::set<std::string> known(names.begin(), names.end());
  for (const auto& [name, symbol] : variables) {
    if (!known.contains(name)) {
      Throw<ArgumentError>("the symbol has no input '{}'{}", Quotable(name), NearMatches(name, names));
    }
  }
  Rewriter rewriter(graph);
  RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    const Node& node = graph.node(id);
    const auto replacement = node.is_variable() ? variables.find(node.name()) : variables.end();
    if (replacement != variables.end()) return {SingleOutput(replacement->second, node.name())};
    return rewriter.KeepNode(id, std::move(inputs));
  });
  return Symbol(result.graph.outputs(), np_shape_ || AnyNpShape(Values(variables)));
}

}  // namespace amp
