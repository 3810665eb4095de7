#include "program/lowering.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp {
namespace {

constexpr ValueId kNoValue = ~ValueId{0};

bool IsIgnored(const Node& node, std::size_t slot) { return FactsOf(node).RoleOf(slot) == SlotRole::kIgnored; }
bool IsCast(const Node& node) { return FactsOf(node).arithmetic == Arithmetic::kCasts; }

class Lowerer {
 public:
  Lowerer(const Graph& graph, const Types& types, const std::set<std::string>& parameters, const LowerOptions& options)
      : graph_(graph),
        types_(types),
        parameters_(parameters),
        options_(options),
        value_of_(graph.num_entries(), kNoValue) {}

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
    for (const NodeEntry& head : graph_.outputs()) result_.program.outputs.push_back(value_of_[graph_.EntryOf(head)]);
    return std::move(result_);
  }

 private:
  Program& program() { return result_.program; }

  void AddVariable(NodeId id) {
    const std::string& name = graph_.node(id).name();
    const EntryId entry = graph_.EntryOf(id, 0);
    const bool is_parameter = parameters_.contains(name);
    value_of_[entry] = program().AddValue(types_[entry], ParameterKey(name),
                                          is_parameter ? ValueSource::kConstant : ValueSource::kInput);
    if (is_parameter) return;
    program().inputs.push_back(value_of_[entry]);
    result_.input_names.push_back(name);
  }

  // What the names of the node's values begin with. Plans of one model for several shapes share what they computed from
  // parameters: they have nodes of the same names, which may stand in other places of the graph.
  std::string NewKey(const Node& node) {
    const std::string key = node.op_name() + ":" + node.name();
    return fmt::format("#{}:{}", num_of_key_[key]++, key);
  }

  bool Wanted(EntryId entry) const { return graph_.IsOutput(entry) || !graph_.ConsumersOf(entry).empty(); }

  void AddOperator(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> inputs;
    std::vector<TensorType> in_types, out_types;
    std::vector<bool> wanted;
    bool empty = true;
    for (const EntryId input : graph_.InputsOf(id)) {
      inputs.push_back(value_of_[input]);
      in_types.push_back(types_[input]);
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      const EntryId entry = graph_.EntryOf(id, static_cast<std::uint32_t>(i));
      out_types.push_back(types_[entry]);
      wanted.push_back(Wanted(entry));
      empty = empty && (!wanted.back() || out_types.back().shape.size() == 0);
    }
    const std::size_t num_steps = program().steps.size();
    const auto new_context = [&] {
      return LowerContext(&program(), node, id, key_, inputs, in_types, out_types, wanted);
    };
    LowerContext by_rule = new_context();
    if (!empty && !options_.reference && LowerByRule(id, &by_rule)) return Finish(id, by_rule);
    program().steps.resize(num_steps);
    LowerContext by_reference = new_context();
    CallReference(id, empty, &by_reference);
    Finish(id, by_reference);
  }

