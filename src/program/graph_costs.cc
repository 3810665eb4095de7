#include "program/graph_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/op_facts.h"
#include "program/choose_kernels.h"
#include "program/lowering.h"

namespace amp {
namespace {

constexpr EntryId kNone = std::numeric_limits<EntryId>::max();

// At most a quarter of an hour, whatever a machine file says: sums of these are checked, products of floats are not.
Picoseconds InPicoseconds(double seconds) {
  return static_cast<Picoseconds>(std::llround(std::min(seconds, 1e3) * 1e12));
}

StepTypes TypesOf(const Program& program, const Step& step) {
  StepTypes types;
  for (const ValueId v : step.inputs) types.inputs.push_back(program.values[v].type);
  for (const ValueId v : step.outputs) types.outputs.push_back(program.values[v].type);
  return types;
}

// Of the steps that every run executes.
double SecondsOf(const Program& program, const MachineTable& machine) {
  std::vector<bool> once(program.values.size());
  for (std::size_t v = 0; v < once.size(); ++v) once[v] = program.values[v].source == ValueSource::kConstant;
  double seconds = 0;
  for (const Step& step : program.steps) {
    const bool is_once = std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return once[v]; });
    for (const ValueId v : step.outputs) once[v] = is_once;
    if (!is_once && !KindOf(step.spec).is_view) seconds += machine.Seconds(FeaturesOf(step, TypesOf(program, step)));
  }
  return seconds;
}

// By NodeId: every run does without it. What labels are computed from may have any shape.
std::vector<bool> FreeNodes(const Model& model) {
  std::vector<bool> free = model.ConstantNodes();
  const std::vector<bool> needed = NeededNodes(model.graph());
  for (NodeId id = 0; id < needed.size(); ++id) free[id] = free[id] || !needed[id];
  return free;
}

// Is the node computed element by element, of its first input's shape?
bool MayFollow(const Model& model, NodeId id) {
  const Graph& graph = model.graph();
  const Node& node = graph.node(id);
  if (node.is_variable() || node.num_visible_outputs() != 1 || graph.InputsOf(id).empty()) return false;
  if (!node.op()->Find<IsPointwise>() && !node.op()->Find<IsUnaryFunction>()) return false;
  return true;
}

}  // namespace

// Here, because the table need not know who asks it.
std::unique_ptr<PrecisionCosts> MachineTable::CostsOf(const Model& model) const {
  return std::make_unique<GraphCosts>(*this, model);
}

GraphCosts::GraphCosts(const MachineTable& machine, const Model& model)
    : machine_(machine), model_(model), constant_(FreeNodes(model)), fused_into_(model.graph().num_nodes(), kNone) {
  std::vector<std::string> unknown;
  const std::vector<bool> needed = NeededNodes(model.graph());
  for (EntryId entry = 0; entry < model.graph().num_entries(); ++entry) {
    if (needed[model.graph().NodeOf(entry)] && !model.types()[entry].fully_known())
      unknown.push_back(model.graph().EntryName(entry));
  }
  if (!unknown.empty()) {
    Throw<ArgumentError>("decisions for a machine need all shapes (input_shapes); unknown: {}", JoinSome(unknown, 5));
  }
  FindFused();
}

// A chain of elementwise nodes behind a sum of products, as long as nobody else reads what is between them.
void GraphCosts::FindFused() {
  const Graph& graph = model_.graph();
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!MayFollow(model_, id)) continue;
    const EntryId out = graph.EntryOf(id, 0);
    for (const EntryId input : graph.InputsOf(id)) {
      const NodeId producer = graph.NodeOf(input);
      const Node& node = graph.node(producer);
      if (node.is_variable() || graph.OnlyReader(input) == nullptr || constant_[producer]) continue;
      if (model_.types()[input].shape != model_.types()[out].shape) continue;
      const bool sums = FactsOf(node).arithmetic == Arithmetic::kAccumulates && graph.IndexOf(input) == 0;
      if (!sums && fused_into_[producer] == kNone) continue;
      fused_into_[id] = input;
      break;
    }
  }
}

