#include "nnvm/symbol_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "nnvm/file_io.h"
#include "nnvm/foreign_files.h"
#include "nnvm/json_text.h"
#include "nnvm/legacy_json.h"
#include "nnvm/phase.h"

namespace amp {
namespace {

using Json = nlohmann::json;

// major * 10000 + minor * 100 + patch: what the written form is of, without and with np shapes
constexpr int kWrittenVersion = 10901;
constexpr int kWrittenNpVersion = 20000;
constexpr std::size_t kMaxNodes = 1u << 28;
// Every output costs memory in whatever works on the graph, and a short attribute can declare many. A file may have so
// many whatever its size (a split into 4096 parts is legal), and some more for each entry that it reads.
constexpr std::size_t kFreeOutputs = 1u << 16;
constexpr std::size_t kOutputsPerEntry = 64;

// What the mark says, which is no attribute of the node.
Phase TakePhase(AttrMap* attrs) {
  const auto mark = attrs->find(kBackwardAttr);
  if (mark == attrs->end()) return Phase::kForward;
  const bool is_backward = mark->second == "1";
  attrs->erase(mark);
  return is_backward ? Phase::kBackward : Phase::kForward;
}

class SymbolReader {
 public:
  explicit SymbolReader(const std::string& source) : source_(source) {}

  Symbol Read(std::string_view text) {
    const Json document = ParseDocument(text);
    CheckOps(document);
    version_ = FileVersion(document);
    return Symbol(ReadGraph(document), ReadNpShape(document));
  }

 private:
  // A reader of one of the file's subgraphs.
  SymbolReader(const std::string& source, std::string where, int version)
      : source_(source), where_(std::move(where)), version_(version) {}

  std::vector<NodeEntry> ReadGraph(const Json& graph) {
    ReadNodes(graph);
    ReadHeads(graph);
    UpgradeLegacyNodes(version_, &nodes_);
    num_nodes_ = nodes_.size();
    return Build();
  }

  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw GraphError(source_ + ": " + where_ + fmt::format(format, std::forward<Args>(args)...));
  }

  Json ParseDocument(std::string_view text) const {
    Json document = ParseJson(text, source_);
    if (!document.is_object()) Fail("expected a JSON object with 'nodes' and 'heads', got {}", document.type_name());
    return document;
  }

  const Json& Member(const Json& object, const char* key, const std::string& where, Json::value_t type) const {
    const auto found = object.find(key);
    if (found == object.end()) Fail("{}: '{}' is missing", where, key);
    if (found->type() != type) {
      Fail("{}: '{}' should be {}, got {}", where, key, Json(type).type_name(), found->type_name());
    }
    return *found;
  }