  // What only lends its shape may be an input's: a slice of a parameter like an input is no constant.
  bool IsShapedByInputs(NodeId id) const {
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const Node& producer = graph_.node(graph_.NodeOf(inputs[slot]));
      const bool is_parameter = producer.is_variable() && parameters_.contains(producer.name());
      if (IsIgnored(graph_.node(id), slot) && !is_parameter) return true;
    }
    return false;
  }

  void Finish(NodeId id, const LowerContext& context) {
    if (IsShapedByInputs(id)) {
      std::vector<Step>& steps = program().steps;
      for (std::size_t i = steps.size(); i-- > 0 && steps[i].node == id;) steps[i].is_shaped_by_inputs = true;
    }
    result_.constants.insert(context.constants().begin(), context.constants().end());
    for (std::size_t i = 0; i < context.outputs().size(); ++i) {
      value_of_[graph_.EntryOf(id, static_cast<std::uint32_t>(i))] = context.outputs()[i];
    }
  }

  bool LowerByRule(NodeId id, LowerContext* context) {
    const Node& node = graph_.node(id);
    if (options_.refused.contains(id)) return false;
    if (node.op()->Find<IsView>()) {
      context->SetOut(0, context->Reshape(context->in(0), context->out_type(0).shape));
      return HasAllOutputs(*context);
    }
    const auto* rule = node.op()->Find<LowerRule>();
    if (rule == nullptr || HasEmptyInput(*context)) return false;
    if (IsCast(node)) return rule->lower(*context);
    if (!OnlyKnownDTypes(*context)) return false;
    if (NeedsEmulation(*context)) return LowerEmulated(id, *rule, context);
    return rule->lower(*context) && HasAllOutputs(*context);
  }

  // A rule need not know how to make every output; one that is read and missing is a refusal.
  static bool HasAllOutputs(const LowerContext& context) {
    for (int i = 0; i < context.node().num_outputs(); ++i) {
      if (context.wanted(i) && context.outputs()[i] == kNoValue) return false;
    }
    return true;
  }

  bool HasEmptyInput(const LowerContext& context) const {
    for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
      if (!IsIgnored(context.node(), i) && context.in_type(static_cast<int>(i)).shape.size() == 0) return true;
    }
    return false;
  }

  bool IsEmulated(DType dtype) const {
    return dtype == DType::kFloat16 || (dtype == DType::kBFloat16 && !options_.native_bf16);
  }

  // Those that say how the node computes: output 0's, and the operands' where they may differ from it. A bias is none:
  // it is added to the float32 sum.
  static std::vector<DType> DTypesOf(const Node& node, const std::vector<TensorType>& in,
                                     const std::vector<TensorType>& out) {
    std::vector<DType> dtypes{out[0].dtype};
    if (FactsOf(node).arithmetic != Arithmetic::kAccumulates) return dtypes;
    for (std::size_t slot = 0; slot < in.size(); ++slot) {
      if (FactsOf(node).RoleOf(slot) == SlotRole::kData) dtypes.push_back(in[slot].dtype);
    }
    return dtypes;
  }
  static std::vector<DType> DTypesOf(const LowerContext& context) {
    return DTypesOf(context.node(), context.in_types(), context.out_types());
  }

  // No primitive reads float32 and writes less.
  static bool Narrows(const std::vector<DType>& dtypes) {
    return IsLowPrecision(dtypes[0]) && std::find(dtypes.begin(), dtypes.end(), DType::kFloat32) != dtypes.end();
  }

  bool NeedsEmulation(const LowerContext& context) const {
    const std::vector<DType> dtypes = DTypesOf(context);
    return Narrows(dtypes) || std::any_of(dtypes.begin(), dtypes.end(), [&](DType d) { return IsEmulated(d); });
  }

  static bool OnlyKnownDTypes(const LowerContext& context) {
    const std::vector<DType> dtypes = DTypesOf(context);
    return std::all_of(dtypes.begin(), dtypes.end(), [](DType d) { return d == DType::kFloat32 || IsLowPrecision(d); });
  }

  // Low-precision tensors are storage only: arithmetic happens in float32 between own conversions.
  bool LowerEmulated(NodeId id, const LowerRule& rule, LowerContext* context) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> inputs;
    std::vector<TensorType> in_types, out_types;
    std::vector<bool> wanted;
    const auto widened = [&](TensorType type) {
      if (IsEmulated(type.dtype)) type.dtype = DType::kFloat32;
      return type;
    };
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      in_types.push_back(widened(context->in_type(i)));
      const bool cast = !IsIgnored(node, i) && IsEmulated(context->in_type(i).dtype);
      inputs.push_back(cast ? context->Cast(context->in(i), DType::kFloat32) : context->in(i));
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      out_types.push_back(widened(context->out_type(i)));
      wanted.push_back(context->wanted(i));
    }
    if (Narrows(DTypesOf(node, in_types, out_types))) out_types[0].dtype = DType::kFloat32;
    LowerContext inner(&program(), node, id, key_, inputs, in_types, out_types, wanted);
    if (!rule.lower(inner) || !HasAllOutputs(inner)) return false;
    result_.constants.insert(inner.constants().begin(), inner.constants().end());
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (wanted[i]) context->SetOut(i, context->Cast(inner.outputs()[i], context->out_type(i).dtype));
    }
    return true;
  }

  void CallReference(NodeId id, bool empty, LowerContext* context) {
    const NodePtr& node = graph_.nodes()[id];
    const auto* kernel = node->op()->Find<ReferenceKernel>();
    if (kernel == nullptr) Throw<UnsupportedError>("{}: the operator has no kernel", node->Describe());
    Step step;
    step.node = id;
    const auto refused = options_.refused.find(id);
    if (refused != options_.refused.end()) {
      step.reason = refused->second;
    } else if (!options_.reference) {
      step.reason = empty ? "its outputs have no elements" : "oneDNN cannot express it with these attributes or types";
    }
    std::vector<int> read_slots, written;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      if (IsIgnored(*node, i) || empty) continue;
      read_slots.push_back(i);
      step.inputs.push_back(context->in(i));
    }
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (!context->wanted(i)) continue;
      written.push_back(i);
      const std::string name = fmt::format("{}:out{}", key_, i);
      step.outputs.push_back(program().AddValue(context->out_type(i), name, ValueSource::kComputed));
      context->SetOut(i, step.outputs.back());
    }
    step.work = CallWork{
        [node, kernel, read_slots, written, empty](std::span<const NDArray> inputs, std::span<NDArray> outputs) {
          if (empty) return;  // every output has no elements
          std::vector<NDArray> in(node->inputs().size()), out(node->num_outputs());
          for (std::size_t i = 0; i < read_slots.size(); ++i) in[read_slots[i]] = inputs[i];
          for (std::size_t i = 0; i < written.size(); ++i) out[written[i]] = outputs[i];
          kernel->run(*node, in, out);
        }};
    program().steps.push_back(std::move(step));
  }

  const Graph& graph_;
  const Types& types_;
  const std::set<std::string>& parameters_;
  const LowerOptions& options_;
  std::vector<ValueId> value_of_;
  std::string key_;                                  // of the node that is being lowered
  std::unordered_map<std::string, int> num_of_key_;  // nodes so far
  LoweredGraph result_;
};

}  // namespace