std::string GraphCosts::KeyOf(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const {
  const Graph& graph = model_.graph();
  const Node& node = graph.node(id);
  std::string key = node.op_name();
  for (const auto& [name, value] : node.attrs()) {
    if (!IsHiddenKey(name)) key += fmt::format(";{}={}", name, value);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EntryId input = graph.InputsOf(id)[i];
    key += fmt::format(";{}{}{}", NameOf(inputs[i]), model_.types()[input].shape.ToString(),
                       constant_[graph.NodeOf(input)] ? "c" : "");
  }
  for (const DType dtype : outputs) key += fmt::format(";{}", NameOf(dtype));
  return key;
}

double GraphCosts::SecondsAlone(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const {
  return SecondsLowered(id, inputs, outputs, machine_.has_bf16());
}

double GraphCosts::SecondsLowered(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs,
                                  bool native_bf16) const {
  const std::string key = KeyOf(id, inputs, outputs) + (native_bf16 ? "" : ";emulated");
  if (const auto found = seconds_.find(key); found != seconds_.end()) return found->second;
  const Graph& graph = model_.graph();
  const Node& node = graph.node(id);
  std::vector<NodeEntry> variables;
  TypeMap types;
  std::set<std::string> parameters;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EntryId input = graph.InputsOf(id)[i];
    const std::string name = fmt::format("x{}", i);
    variables.push_back({Node::Variable(name), 0});
    types[name] = {inputs[i], model_.types()[input].shape};
    if (constant_[graph.NodeOf(input)]) parameters.insert(name);
  }
  AttrMap attrs = node.attrs();
  attrs.erase(kOutDTypeAttr);
  const bool may_write_another =
      FactsOf(node).arithmetic == Arithmetic::kAccumulates && !outputs.empty() && !inputs.empty();
  if (may_write_another && outputs[0] == DType::kFloat32 && inputs[0] != DType::kFloat32) {
    attrs[kOutDTypeAttr] = NameOf(outputs[0]);
  }
  const NodePtr alone =
      Node::Make({node.op(), "node", std::move(attrs), std::move(variables), {}, node.phase(), node.subgraphs()});
  std::vector<NodeEntry> results = AllOutputs(alone);
  results.resize(static_cast<std::size_t>(alone->num_visible_outputs()));
  const Model model(Graph(std::move(results)), std::move(types), std::move(parameters));
  LoweredGraph lowered = Lower(model, {.native_bf16 = native_bf16});
  // As plans in mode fast do. What timing chose is no part of it: dtypes stay as they are when a model is tuned.
  ChooseKernels(PredictedKernels(), {&machine_, machine_.has_bf16()}, &lowered.program);
  return seconds_[key] = SecondsOf(lowered.program, machine_);
}

std::vector<bool> GraphCosts::FasterInFloat32() const {
  const Graph& graph = model_.graph();
  std::vector<bool> faster(graph.num_nodes());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (graph.node(id).is_variable() || constant_[id] || !machine_.has_bf16()) continue;
    std::vector<DType> inputs, outputs;
    for (const EntryId entry : graph.InputsOf(id)) inputs.push_back(model_.types()[entry].dtype);
    for (const EntryId entry : graph.OutputsOf(id)) outputs.push_back(model_.types()[entry].dtype);
    if (std::find(inputs.begin(), inputs.end(), DType::kBFloat16) == inputs.end()) continue;
    faster[id] = SecondsLowered(id, inputs, outputs, false) < SecondsLowered(id, inputs, outputs, true);
  }
  return faster;
}

// What it adds to the sum of products before it: its function, and the operands that it reads beside that.
double GraphCosts::SecondsFused(NodeId id, const std::vector<DType>& inputs) const {
  const Graph& graph = model_.graph();
  double bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EntryId input = graph.InputsOf(id)[i];
    if (input == fused_into_[id] || constant_[graph.NodeOf(input)]) continue;
    bytes += static_cast<double>(model_.types()[input].shape.size() * BytesOf(inputs[i]));
  }
  const EntryId out = graph.EntryOf(id, 0);
  const auto elements = static_cast<double>(model_.types()[out].shape.size());
  const double alone = SecondsAlone(id, std::vector<DType>(inputs.size(), DType::kFloat32), {DType::kFloat32});
  return machine_.PostOpSeconds(alone, elements) + machine_.TrafficSeconds(bytes);
}

Picoseconds GraphCosts::OfNode(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const {
  if (constant_[id]) return 0;
  const bool computes = std::none_of(inputs.begin(), inputs.end(), [&](DType dtype) {
    return IsLowPrecision(dtype) && !(dtype == DType::kBFloat16 && machine_.has_bf16());
  });
  const bool is_fused = computes && fused_into_[id] != kNone;
  return InPicoseconds(is_fused ? SecondsFused(id, inputs) : SecondsAlone(id, inputs, outputs));
}

Picoseconds GraphCosts::OfCast(EntryId entry, DType from, DType to) const {
  const Graph& graph = model_.graph();
  const NodeId producer = graph.NodeOf(entry);
  if (constant_[producer]) return 0;
  const Shape& shape = model_.types()[entry].shape;
  const StepTypes types{{{from, shape}}, {{to, shape}}};
  return InPicoseconds(machine_.Seconds(FeaturesOf({CastSpec{}, {}, {}, 0, ""}, types)));
}

Picoseconds GraphCosts::OfLostFusion(EntryId entry, const Consumer& reader) const {
  if (fused_into_[reader.node] != entry || !machine_.has_bf16()) return 0;
  const std::vector<DType> inputs(model_.graph().InputsOf(reader.node).size(), DType::kFloat32);
  const double lost = SecondsAlone(reader.node, inputs, {DType::kFloat32}) - SecondsFused(reader.node, inputs);
  return InPicoseconds(std::max(0.0, lost));
}

}  // namespace amp