  std::size_t Index(const Json& value, std::size_t limit, const std::string& where) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= limit) {
      Fail("{}: expected a number below {}, got {}", where, limit, Quotable(value.dump()));
    }
    return value.get<std::size_t>();
  }

  std::pair<std::size_t, std::uint32_t> Entry(const Json& value, const std::string& where) const {
    if (!value.is_array() || value.size() < 2 || value.size() > 3) {
      Fail("{}: expected [node, output, version], got {}", where, Quotable(value.dump()));
    }
    return {Index(value[0], num_nodes_, where), static_cast<std::uint32_t>(Index(value[1], 1u << 20, where))};
  }

  void ReadNodes(const Json& document) {
    const Json& nodes = Member(document, "nodes", "the symbol", Json::value_t::array);
    num_nodes_ = nodes.size();
    if (num_nodes_ > kMaxNodes) Fail("{} nodes are too many", num_nodes_);
    nodes_.reserve(num_nodes_);
    for (std::size_t i = 0; i < num_nodes_; ++i) nodes_.push_back(ReadNode(nodes[i], fmt::format("node {}", i)));
  }

  RawNode ReadNode(const Json& json, std::string where) {
    if (!json.is_object()) Fail("{}: expected an object, got {}", where, json.type_name());
    RawNode node;
    node.name = Member(json, "name", where, Json::value_t::string).get<std::string>();
    where += " '" + Quotable(node.name) + "'";
    node.op = Member(json, "op", where, Json::value_t::string).get<std::string>();
    for (const char* key : {"attrs", "attr", "param"}) ReadAttrs(json, key, where, &node.attrs);
    for (const Json& input : Member(json, "inputs", where, Json::value_t::array)) {
      node.inputs.push_back(Entry(input, where + " inputs"));
    }
    if (json.contains("control_deps")) {
      for (const Json& dep : Member(json, "control_deps", where, Json::value_t::array)) {
        node.control_deps.push_back(Index(dep, num_nodes_, where + " control_deps"));
      }
    }
    if (json.contains("subgraphs")) node.subgraphs = ReadSubgraphs(json, where);
    if (node.op == "null" && !node.inputs.empty()) Fail("{}: a variable cannot have inputs", where);
    return node;
  }

  Subgraphs ReadSubgraphs(const Json& json, const std::string& where) {
    Subgraphs subgraphs;
    for (const Json& graph : Member(json, "subgraphs", where, Json::value_t::array)) {
      const std::string place = fmt::format("{} subgraph {}", where, subgraphs.size());
      if (!graph.is_object()) Fail("{}: expected an object, got {}", place, graph.type_name());
      SymbolReader reader(source_, where_ + place + ": ", version_);
      subgraphs.push_back(reader.ReadGraph(graph));
      num_outputs_ += reader.num_outputs_;
      num_entries_ += reader.num_entries_;
      CheckOutputs(place);
    }
    return subgraphs;
  }

  void ReadAttrs(const Json& json, const char* key, const std::string& where, AttrMap* attrs) const {
    if (!json.contains(key)) return;
    for (const auto& [name, value] : Member(json, key, where, Json::value_t::object).items()) {
      if (!value.is_string()) {
        Fail("{}: attribute '{}' should be a string, got {}", where, Quotable(name), value.type_name());
      }
      attrs->emplace(name, value.get<std::string>());
    }
  }

  // {"attrs": {"mxnet_version": ["int", 10901]}}; files of 0.8 and before have none.
  int FileVersion(const Json& document) const {
    constexpr int kOldest = 800;
    const auto attrs = document.find("attrs");
    if (attrs == document.end() || !attrs->is_object() || !attrs->contains("mxnet_version")) return kOldest;
    const Json& version = (*attrs)["mxnet_version"];
    if (!version.is_array() || version.size() != 2 || !version[1].is_number_integer()) {
      Fail("attrs: expected mxnet_version as [\"int\", number], got {}", Quotable(version.dump()));
    }
    const auto number = version[1].get<std::int64_t>();
    return static_cast<int>(std::clamp<std::int64_t>(number, 0, 1000000));
  }

  // "is_np_shape": ["int", 1] among the file's attributes.
  bool ReadNpShape(const Json& document) const {
    const auto attrs = document.find("attrs");
    if (attrs == document.end() || !attrs->is_object() || !attrs->contains("is_np_shape")) return false;
    const Json& flag = (*attrs)["is_np_shape"];
    if (!flag.is_array() || flag.size() != 2 || !flag[1].is_number_integer()) {
      Fail("attrs: expected is_np_shape as [\"int\", 0 or 1], got {}", Quotable(flag.dump()));
    }
    return flag[1].get<std::int64_t>() != 0;
  }

  void ReadHeads(const Json& document) {
    const Json& heads = Member(document, "heads", "the symbol", Json::value_t::array);
    if (heads.empty()) Fail("the symbol has no heads");
    for (const Json& head : heads) heads_.push_back(Entry(head, "heads"));
  }

  // What is missing is reported all at once, that in subgraphs included, and before anything else: somebody else's
  // operator may have inputs and attributes that look wrong to us.
  void CheckOps(const Json& document) const {
    std::set<std::string> missing;
    CollectMissing(document, &missing);
    if (missing.empty()) return;
    throw UnsupportedError(fmt::format("{}: operators that are not registered: {}", source_,
                                       JoinSome({missing.begin(), missing.end()}, 40)));
  }

  static void CollectMissing(const Json& graph, std::set<std::string>* missing) {
    if (!graph.is_object() || !graph.contains("nodes")) return;
    for (const Json& node : graph["nodes"]) {
      if (!node.is_object() || !node.contains("op") || !node["op"].is_string()) continue;
      const auto& op = node["op"].get_ref<const std::string&>();
      if (op != "null" && OpRegistry::Get().Find(kMXNetDomain, op) == nullptr) missing->insert(Quotable(op));
      if (!node.contains("subgraphs") || !node["subgraphs"].is_array()) continue;
      for (const Json& subgraph : node["subgraphs"]) CollectMissing(subgraph, missing);
    }
  }

  // File order is usually topological, but nothing guarantees that: nodes are made as soon as what they read exists.
  std::vector<NodeEntry> Build() {
    num_entries_ += heads_.size();
    for (const RawNode& node : nodes_) num_entries_ += node.inputs.size();
    std::vector<std::vector<std::size_t>> readers(num_nodes_);
    std::vector<std::size_t> missing(num_nodes_);
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      for (const auto& [source, index] : nodes_[i].inputs) readers[source].push_back(i);
      for (const std::size_t source : nodes_[i].control_deps) readers[source].push_back(i);
      missing[i] = nodes_[i].inputs.size() + nodes_[i].control_deps.size();
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      if (missing[i] == 0) ready.push_back(i);
    }
    built_.resize(num_nodes_);
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      const std::size_t id = ready[done];
      built_[id] = BuildNode(nodes_[id]);
      CountOutputs(*built_[id]);
      for (const std::size_t reader : readers[id]) {
        if (--missing[reader] == 0) ready.push_back(reader);
      }
    }
    if (done != num_nodes_) ReportCycle(missing);
    std::vector<NodeEntry> outputs;
    for (const auto& [id, index] : heads_) outputs.push_back(EntryOf(id, index, "heads"));
    return outputs;
  }

  void CountOutputs(const Node& node) {
    num_outputs_ += static_cast<std::size_t>(node.num_outputs());
    CheckOutputs(node.Describe());
  }

  // Outputs and entries of subgraphs included.
  void CheckOutputs(const std::string& where) const {
    if (num_outputs_ <= kFreeOutputs + num_nodes_ + kOutputsPerEntry * num_entries_) return;
    Fail("{} and others declare {} outputs, but only {} entries are read", where, num_outputs_, num_entries_);
  }

  [[noreturn]] void ReportCycle(const std::vector<std::size_t>& missing) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      if (missing[i] != 0) names.push_back("'" + Quotable(nodes_[i].name) + "'");
    }
    Fail("nodes depend on each other in a cycle: {}", JoinSome(names));
  }

  NodeEntry EntryOf(std::size_t id, std::uint32_t index, const std::string& where) const {
    const NodePtr& node = built_[id];
    if (index >= static_cast<std::uint32_t>(node->num_outputs())) {
      Fail("{}: reads output {} of {}, which has {}", where, index, node->Describe(), node->num_outputs());
    }
    return {node, index};
  }

  NodePtr BuildNode(RawNode& raw) const {
    Node::Spec spec;
    spec.op = raw.op == "null" ? nullptr : OpRegistry::Get().Find(kMXNetDomain, raw.op);
    spec.name = std::move(raw.name);
    spec.attrs = std::move(raw.attrs);
    spec.phase = TakePhase(&spec.attrs);
    for (const auto& [id, index] : raw.inputs) {
      spec.inputs.push_back(EntryOf(id, index, "node '" + Quotable(spec.name) + "'"));
    }
    if (PhaseOfReader(spec.inputs) == Phase::kBackward) spec.phase = Phase::kBackward;
    for (const std::size_t id : raw.control_deps) spec.control_deps.push_back(built_[id]);
    spec.subgraphs = std::move(raw.subgraphs);
    try {
      return Node::Make(std::move(spec));
    } catch (const GraphError& error) {
      Fail("{}", error.what());
    } catch (const UnsupportedError& error) {
      throw UnsupportedError(source_ + ": " + where_ + error.what());
    }
  }

  const std::string& source_;
  const std::string where_;  // "" or the subgraph that is read, for messages
  int version_ = 0;
  std::size_t num_nodes_ = 0;
  std::size_t num_outputs_ = 0;
  std::size_t num_entries_ = 0;
  std::vector<RawNode> nodes_;
  std::vector<std::pair<std::size_t, std::uint32_t>> heads_;
  std::vector<NodePtr> built_;
};