LowerContext::LowerContext(Program* program, const Node& node, NodeId id, std::string key, std::vector<ValueId> inputs,
                           std::vector<TensorType> in_types, std::vector<TensorType> out_types,
                           std::vector<bool> wanted)
    : program_(program),
      node_(node),
      id_(id),
      key_(std::move(key)),
      inputs_(std::move(inputs)),
      in_types_(std::move(in_types)),
      out_types_(std::move(out_types)),
      wanted_(std::move(wanted)),
      outputs_(out_types_.size(), kNoValue) {}

ValueId LowerContext::Constant(const NDArray& array, const std::string& name) {
  const std::string key = fmt::format("{}:={}", key_, name);
  constants_[key] = array;
  return program_->AddValue(array.type(), key, ValueSource::kConstant);
}

// The types of the operands are part of the name: emulated and native lowerings of one node must not share constants.
std::string LowerContext::NewName(const Work& work, DType dtype) const {
  std::size_t number = 0;  // of the steps that this node has already
  while (number < program_->steps.size() && program_->steps[program_->steps.size() - 1 - number].node == id_) ++number;
  return fmt::format("{}:{}{}:{}", key_, WorkName(work), number, NameOf(dtype));
}

ValueId LowerContext::Emit(Work work, std::vector<ValueId> inputs, TensorType type) {
  const std::string name = NewName(work, type.dtype);
  const ValueId out = program_->AddValue(std::move(type), name, ValueSource::kComputed);
  program_->steps.push_back({std::move(work), std::move(inputs), {out}, id_, ""});
  return out;
}

std::vector<ValueId> LowerContext::EmitCall(CallWork work, std::vector<ValueId> inputs, std::vector<TensorType> types) {
  Step step{std::move(work), std::move(inputs), {}, id_, ""};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name = fmt::format("{}:{}", NewName(step.work, types[i].dtype), i);
    step.outputs.push_back(program_->AddValue(std::move(types[i]), name, ValueSource::kComputed));
  }
  std::vector<ValueId> outputs = step.outputs;
  program_->steps.push_back(std::move(step));
  return outputs;
}

ValueId LowerContext::Reshape(ValueId value, Shape shape) {
  if (ShapeOf(value) == shape) return value;
  return Emit(ReshapeWork{}, {value}, {DTypeOf(value), std::move(shape)});
}

ValueId LowerContext::Permute(ValueId value, std::vector<int> axes) {
  const Shape& shape = ShapeOf(value);
  std::vector<std::int64_t> dims;
  for (const int axis : axes) dims.push_back(shape[axis]);
  const DType dtype = DTypeOf(value);
  return Emit(PermuteWork{std::move(axes)}, {value}, {dtype, Shape(std::move(dims))});
}

ValueId LowerContext::Cast(ValueId value, DType dtype) {
  if (DTypeOf(value) == dtype) return value;
  return Emit(CastWork{}, {value}, {dtype, ShapeOf(value)});
}

std::vector<bool> NeededNodes(const Graph& graph) {
  std::vector<bool> needed(graph.num_nodes());
  for (const NodeEntry& head : graph.outputs()) needed[graph.IdOf(head.node.get())] = true;
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    if (!needed[id]) continue;
    const auto inputs = graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!IsIgnored(graph.node(id), slot)) needed[graph.NodeOf(inputs[slot])] = true;
    }
  }
  return needed;
}

LoweredGraph Lower(const Graph& graph, const Types& types, const std::set<std::string>& parameters,
                   const LowerOptions& options) {
  return Lowerer(graph, types, parameters, options).Run();
}

}  // namespace amp
