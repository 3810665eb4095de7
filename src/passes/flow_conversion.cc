#include "passes/flow_conversion.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "passes/op_facts.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

bool IsCastTo(const Node& node, DType dtype) {
  return node.IsOp("amp_cast") && IsCastOfConversion(node) && node.Attr<DType>("dtype") == dtype;
}

std::map<std::string, FlowBody::Variable> VariablesByName(const FlowBody& body) {
  std::map<std::string, FlowBody::Variable> variables;
  for (const FlowBody::Variable& variable : body.variables) variables.emplace(variable.name, variable);
  return variables;
}

std::map<std::string, NodeId> VariableIds(const Graph& graph) {
  std::map<std::string, NodeId> ids;
  for (const NodeId id : graph.variables()) ids.emplace(graph.node(id).name(), id);
  return ids;
}

using States = std::set<std::size_t>;

// What is left once all are gone that do not stay among those that are left.
States Shrunk(States states, const std::function<bool(std::size_t, const States&)>& stays) {
  while (true) {
    States kept;
    for (const std::size_t state : states) {
      if (stays(state, states)) kept.insert(state);
    }
    if (kept == states) return states;
    states = std::move(kept);
  }
}

// Takes the casts of some variables out of a body: their readers read the variables.
class BodyNarrower {
 public:
  BodyNarrower(const Graph& graph, const std::set<std::string>& low_variables, DType target)
      : graph_(graph), low_variables_(low_variables), target_(target), rewriter_(graph) {}

  std::vector<NodeEntry> Run(std::set<std::string>* dropped) {
    return rewriter_
        .Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
          const Node& node = graph_.node(id);
          if (node.is_variable()) return Variable(id);
          if (!IsCastTo(node, target_) || !IsLow(*node.inputs()[0].node)) return Operator(id, std::move(inputs));
          dropped->insert(node.name());
          return inputs;
        })
        .graph.outputs();
  }

 private:
  bool IsLow(const Node& node) const { return node.is_variable() && low_variables_.contains(node.name()); }

  // The mark lets RemoveAmpCasts take a changed __dtype__ back.
  std::vector<NodeEntry> Variable(NodeId id) {
    const Node& node = graph_.node(id);
    if (!IsLow(node) || node.FindAttr("__dtype__") == nullptr) return rewriter_.KeepNode(id, {});
    AttrMap attrs = node.attrs();
    attrs[kAmpDTypeAttr] = NameOf(target_);
    attrs["__dtype__"] = std::to_string(*InfoOf(target_).mxnet_code);
    return rewriter_.Replace(node.WithAttrs(std::move(attrs)));
  }

  // Outputs of bodies go by their places: casts need no names for them.
  std::vector<NodeEntry> Operator(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    std::vector<NodeEntry> kept = rewriter_.KeepNode(id, std::move(inputs));
    if (!IsCastOfConversion(node) || node.FindAttr(kOutputNameAttr) == nullptr) return kept;
    AttrMap attrs = node.attrs();
    attrs.erase(kOutputNameAttr);
    return rewriter_.Replace(kept[0].node->WithAttrs(std::move(attrs)));
  }

  const Graph& graph_;
  const std::set<std::string>& low_variables_;
  const DType target_;
  Rewriter rewriter_;
};

}  // namespace

FlowConversion::FlowConversion(const Node& node, FlowBodies flow, std::vector<FlowInput> inputs,
                               std::vector<ConvertOptions> options, void (*run)(Conversion&), bool wants_reports)
    : node_(node),
      run_(run),
      inputs_(std::move(inputs)),
      options_(std::move(options)),
      flow_(std::move(flow)),
      wants_reports_(wants_reports) {
  for (const FlowBody& body : flow_.bodies) variables_.push_back(VariablesByName(body));
  for (std::size_t i = 0; i < flow_.bodies.size(); ++i) counting_.push_back(CountingNodes(i));
}

// A condition reads numbers that rounding would keep from growing: 256 + 1 is 256 in bfloat16.
std::set<std::string> FlowConversion::CountingNodes(std::size_t index) const {
  std::set<std::string> counting;
  std::set<std::size_t> read;
  for (const FlowBody& body : flow_.bodies) {
    for (const FlowBody::Variable& variable : body.variables) {
      if (!body.gives_results) read.insert(variable.slot);
    }
  }
  const Graph graph(node_.subgraphs()[index]);
  std::vector<bool> counts(graph.num_nodes());
  for (const FlowState& state : flow_.states) {
    if (flow_.bodies[index].gives_results && read.contains(state.slot)) {
      counts[graph.IdOf(graph.outputs()[state.output].node.get())] = true;
    }
  }
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    const Node& node = graph.node(id);
    const bool is_condition = !flow_.bodies[index].gives_results && !flow_.states.empty();
    if (node.is_variable() || !(counts[id] || is_condition)) continue;
    if (HasBodies(node) || FactsOf(node).arithmetic == Arithmetic::kAccumulates) continue;
    counting.insert(node.name());
    for (const EntryId input : graph.InputsOf(id)) counts[graph.NodeOf(input)] = true;
  }
  return counting;
}

