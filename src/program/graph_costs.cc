#include "program/graph_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nnvm/error.h"
#include "passes/gradient/gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/op_facts.h"
#include "program/choose_kernels.h"
#include "program/fuse_maps.h"
#include "program/lowering.h"

namespace amp {
namespace {

constexpr EntryId kNone = std::numeric_limits<EntryId>::max();

// At most a quarter of an hour, whatever a machine file says: sums of these are checked, products of floats are not.
Picoseconds InPicoseconds(double seconds) {
  return static_cast<Picoseconds>(std::llround(std::min(seconds, 1e3) * 1e12));
}

// Says for each NodeId whether every run does without it. What labels are computed from may have any shape. In
// training, parameters change between runs.
std::vector<bool> FreeNodes(const Model& model, bool is_training) {
  std::vector<bool> free = model.ConstantNodes();
  if (is_training) free.assign(free.size(), false);
  const std::vector<bool> needed = NeededNodes(model.graph());
  for (NodeId id = 0; id < needed.size(); ++id) free[id] = free[id] || !needed[id];
  return free;
}

// Says for each EntryId whether its gradient is computed.
std::vector<bool> EntriesWithGradients(const Graph& graph, const std::optional<std::set<std::string>>& differentiated) {
  if (!differentiated) return {};
  std::vector<bool> found(graph.num_entries());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    bool depends = node.is_variable() && differentiated->contains(node.name());
    for (const EntryId input : graph.InputsOf(id)) depends = depends || found[input];
    const bool ends = !node.is_variable() && node.op()->Find<ZeroGradient>() != nullptr;
    for (const EntryId output : graph.OutputsOf(id)) found[output] = depends && !ends;
  }
  return found;
}

// The type of kRandomKey, which the random operators of a training graph read.
const TensorType kKeyType{DType::kInt64, Shape{2}};

// What the graph and the gradients of these variables are together. The gradients of outputs have the types of the
// outputs, and are variables. Without variables: the graph in training form.
Model WithGradients(const Model& forward, const std::vector<std::string>& variables) {
  const Symbol symbol(forward.graph().outputs());
  TypeMap types = forward.variable_types();
  types[kRandomKey] = kKeyType;
  GradientOptions options;
  for (std::size_t i = 0; i < symbol.outputs().size(); ++i) {
    const std::string name = fmt::format("g{}", i);
    types[name] = forward.types()[forward.graph().EntryOf(symbol.outputs()[i])];
    options.output_gradients.push_back(Symbol::Variable(name));
  }
  Graph graph = UseTrainingForms(forward.graph()).graph;
  if (!variables.empty()) graph = JointGraph(MakeGradientGraph(symbol, variables, options));
  TypeMap used;
  for (const NodeId id : graph.variables()) used[graph.node(id).name()] = types.at(graph.node(id).name());
  return Model(std::move(graph), std::move(used));
}

// Is the node computed element by element, of its first input's shape?
bool MayFollow(const Model& model, NodeId id) {
  const Graph& graph = model.graph();
  const Node& node = graph.node(id);
  if (node.is_variable() || node.num_visible_outputs() != 1 || graph.InputsOf(id).empty()) return false;
  if (!node.op()->Find<IsElementwise>() && !node.op()->Find<IsUnaryFunction>()) return false;
  return true;
}

}  // namespace

// Here, because the table need not know who asks it.
std::unique_ptr<PrecisionCosts> MachineTable::CostsOf(const Model& model) const {
  return std::make_unique<GraphCosts>(*this, model);
}

std::unique_ptr<PrecisionCosts> MachineTable::TrainingCostsOf(const Model& model,
                                                              const std::set<std::string>& differentiated) const {
  return std::make_unique<GraphCosts>(*this, model, differentiated);
}

GraphCosts::GraphCosts(const MachineTable& machine, const Model& model,
                       const std::optional<std::set<std::string>>& differentiated)
    : machine_(machine),
      model_(model),
      has_gradient_(EntriesWithGradients(model.graph(), differentiated)),
      constant_(FreeNodes(model, IsTraining())),
      fused_into_(model.graph().num_nodes(), kNone),
      parameters_behind_(model.graph().num_nodes()) {
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
  FindParametersBehind();
}

// Batch norms with statistics of the batch wait for all of what they read, but what follows them need not.
bool GraphCosts::StartsChain(NodeId producer, EntryId output) const {
  const Node& node = model_.graph().node(producer);
  if (IsTraining() && node.op()->Find<BatchNormFact>() != nullptr) return model_.graph().IndexOf(output) == 0;
  return FactsOf(node).arithmetic == Arithmetic::kAccumulates && model_.graph().IndexOf(output) == 0;
}

