#include "program/lowering.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "passes/op_facts.h"
#include "program/emulation.h"
#include "program/reference.h"

namespace amp {
namespace {

bool IsIgnored(const Node& node, std::size_t slot) { return FactsOf(node).RoleOf(slot) == SlotRole::kIgnored; }
bool IsCast(const Node& node) { return FactsOf(node).arithmetic == Arithmetic::kCasts; }

// Runs the kernel on arrays in the slots of the node; the others stay undefined. Nothing is done where every output is
// `empty`.
CallSpec ReferenceCall(const NodePtr& node, const ReferenceKernel& kernel, std::vector<int> read_slots,
                       std::vector<int> written, bool empty) {
  auto run = [node, &kernel, read_slots = std::move(read_slots), written = std::move(written), empty](
                 std::span<const NDArray> inputs, std::span<NDArray> outputs) {
    if (empty) return;
    std::vector<NDArray> in(node->inputs().size()), out(static_cast<std::size_t>(node->num_outputs()));
    for (std::size_t i = 0; i < read_slots.size(); ++i) in[read_slots[i]] = inputs[i];
    for (std::size_t i = 0; i < written.size(); ++i) out[written[i]] = outputs[i];
    kernel.run(*node, in, out);
  };
  return {std::move(run), node->op_name()};
}

bool IsOwn(const StepSpec& spec) {
  return KindOf(spec).is_view || std::holds_alternative<ChannelSumsSpec>(spec) ||
         std::holds_alternative<ScaleShiftSpec>(spec) || std::holds_alternative<MapSpec>(spec) ||
         std::holds_alternative<KernelSpec>(spec) || std::holds_alternative<CastSpec>(spec) ||
         std::holds_alternative<PoolingGradientSpec>(spec) || std::holds_alternative<PadSpec>(spec);
}

// A rule need not know how to make every output; the node is not lowered by it where one that is read is missing.
bool HasAllOutputs(const LowerContext& context) {
  for (int i = 0; i < context.node().num_outputs(); ++i) {
    if (context.is_read(i) && context.outputs()[i] == kNoValue) return false;
  }
  return true;
}

bool HasEmptyInput(const LowerContext& context) {
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    if (!IsIgnored(context.node(), i) && context.in_type(static_cast<int>(i)).shape.size() == 0) return true;
  }
  return false;
}

class Lowerer {
 public:
  Lowerer(const Model& model, const LowerOptions& options)
      : model_(model),
        graph_(model.graph()),
        types_(model.types()),
        options_(options),
        value_of_(model.graph().num_entries(), kNoValue),
        constant_(model.graph().num_nodes()) {}

  LoweredGraph Run() {
    const std::vector<bool> needed = NeededNodes(graph_);
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (!needed[id]) continue;
      if (graph_.node(id).is_variable()) {
        AddVariable(id);
      } else {
        key_ = NewKey(graph_.node(id));
        AddOperator(id);
      }
    }
    for (const NodeEntry& output : graph_.outputs())
      result_.program.outputs.push_back(value_of_[graph_.EntryOf(output)]);
    return std::move(result_);
  }

 private:
  Program& program() { return result_.program; }

  void AddVariable(NodeId id) {
    const std::string& name = graph_.node(id).name();
    const EntryId entry = graph_.EntryOf(id, 0);
    const bool is_parameter = model_.IsParameter(id);
    value_of_[entry] = program().AddValue(types_[entry], ParameterKey(name),
                                          is_parameter ? ValueSource::kConstant : ValueSource::kInput);
    constant_[id] = is_parameter;
    if (is_parameter) return;
    program().inputs.push_back(value_of_[entry]);
    result_.input_names.push_back(name);
  }

  // What the names of the node's values begin with. Plans of one model for several shapes share what they computed from
  // parameters: they have nodes of the same names, which may stand in other places of the graph.
  std::string NewKey(const Node& node) {
    const std::string key = node.op_name() + ":" + node.name();
    return fmt::format("#{}:{}", uses_of_key_[key]++, key);
  }

  bool IsRead(EntryId entry) const { return graph_.IsOutput(entry) || !graph_.ConsumersOf(entry).empty(); }

  void AddOperator(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> inputs;
    std::vector<TensorType> in_types, out_types;
    std::vector<bool> is_read;
    bool empty = true;
    // Loops of no steps are lowered like others: what bodies make of parameters must not depend on shapes.
    const bool has_bodies = !node.subgraphs().empty();
    for (const EntryId input : graph_.InputsOf(id)) {
      inputs.push_back(value_of_[input]);
      in_types.push_back(types_[input]);
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      const EntryId entry = graph_.EntryOf(id, i);
      out_types.push_back(types_[entry]);
      is_read.push_back(IsRead(entry));
      empty = empty && (!is_read.back() || out_types.back().shape.size() == 0);
    }
    const std::size_t num_steps = program().steps.size();
    const auto new_context = [&] {
      return LowerContext(&program(), node, id, key_, inputs, in_types, out_types, is_read, &options_.plan_body);
    };
    if ((!empty || has_bodies) && !options_.reference) {
      LowerContext by_rule = new_context();
      if (LowerByRule(id, &by_rule)) return Finish(id, by_rule);
      program().steps.resize(num_steps);
      LowerContext by_kernel = new_context();
      if (LowerByKernel(&by_kernel)) return Finish(id, by_kernel);
      program().steps.resize(num_steps);
    }
    LowerContext by_reference = new_context();
    CallReference(id, empty, &by_reference);
    Finish(id, by_reference);
  }