std::string FlowConversion::WhyNot() const {
  for (const FlowBody& body : flow_.bodies) {
    for (const auto& [name, type] : body.types) {
      if (!IsKnown(type.dtype)) return fmt::format("the dtype of its input '{}' is not known", Quotable(name));
    }
  }
  if (options_[0].machine == nullptr) return "";
  for (std::size_t i = 0; i < flow_.bodies.size(); ++i) {
    const Types types = InferPartial(Graph(node_.subgraphs()[i]), flow_.bodies[i].types);
    const bool is_known =
        std::all_of(types.begin(), types.end(), [](const TensorType& type) { return type.fully_known(); });
    if (!is_known) return "predicted times decide, and not all shapes in it are known";
  }
  return "";
}

// All states that might be low are; those that then would be rounded for that alone are widened, until none is.
void FlowConversion::Run() {
  round_ = Converted({});
  for (StateSet states = StatesReadLow(); states != low_states_; states = Consistent(states)) {
    low_states_ = states;
    round_ = Converted(low_states_);
  }
  FindLowSlots();
  FindLowOutputs();
}

std::string FlowConversion::ReportOf(std::size_t index) const {
  return wants_reports_ ? round_.reports[index]->json() : std::string();
}

FlowConversion::Round FlowConversion::Converted(const StateSet& low_states) const {
  Round round;
  for (std::size_t i = 0; i < flow_.bodies.size(); ++i) {
    const FlowBody& body = flow_.bodies[i];
    const Symbol symbol(node_.subgraphs()[i]);
    ConvertOptions options = options_[i];
    options.cast_params_offline = false;  // by the model around
    options.excluded.insert(options.excluded.end(), counting_[i].begin(), counting_[i].end());
    const std::vector<std::string> names = OutputNames(symbol.outputs());
    for (const std::size_t state : low_states) {
      if (body.gives_results) options.output_dtypes[names[flow_.states[state].output]] = target();
    }
    TypeMap types = body.types;
    const ModelParams params = ParamsOf(i, Graph(symbol.outputs()), &types);
    round.reports.push_back(std::make_unique<ConversionReport>());
    ConversionReport* report = wants_reports_ ? round.reports.back().get() : nullptr;
    round.bodies.push_back(std::make_unique<Conversion>(symbol, params, types, options, report));
    round.bodies.back()->casts_files = options_[i].cast_params_offline;
    run_(*round.bodies.back());
    round.variables.push_back(VariableIds(round.bodies.back()->model.graph()));
  }
  return round;
}

// What does not change from step to step has values where the model has them.
ModelParams FlowConversion::ParamsOf(std::size_t index, const Graph& graph, TypeMap* types) const {
  ModelParams params;
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    const FlowBody::Variable& variable = variables_[index].at(name);
    const NDArray* array = inputs_[variable.slot].array;
    if (array == nullptr || !variable.is_whole || array->dtype() != inputs_[variable.slot].type.dtype) continue;
    (graph.IsAuxiliary(id) ? params.aux : params.args)[name] = *array;
    types->erase(name);
  }
  return params;
}

// ---- what is read ----

// Do all that read the slot read it in low precision, in all bodies, and are there any?
bool FlowConversion::IsReadLow(std::size_t slot, const StateSet& low_states) const {
  bool any = false;
  for (std::size_t i = 0; i < flow_.bodies.size(); ++i) {
    for (const FlowBody::Variable& variable : flow_.bodies[i].variables) {
      if (variable.slot != slot) continue;
      const auto found = round_.variables[i].find(variable.name);
      if (found == round_.variables[i].end()) continue;
      if (!IsReadLow(i, found->second, low_states)) return false;
      any = any || !GraphOf(i).ConsumersOf(GraphOf(i).EntryOf(found->second, 0)).empty();
    }
  }
  return any;
}

bool FlowConversion::IsReadLow(std::size_t index, NodeId variable, const StateSet& low_states) const {
  const Graph& graph = GraphOf(index);
  const EntryId entry = graph.EntryOf(variable, 0);
  for (const Consumer& reader : graph.ConsumersOf(entry)) {
    if (!IsCastTo(graph.node(reader.node), target())) return false;
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.EntryOf(graph.outputs()[i]) == entry && !IsOutputOf(index, i, low_states)) return false;
  }
  return true;
}

// Is the output the next value of one of these states?
bool FlowConversion::IsOutputOf(std::size_t index, std::size_t output, const StateSet& states) const {
  return flow_.bodies[index].gives_results && std::any_of(states.begin(), states.end(), [&](std::size_t state) {
           return flow_.states[state].output == output;
         });
}

// The states that might be low: of float32, and read in low precision.
FlowConversion::StateSet FlowConversion::StatesReadLow() const {
  StateSet states;
  if (options_[0].training) return states;
  for (std::size_t state = 0; state < flow_.states.size(); ++state) {
    if (inputs_[flow_.states[state].slot].type.dtype == DType::kFloat32) states.insert(state);
  }
  return Shrunk(states,
                [this](std::size_t state, const StateSet& all) { return IsReadLow(flow_.states[state].slot, all); });
}