// A chain of elementwise nodes behind a sum of products, as long as nobody else reads what is between them.
void GraphCosts::FindFused() {
  const Graph& graph = model_.graph();
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!MayFollow(model_, id)) continue;
    if (IsTraining() && graph.node(id).op()->Find<TrainingForm>() != nullptr) continue;
    const EntryId out = graph.EntryOf(id, 0);
    for (const EntryId input : graph.InputsOf(id)) {
      const NodeId producer = graph.NodeOf(input);
      if (graph.node(producer).is_variable() || graph.OnlyReader(input) == nullptr || constant_[producer]) continue;
      if (model_.types()[input].shape != model_.types()[out].shape) continue;
      if (!StartsChain(producer, input) && fused_into_[producer] == kNone) continue;
      fused_into_[id] = input;
      break;
    }
  }
}

// A function of the node's result may read parameters, such as a norm or a slope per channel. In low precision, where a
// norm is not folded into weights, it becomes part of oneDNN's primitive: own kernels do not know it. Readers
// come behind what they read.
void GraphCosts::FindParametersBehind() {
  const Graph& graph = model_.graph();
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    const Consumer* reader = graph.OnlyReaderOf(id);
    if (reader == nullptr) continue;
    const bool is_norm = graph.node(reader->node).op()->Find<BatchNormFact>() != nullptr;
    if (!is_norm && !MayFollow(model_, reader->node)) continue;
    const auto inputs = graph.InputsOf(reader->node);
    parameters_behind_[id] =
        parameters_behind_[reader->node] ||
        std::any_of(inputs.begin(), inputs.end(), [&](EntryId input) { return constant_[graph.NodeOf(input)]; });
  }
}

std::string GraphCosts::KeyOf(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs,
                              Part part) const {
  const Graph& graph = model_.graph();
  const Node& node = graph.node(id);
  std::string key = node.op_name();
  for (const auto& [name, value] : node.attrs()) {
    if (!IsHiddenKey(name)) key += fmt::format(";{}={}", name, value);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EntryId input = graph.InputsOf(id)[i];
    const char* kind = constant_[graph.NodeOf(input)] ? "c" : IsTraining() && has_gradient_[input] ? "g" : "";
    key += fmt::format(";{}{}{}", NameOf(inputs[i]), model_.types()[input].shape.ToString(), kind);
  }
  for (const DType dtype : outputs) key += fmt::format(";{}", NameOf(dtype));
  if (part.with_gradients) key += ";backward";
  if (parameters_behind_[id]) key += ";with parameters behind";
  return part.native_bf16 ? key : key + ";emulated";
}

double GraphCosts::SecondsAlone(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const {
  return SecondsOf(id, inputs, outputs, {.native_bf16 = machine_.capabilities().ComputesBF16()});
}

double GraphCosts::SecondsBackward(NodeId id, const std::vector<DType>& inputs,
                                   const std::vector<DType>& outputs) const {
  if (!IsTraining()) return 0;
  const Part both{.native_bf16 = machine_.capabilities().ComputesBF16(), .with_gradients = true};
  return std::max(0.0, SecondsOf(id, inputs, outputs, both) - SecondsAlone(id, inputs, outputs));
}

// The node with variables for its inputs.
Model GraphCosts::Alone(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs,
                        Part part) const {
  const Graph& graph = model_.graph();
  const Node& node = graph.node(id);
  std::vector<NodeEntry> variables;
  TypeMap types;
  std::set<std::string> parameters;
  std::vector<std::string> differentiated;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EntryId input = graph.InputsOf(id)[i];
    const std::string name = fmt::format("x{}", i);
    variables.push_back({Node::Variable(name), 0});
    types[name] = {inputs[i], model_.types()[input].shape};
    if (constant_[graph.NodeOf(input)]) parameters.insert(name);
    if (part.with_gradients && has_gradient_[input] && IsFloat(inputs[i])) differentiated.push_back(name);
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
  Model model(Graph(std::move(results)), std::move(types), std::move(parameters));
  return IsTraining() ? WithGradients(model, differentiated) : model;
}

double GraphCosts::SecondsOf(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs,
                             Part part) const {
  const std::string key = KeyOf(id, inputs, outputs, part);
  if (const auto found = seconds_.find(key); found != seconds_.end()) return found->second;
  LoweredGraph lowered = Lower(Alone(id, inputs, outputs, part), {.native_bf16 = part.native_bf16});
  // Fuses as plans in mode fast do. What timing chose is no part of it: dtypes stay when a model is tuned.
  if (part.with_gradients) FuseMaps(NumericMode::kFast, &lowered.program);
  const bool is_float32 = std::none_of(inputs.begin(), inputs.end(), IsLowPrecision) || !part.native_bf16;
  if (is_float32 || !parameters_behind_[id]) {
    ChooseKernels(PredictedKernels(), machine_.capabilities(), &machine_, &lowered.program);
  }
  return seconds_[key] = SecondsOfRun(lowered.program, machine_);
}

std::vector<bool> GraphCosts::FasterInFloat32() const {
  const Graph& graph = model_.graph();
  std::vector<bool> faster(graph.num_nodes());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (graph.node(id).is_variable() || constant_[id] || !machine_.capabilities().ComputesBF16()) continue;
    if (!machine_.capabilities().onednn_has_bf16 && FactsOf(graph.node(id)).arithmetic != Arithmetic::kAccumulates)
      continue;
    std::vector<DType> inputs, outputs;
    for (const EntryId entry : graph.InputsOf(id)) inputs.push_back(model_.types()[entry].dtype);
    for (const EntryId entry : graph.OutputsOf(id)) outputs.push_back(model_.types()[entry].dtype);
    if (std::find(inputs.begin(), inputs.end(), DType::kBFloat16) == inputs.end()) continue;
    const double lost = Blocks().Gain(id) + SecondsOfLostFusions(id);
    faster[id] = SecondsOf(id, inputs, outputs, {.native_bf16 = false}) + lost < SecondsOf(id, inputs, outputs, {});
  }
  return faster;
}