nlohmann::ordered_json EntryJson(const Graph& graph, EntryId entry, int version) {
  return {graph.NodeOf(entry), graph.IndexOf(entry), version};
}

nlohmann::ordered_json GraphJson(const Graph& graph);

nlohmann::ordered_json NodeJson(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  nlohmann::ordered_json json;
  json["op"] = node.op_name();
  json["name"] = node.name();
  AttrMap attrs = node.attrs();
  if (node.phase() == Phase::kBackward) attrs[kBackwardAttr] = "1";
  if (!attrs.empty()) json["attrs"] = attrs;
  json["inputs"] = nlohmann::ordered_json::array();
  const auto inputs = graph.InputsOf(id);
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    // Version 1 marks a state that its reader updates.
    json["inputs"].push_back(EntryJson(graph, inputs[slot], node.IsMutable(slot) ? 1 : 0));
  }
  if (!node.control_deps().empty()) {
    json["control_deps"] = nlohmann::ordered_json::array();
    for (const NodePtr& dep : node.control_deps()) json["control_deps"].push_back(graph.IdOf(dep.get()));
  }
  for (const std::vector<NodeEntry>& subgraph : node.subgraphs()) {
    json["subgraphs"].push_back(GraphJson(Graph(subgraph)));
  }
  return json;
}