// ---- what is written ----

// The first body whose outputs are the node's.
std::size_t FlowConversion::Results() const {
  const auto place =
      std::find_if(flow_.bodies.begin(), flow_.bodies.end(), [](const FlowBody& body) { return body.gives_results; });
  return static_cast<std::size_t>(place - flow_.bodies.begin());
}

// The low-precision entry that an output is, once a cast to float32 behind it is gone; nullopt where it is none.
std::optional<NodeEntry> FlowConversion::LowOutput(std::size_t index, std::size_t output) const {
  const Graph& graph = GraphOf(index);
  NodeEntry entry = graph.outputs()[output];
  if (IsCastTo(*entry.node, DType::kFloat32)) entry = entry.node->inputs()[0];
  if (round_.bodies[index]->model.types()[graph.EntryOf(entry)].dtype != target()) return std::nullopt;
  return entry;
}

// A state that leaves a step low without being rounded for that alone.
bool FlowConversion::IsWrittenLow(std::size_t state, const StateSet& low_states) const {
  const std::size_t index = Results();
  const std::optional<NodeEntry> entry = LowOutput(index, flow_.states[state].output);
  if (!entry) return false;
  if (!IsCastTo(*entry->node, target())) return true;
  const Node& source = *entry->node->inputs()[0].node;
  if (!source.is_variable()) return false;
  const std::size_t slot = variables_[index].at(source.name()).slot;
  return std::any_of(low_states.begin(), low_states.end(),
                     [&](std::size_t other) { return flow_.states[other].slot == slot; });
}

// Outputs of one name have one dtype: all states among them are low, or none.
bool FlowConversion::SharesOutputWithWide(std::size_t state, const StateSet& low_states) const {
  const std::vector<std::string> names = OutputNames(node_.subgraphs()[Results()]);
  for (std::size_t other = 0; other < flow_.states.size(); ++other) {
    const bool is_same = names[flow_.states[other].output] == names[flow_.states[state].output];
    if (is_same && !low_states.contains(other)) return true;
  }
  return false;
}

FlowConversion::StateSet FlowConversion::Consistent(const StateSet& low_states) const {
  return Shrunk(low_states, [this](std::size_t state, const StateSet& all) {
    return IsReadLow(flow_.states[state].slot, all) && IsWrittenLow(state, all) && !SharesOutputWithWide(state, all);
  });
}

bool FlowConversion::IsWrittenLowByAll(std::size_t output) const {
  for (std::size_t i = 0; i < flow_.bodies.size(); ++i) {
    if (!flow_.bodies[i].gives_results) continue;
    const Graph before(node_.subgraphs()[i]);
    const Types types = InferPartial(before, flow_.bodies[i].types);
    if (types[before.EntryOf(before.outputs()[output])].dtype != DType::kFloat32) return false;
    if (!LowOutput(i, output)) return false;
  }
  return true;
}

// ---- what comes in and out ----

void FlowConversion::FindLowSlots() {
  if (options_[0].training) return;
  std::set<std::size_t> state_slots;
  for (std::size_t state = 0; state < flow_.states.size(); ++state) {
    state_slots.insert(flow_.states[state].slot);
    if (low_states_.contains(state)) low_slots_.insert(flow_.states[state].slot);
  }
  for (std::size_t slot = 0; slot < inputs_.size(); ++slot) {
    if (state_slots.contains(slot) || inputs_[slot].is_cast_inside) continue;
    if (inputs_[slot].type.dtype != DType::kFloat32) continue;
    if (IsReadLow(slot, low_states_)) low_slots_.insert(slot);
  }
}

void FlowConversion::FindLowOutputs() {
  if (options_[0].training) return;
  std::set<std::size_t> state_outputs;
  for (std::size_t state = 0; state < flow_.states.size(); ++state) {
    state_outputs.insert(flow_.states[state].output);
    if (low_states_.contains(state)) low_outputs_.insert(flow_.states[state].output);
  }
  for (std::size_t output = 0; output < node_.subgraphs()[Results()].size(); ++output) {
    if (!state_outputs.contains(output) && IsWrittenLowByAll(output)) low_outputs_.insert(output);
  }
}

std::vector<NodeEntry> FlowConversion::BodyOf(std::size_t index, ConvertedBody* converted) const {
  const FlowBody& body = flow_.bodies[index];
  converted->counting_nodes = counting_[index];
  for (const FlowBody::Variable& variable : body.variables) {
    if (low_slots_.contains(variable.slot)) converted->low_variables.insert(variable.name);
  }
  std::vector<NodeEntry> outputs = GraphOf(index).outputs();
  for (std::size_t i = 0; i < outputs.size() && body.gives_results; ++i) {
    if (!low_outputs_.contains(i) || !IsCastTo(*outputs[i].node, DType::kFloat32)) continue;
    converted->dropped_casts.insert(outputs[i].node->name());
    outputs[i] = *LowOutput(index, i);
  }
  const Graph narrow(std::move(outputs));
  return BodyNarrower(narrow, converted->low_variables, target()).Run(&converted->dropped_casts);
}

}  // namespace amp