// What functions of its result take where a cast lies between. oneDNN rounds in its own primitives.
double GraphCosts::SecondsOfLostFusions(NodeId id) const {
  if (machine_.capabilities().onednn_has_bf16) return 0;
  const EntryId out = model_.graph().EntryOf(id, 0);
  double seconds = 0;
  for (const Consumer& reader : model_.graph().ConsumersOf(out)) {
    if (fused_into_[reader.node] == out) seconds += static_cast<double>(OfLostFusion(out, reader)) * 1e-12;
  }
  return seconds;
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
    return IsLowPrecision(dtype) && !(dtype == DType::kBFloat16 && machine_.capabilities().ComputesBF16());
  });
  const bool is_fused = computes && fused_into_[id] != kNone;
  const double forward = is_fused ? SecondsFused(id, inputs) : SecondsAlone(id, inputs, outputs) * PartOf(id, inputs);
  return InPicoseconds(forward + SecondsBackward(id, inputs, outputs));
}

// Found when they are first asked for: plans in float32 never do.
const BlockCosts& GraphCosts::Blocks() const {
  if (!blocks_) blocks_.emplace(machine_, model_, constant_);
  return *blocks_;
}

// What is left of a node's time where a kernel computes it together with others. None does in training.
double GraphCosts::PartOf(NodeId id, const std::vector<DType>& inputs) const {
  if (IsTraining() || inputs.empty()) return 1;
  if (inputs[0] != DType::kFloat32 && !(inputs[0] == DType::kBFloat16 && machine_.capabilities().ComputesBF16()))
    return 1;
  return Blocks().PartOf(id, inputs[0] == DType::kBFloat16);
}

Picoseconds GraphCosts::OfCast(EntryId entry, DType from, DType to) const {
  const Graph& graph = model_.graph();
  const NodeId producer = graph.NodeOf(entry);
  if (constant_[producer]) return 0;
  const Shape& shape = model_.types()[entry].shape;
  const StepTypes types{{{from, shape}}, {{to, shape}}};
  const double forward = machine_.Seconds(FeaturesOf({CastSpec{}, {}, {}, 0, ""}, types));
  return InPicoseconds(forward + SecondsOfGradientCast(entry, to, from));
}

// Products write the gradient of what they read in float32 at once (KeepFloat32Sums), which only takes more bytes.
double GraphCosts::SecondsOfGradientCast(EntryId entry, DType from, DType to) const {
  if (!IsTraining() || !has_gradient_[entry]) return 0;
  const Graph& graph = model_.graph();
  const Shape& shape = model_.types()[entry].shape;
  const auto& readers = graph.ConsumersOf(entry);
  const bool is_written = to == DType::kFloat32 && std::all_of(readers.begin(), readers.end(), [&](const Consumer& c) {
                            return FactsOf(graph.node(c.node)).arithmetic == Arithmetic::kAccumulates;
                          });
  if (!is_written) return machine_.Seconds(FeaturesOf({CastSpec{}, {}, {}, 0, ""}, {{{from, shape}}, {{to, shape}}}));
  const auto more = static_cast<double>(BytesOf(to)) - static_cast<double>(BytesOf(from));
  return machine_.TrafficSeconds(std::max(0.0, more) * static_cast<double>(shape.size()));
}

Picoseconds GraphCosts::OfLostFusion(EntryId entry, const Consumer& reader) const {
  if (!machine_.capabilities().ComputesBF16()) return 0;
  double lost = !IsTraining() && reader.slot == 0 ? Blocks().Loss(reader.node) : 0;
  if (fused_into_[reader.node] == entry) {
    const std::vector<DType> inputs(model_.graph().InputsOf(reader.node).size(), DType::kFloat32);
    const double alone = SecondsAlone(reader.node, inputs, {DType::kFloat32});
    lost += std::max(0.0, alone - SecondsFused(reader.node, inputs));
  }
  return InPicoseconds(lost);
}

}  // namespace amp