  // Whether other input shapes may bring constants of the node into other shapes: an addition broadcasts a parameter
  // for one and reads it as it is for another, and what only lends its shape may be an input's. Products, and the
  // bodies of loops, take their weights as they are.
  bool DependsOnInputShape(NodeId id) const {
    const Node& node = graph_.node(id);
    const bool takes_weights = HasProducts(node);
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!IsConstant(inputs[slot]) && (!takes_weights || IsIgnored(node, slot))) return true;
    }
    return false;
  }

  bool IsConstant(EntryId entry) const { return constant_[graph_.NodeOf(entry)]; }

  // Elements that only move keep their bits in any case.
  std::optional<AlternateMode> AlternateOfNode(NodeId id) const {
    const Node& node = graph_.node(id);
    const std::optional<AlternateMode> mode = AlternateOf(node, options_.alternate);
    if (!mode || FactsOf(node).arithmetic == Arithmetic::kMovesData || !TouchesBFloat16(model_, id))
      return std::nullopt;
    const bool multiplies_bfloat16 =
        FactsOf(node).arithmetic == Arithmetic::kAccumulates && options_.native_bf16 && !InFloat32(id);
    return multiplies_bfloat16 ? mode : AlternateMode::kF32;
  }

  void Finish(NodeId id, const LowerContext& context) {
    constant_[id] = std::ranges::all_of(graph_.InputsOf(id), [&](EntryId input) { return IsConstant(input); });
    const std::optional<AlternateMode> mode = AlternateOfNode(id);
    const bool depends_on_input_shape = DependsOnInputShape(id);
    std::vector<Step>& steps = program().steps;
    for (std::size_t i = steps.size(); i-- > 0 && steps[i].node == id;) {
      if (mode) steps[i].alternate = mode;
      steps[i].depends_on_input_shape = depends_on_input_shape;
    }
    result_.constants.insert(context.constants().begin(), context.constants().end());
    for (std::size_t i = 0; i < context.outputs().size(); ++i) {
      value_of_[graph_.EntryOf(id, i)] = context.outputs()[i];
    }
  }

  bool InFloat32(NodeId id) const { return !options_.in_float32.empty() && options_.in_float32[id]; }

  Emulation EmulationOf(NodeId id) const {
    const bool is_exact = AlternateOfNode(id) == AlternateMode::kF32;
    return Emulation(options_.native_bf16 && !InFloat32(id) && !is_exact);
  }

  bool LowerByRule(NodeId id, LowerContext* context) {
    const Node& node = graph_.node(id);
    if (options_.unsupported.contains(id)) return false;
    if (node.op()->Find<IsView>()) {
      context->SetOut(0, context->Reshape(context->in(0), context->out_type(0).shape));
      return HasAllOutputs(*context);
    }
    const auto* rule = node.op()->Find<LowerRule>();
    if (rule == nullptr || HasEmptyInput(*context)) return false;
    if (IsCast(node)) return rule->lower(*context);
    if (!ComputesInKnownDTypes(*context)) return false;
    const Emulation emulation = EmulationOf(id);
    if (emulation.IsNeededFor(*context)) {
      if (IsNativeBut(id) && LowerToOwnKernels(*rule, context)) return true;
      // What moves elements as they are needs no arithmetic.
      const bool moves = FactsOf(node).arithmetic == Arithmetic::kMovesData && LowerByKernel(context);
      return moves || LowerEmulated(id, *rule, emulation, context);
    }
    return rule->lower(*context) && HasAllOutputs(*context);
  }

  // Only that its alternate implementation is wanted makes the node run in float32.
  bool IsNativeBut(NodeId id) const {
    return options_.native_bf16 && !InFloat32(id) && AlternateOfNode(id) == AlternateMode::kF32;
  }

  // Own kernels round by themselves: they need no casts beside them.
  bool LowerToOwnKernels(const LowerRule& rule, LowerContext* context) {
    const std::size_t num_steps = program().steps.size();
    if (IsNarrowing(context->node(), context->in_types(), context->out_types())) return false;
    LowerContext inner = *context;
    const bool is_lowered = rule.lower(inner) && HasAllOutputs(inner);
    const auto begin = program().steps.begin() + static_cast<std::ptrdiff_t>(num_steps);
    if (is_lowered && std::all_of(begin, program().steps.end(), [](const Step& s) { return IsOwn(s.spec); })) {
      for (int i = 0; i < context->node().num_outputs(); ++i) context->SetOut(i, inner.outputs()[i]);
      result_.constants.insert(inner.constants().begin(), inner.constants().end());
      return true;
    }
    program().steps.resize(num_steps);
    return false;
  }

  static bool LowerByKernel(LowerContext* context) {
    const auto* rule = context->node().op()->Find<KernelRule>();
    if (rule == nullptr) return false;
    const bool has_bodies = !context->node().subgraphs().empty();
    return (has_bodies || !HasEmptyInput(*context)) && rule->lower(*context) && HasAllOutputs(*context);
  }

  // Low-precision tensors are storage only: arithmetic happens in float32 between own conversions.
  bool LowerEmulated(NodeId id, const LowerRule& rule, const Emulation& emulation, LowerContext* context) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> inputs;
    std::vector<TensorType> in_types, out_types;
    std::vector<bool> is_read;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      in_types.push_back(emulation.Widened(context->in_type(i)));
      const bool cast = !IsIgnored(node, i) && emulation.IsEmulated(context->in_type(i).dtype);
      inputs.push_back(cast ? context->Cast(context->in(i), DType::kFloat32) : context->in(i));
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      out_types.push_back(emulation.Widened(context->out_type(i)));
      is_read.push_back(context->is_read(i));
    }
    if (IsNarrowing(node, in_types, out_types)) out_types[0].dtype = DType::kFloat32;
    LowerContext inner(&program(), node, id, key_, inputs, in_types, out_types, is_read);
    if (!rule.lower(inner) || !HasAllOutputs(inner)) return false;
    result_.constants.insert(inner.constants().begin(), inner.constants().end());
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (is_read[i]) context->SetOut(i, context->Cast(inner.outputs()[i], context->out_type(i).dtype));
    }
    return true;
  }

  std::string FallbackReason(NodeId id, bool empty) const {
    const auto unsupported = options_.unsupported.find(id);
    if (unsupported != options_.unsupported.end()) return unsupported->second;
    if (options_.reference) return "";
    return empty ? "its outputs have no elements" : "oneDNN cannot express it with these attributes or types";
  }

  void CallReference(NodeId id, bool empty, LowerContext* context) {
    const NodePtr& node = graph_.nodes()[id];
    const auto* kernel = node->op()->Find<ReferenceKernel>();
    if (kernel == nullptr) Throw<UnsupportedError>("{}: the operator has no kernel", node->Describe());
    Step step;
    step.node = id;
    step.reason = FallbackReason(id, empty);
    std::vector<int> read_slots, written;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      if (IsIgnored(*node, i) || empty) continue;
      read_slots.push_back(i);
      step.inputs.push_back(context->in(i));
    }
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (!context->is_read(i)) continue;
      written.push_back(i);
      const std::string name = fmt::format("{}:out{}", key_, i);
      step.outputs.push_back(program().AddValue(context->out_type(i), name, ValueSource::kComputed));
      context->SetOut(i, step.outputs.back());
    }
    step.spec = ReferenceCall(node, *kernel, read_slots, written, empty);
    program().steps.push_back(std::move(step));
  }

  const Model& model_;
  const Graph& graph_;
  const Types& types_;
  const LowerOptions& options_;
  std::vector<ValueId> value_of_;
  std::vector<bool> constant_;                        // by node: computed from parameters alone
  std::string key_;                                   // of the node that is being lowered
  std::unordered_map<std::string, int> uses_of_key_;  // nodes so far
  LoweredGraph result_;
};

}  // namespace

bool TouchesBFloat16(const Model& model, NodeId id) {
  const Graph& graph = model.graph();
  const auto is_bf16 = [&](EntryId entry) { return model.types()[entry].dtype == DType::kBFloat16; };
  const auto inputs = graph.InputsOf(id);
  if (std::any_of(inputs.begin(), inputs.end(), is_bf16)) return true;
  for (int i = 0; i < graph.node(id).num_outputs(); ++i) {
    if (is_bf16(graph.EntryOf(id, i))) return true;
  }
  return false;
}

std::vector<bool> NeededNodes(const Graph& graph) {
  std::vector<bool> needed(graph.num_nodes());
  for (const NodeEntry& output : graph.outputs()) needed[graph.IdOf(output.node.get())] = true;
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    if (!needed[id]) continue;
    const auto inputs = graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!IsIgnored(graph.node(id), slot)) needed[graph.NodeOf(inputs[slot])] = true;
    }
  }
  return needed;
}

LoweredGraph Lower(const Model& model, const LowerOptions& options) { return Lowerer(model, options).Run(); }

}  // namespace amp