nlohmann::ordered_json GraphJson(const Graph& graph) {
  nlohmann::ordered_json json;
  json["nodes"] = nlohmann::ordered_json::array();
  json["arg_nodes"] = graph.variables();
  json["node_row_ptr"] = {0};
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    json["nodes"].push_back(NodeJson(graph, id));
    json["node_row_ptr"].push_back(graph.EntryOf(id, 0) + graph.node(id).num_outputs());
  }
  json["heads"] = nlohmann::ordered_json::array();
  for (const NodeEntry& output : graph.outputs()) {
    json["heads"].push_back(EntryJson(graph, graph.EntryOf(output), 0));
  }
  return json;
}

nlohmann::ordered_json FileAttrs(const Symbol& symbol) {
  if (!symbol.np_shape()) return {{"mxnet_version", {"int", kWrittenVersion}}};
  return {{"is_np_shape", {"int", 1}}, {"mxnet_version", {"int", kWrittenNpVersion}}};
}

}  // namespace

Symbol ParseSymbolJson(std::string_view text, const std::string& source) { return SymbolReader(source).Read(text); }

Symbol LoadSymbolJson(const std::string& path) {
  const std::string text = ReadFile(path);
  RefuseForeignFile(text, path);
  if (text.starts_with(std::string_view("\x12\x01\0\0", 4)) || text.starts_with("PK")) {
    Throw<GraphError>("{}: this is a parameter file; the symbol's file ends in .json and comes first", path);
  }
  return ParseSymbolJson(text, path);
}

std::string ToSymbolJson(const Symbol& symbol) {
  nlohmann::ordered_json document = GraphJson(symbol.ToGraph());
  document["attrs"] = FileAttrs(symbol);
  try {
    return document.dump(2) + "\n";
  } catch (const Json::exception& error) {
    Throw<ArgumentError>("the symbol cannot be written as JSON: {}", MessageOf(error));
  }
}

void SaveSymbolJson(const Symbol& symbol, const std::string& path) { WriteFile(path, ToSymbolJson(symbol)); }

}  // namespace amp
