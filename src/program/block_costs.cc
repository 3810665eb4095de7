#include "program/block_costs.h"

#include <algorithm>
#include <optional>

#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/step_features.h"
#include "program/step_graph.h"

namespace amp {
namespace {

// The fastest kernels, but none that takes steps before it.
class SeparateKernels : public PredictedKernels {
 public:
  Chosen Choose(const LayerOptions& layer) const override {
    return layer.options[0].name == kSeparateSteps ? Chosen{} : PredictedKernels::Choose(layer);
  }
};

bool IsConvolution(const Node& node) { return node.IsOp("Convolution"); }

bool HasGroups(const Node& node) {
  const auto groups = node.attrs().find("num_group");
  return groups != node.attrs().end() && groups->second != "1";
}

bool IsUngroupedConvolution(const Node& node) { return IsConvolution(node) && !HasGroups(node); }

// More than any block has between two convolutions.
constexpr int kMaxFunctions = 4;

}  // namespace

double SecondsOfRun(const Program& program, const MachineTable& machine) {
  const std::vector<bool> once = ValuesComputedOnce(program);
  double seconds = 0;
  for (const Step& step : program.steps) {
    if (once[step.outputs[0]] || KindOf(step.spec).is_view) continue;
    seconds += machine.Seconds(FeaturesOf(step, program.TypesOf(step)));
  }
  return seconds;
}

BlockCosts::BlockCosts(const MachineTable& machine, const Model& model, const std::vector<bool>& constant)
    : model_(model), constant_(constant), machine_(machine) {
  std::map<std::string, Block> known;
  for (NodeId id = 0; id < model.graph().num_nodes(); ++id) {
    const Node& node = model.graph().node(id);
    if (!node.is_variable() && IsConvolution(node) && HasGroups(node)) Add(id, &known);
  }
}

const BlockCosts::Member* BlockCosts::Find(NodeId id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

double BlockCosts::PartOf(NodeId id, bool is_low) const {
  const Member* member = Find(id);
  if (member == nullptr) return 1;
  return is_low ? member->block.low.part() : member->block.high.part();
}

double BlockCosts::Gain(NodeId id) const {
  const Member* member = Find(id);
  return member == nullptr ? 0 : member->block.low.gain();
}

double BlockCosts::Loss(NodeId reader) const {
  const Member* member = Find(reader);
  if (member == nullptr || member->is_first) return 0;
  return std::max(member->block.low.gain(), member->block.high.gain());
}

// A function of what one node made, element by element, with no other operand.
bool BlockCosts::IsBetween(NodeId id) const {
  const Node& node = model_.graph().node(id);
  if (node.is_variable() || constant_[id] || model_.graph().InputsOf(id).size() != 1) return false;
  return node.op()->Find<IsElementwise>() != nullptr || node.op()->Find<IsUnaryFunction>() != nullptr;
}

// The convolution that makes what the node reads first, with functions between; nullopt where something else reads any
// of them. Adds the functions, the last one first.
std::optional<NodeId> BlockCosts::Before(NodeId id, std::vector<NodeId>* functions) const {
  const Graph& graph = model_.graph();
  id = graph.NodeOf(graph.InputsOf(id)[0]);
  for (int i = 0; i < kMaxFunctions && IsBetween(id) && graph.OnlyReaderOf(id) != nullptr; ++i) {
    functions->push_back(id);
    id = graph.NodeOf(graph.InputsOf(id)[0]);
  }
  const bool is_last = graph.node(id).is_variable() || graph.OnlyReaderOf(id) == nullptr;
  return is_last || !IsUngroupedConvolution(graph.node(id)) ? std::nullopt : std::optional(id);
}

// Like Before, for the convolution that reads what the node makes. Adds the functions in their order.
std::optional<NodeId> BlockCosts::Behind(NodeId id, std::vector<NodeId>* functions) const {
  const Graph& graph = model_.graph();
  const Consumer* reader = graph.OnlyReaderOf(id);
  for (int i = 0; i < kMaxFunctions && reader != nullptr && IsBetween(reader->node); ++i) {
    functions->push_back(reader->node);
    reader = graph.OnlyReaderOf(reader->node);
  }
  const bool is_product = reader != nullptr && reader->slot == 0 && IsUngroupedConvolution(graph.node(reader->node));
  return is_product ? std::optional(reader->node) : std::nullopt;
}

// From the convolution in front of it, where there is one, to that behind it; empty without the latter.
std::vector<NodeId> BlockCosts::Around(NodeId depthwise) const {
  std::vector<NodeId> before, behind;
  const std::optional<NodeId> first = Before(depthwise, &before), last = Behind(depthwise, &behind);
  if (!last) return {};
  std::vector<NodeId> nodes;
  if (first) {
    nodes.push_back(*first);
    nodes.insert(nodes.end(), before.rbegin(), before.rend());
  }
  nodes.push_back(depthwise);
  nodes.insert(nodes.end(), behind.begin(), behind.end());
  nodes.push_back(*last);
  return nodes;
}

// The convolutions by themselves, with variables for what others make. Biases stay in float32. Functions between them
// take the same time in all ways.
Model BlockCosts::ModelOf(const std::vector<NodeId>& nodes, bool is_low) const {
  const Graph& graph = model_.graph();
  TypeMap types;
  std::set<std::string> parameters;
  NodePtr last;
  for (const NodeId id : nodes) {
    if (!IsConvolution(graph.node(id))) continue;
    const auto inputs = graph.InputsOf(id);
    std::vector<NodeEntry> made;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (slot == 0 && last != nullptr) {
        made.push_back({last, 0});
        continue;
      }
      const std::string name = fmt::format("x{}_{}", id, slot);
      const bool reads_low = is_low && slot < 2;
      types[name] = {reads_low ? DType::kBFloat16 : DType::kFloat32, model_.types()[inputs[slot]].shape};
      if (constant_[graph.NodeOf(inputs[slot])]) parameters.insert(name);
      made.push_back({Node::Variable(name), 0});
    }
    const Node& node = graph.node(id);
    AttrMap attrs = node.attrs();
    attrs.erase(kOutDTypeAttr);
    last = Node::Make({node.op(), fmt::format("n{}", id), std::move(attrs), std::move(made), {}, node.phase(), {}});
  }
  return Model(Graph({{last, 0}}), std::move(types), std::move(parameters));
}

std::string BlockCosts::KeyOf(const std::vector<NodeId>& nodes) const {
  std::string key;
  for (const NodeId id : nodes) {
    key += model_.graph().node(id).op_name();
    for (const auto& [name, value] : model_.graph().node(id).attrs()) key += fmt::format(";{}={}", name, value);
    for (const EntryId input : model_.graph().InputsOf(id)) key += model_.types()[input].shape.ToString();
  }
  return key;
}

BlockCosts::Times BlockCosts::TimesOf(const std::vector<NodeId>& nodes, bool is_low) const {
  LoweredGraph separate = Lower(ModelOf(nodes, is_low), {.native_bf16 = machine_.capabilities().ComputesBF16()});
  LoweredGraph together = separate;
  ChooseKernels(SeparateKernels(), machine_.capabilities(), &machine_, &separate.program);
  ChooseKernels(PredictedKernels(), machine_.capabilities(), &machine_, &together.program);
  return {SecondsOfRun(separate.program, machine_), SecondsOfRun(together.program, machine_)};
}

void BlockCosts::Add(NodeId depthwise, std::map<std::string, Block>* known) {
  const std::vector<NodeId> nodes = Around(depthwise);
  const auto is_open = [&](NodeId id) {
    const DType dtype = model_.types()[model_.graph().InputsOf(id)[0]].dtype;
    return (dtype == DType::kFloat32 || dtype == DType::kBFloat16) && !constant_[id] && Find(id) == nullptr;
  };
  if (nodes.empty() || !std::all_of(nodes.begin(), nodes.end(), is_open)) return;
  const auto [found, is_new] = known->try_emplace(KeyOf(nodes));
  Block& block = found->second;
  if (is_new) {
    block.high = TimesOf(nodes, false);
    if (machine_.capabilities().ComputesBF16()) block.low = TimesOf(nodes, true);
  }
  for (const NodeId id : nodes) members_.emplace(id, Member{block, id == nodes.front()});
}

}  // namespace amp
