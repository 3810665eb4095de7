#include "passes/reduce_precision.h"

#include <map>
#include <utility>

namespace amp {
namespace {

class Decider {
 public:
  Decider(const Graph& graph, const Types& types, const std::vector<bool>& parameters, DType target)
      : graph_(graph), types_(types), parameters_(parameters), target_(target), now_(graph.num_entries()) {}

  Decision Run() {
    Decision decision;
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) decision.nodes.push_back(DecideNode(id));
    return decision;
  }

 private:
  NodeDecision DecideNode(NodeId id) {
    const Node& node = graph_.node(id);
    NodeDecision decision = node.is_variable() ? KeepVariable(id) : DecideOperator(id, node);
    for (std::size_t i = 0; i < decision.outputs.size(); ++i) {
      now_[graph_.EntryOf(id, static_cast<std::uint32_t>(i))] = decision.outputs[i].dtype;
    }
    return decision;
  }

  NodeDecision KeepVariable(NodeId id) const {
    NodeDecision decision;
    decision.outputs = {{OriginalOf(graph_.EntryOf(id, 0)), "a variable keeps its dtype"}};
    return decision;
  }

  NodeDecision DecideOperator(NodeId id, const Node& node) {
    if (node.op_name() == "amp_multicast") return DecideMulticast(id, node);
    switch (FactsOf(node).arithmetic) {
      case Arithmetic::kAccumulates:
        return Lower(id, node, "accumulates in float32 and gains from low-precision operands");
      case Arithmetic::kElementwise:
      case Arithmetic::kMovesData:
        return Follow(id, node);
      case Arithmetic::kNeedsFloat32:
        return Original(id, node, "computes in float32 (exponentials, reductions or losses)");
      case Arithmetic::kCasts:
        return AsItComes(id, node, "casts to the dtype of its attribute");
    }
    throw InternalError("an operator of unknown arithmetic");
  }

  // A neutral node goes low when everything it reads is low already, parameters aside: those are cast once.
  NodeDecision Follow(NodeId id, const Node& node) {
    const AmpFacts& facts = FactsOf(node);
    const auto inputs = graph_.InputsOf(id);
    bool any_low = false;
    std::string blocker;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (facts.RoleOf(slot) != SlotRole::kData || !IsFloat(now_[inputs[slot]])) continue;
      if (now_[inputs[slot]] == target_) {
        any_low = true;
      } else if (!IsParameter(inputs[slot])) {
        blocker = graph_.EntryName(inputs[slot]);
      }
    }
    if (!any_low) return Original(id, node, "no input is in low precision");
    if (!blocker.empty()) return Original(id, node, blocker + " is not in low precision");
    return Lower(id, node, "all it reads is in low precision");
  }

  NodeDecision Lower(NodeId id, const Node& node, const std::string& reason) {
    const AmpFacts& facts = FactsOf(node);
    const auto inputs = graph_.InputsOf(id);
    NodeDecision decision;
    std::vector<DType> wanted;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const DType original = OriginalOf(inputs[slot]);
      if (facts.RoleOf(slot) == SlotRole::kIgnored) {
        decision.inputs.push_back({now_[inputs[slot]], "not read at inference"});
      } else if (facts.RoleOf(slot) != SlotRole::kData) {
        decision.inputs.push_back({original, "statistics, scales and indices keep their dtype"});
      } else if (original == DType::kFloat32 || original == target_) {
        decision.inputs.push_back({target_, reason});
      } else {
        return Original(id, node, fmt::format("{} is {}", graph_.EntryName(inputs[slot]), NameOf(original)));
      }
      wanted.push_back(decision.inputs.back().dtype);
    }
    std::string refusal;
    const std::vector<DType> outputs = OutputDTypes(node, wanted, &refusal);
    if (outputs.empty()) return Original(id, node, "the operator refuses low precision: " + refusal);
    for (const DType dtype : outputs) decision.outputs.push_back({dtype, reason});
    decision.accumulation = DType::kFloat32;
    return decision;
  }

  // Every input and output in the dtype that it had before the conversion.
  NodeDecision Original(NodeId id, const Node& node, const std::string& reason) const {
    NodeDecision decision;
    for (const EntryId input : graph_.InputsOf(id)) decision.inputs.push_back({OriginalOf(input), reason});
    for (int i = 0; i < node.num_outputs(); ++i) {
      decision.outputs.push_back({OriginalOf(graph_.EntryOf(id, static_cast<std::uint32_t>(i))), reason});
    }
    decision.accumulation = decision.outputs[0].dtype;
    return decision;
  }

  // Inputs in whatever dtype they now have, if the operator allows that.
  NodeDecision AsItComes(NodeId id, const Node& node, const std::string& reason) const {
    NodeDecision decision;
    std::vector<DType> in;
    for (const EntryId input : graph_.InputsOf(id)) {
      in.push_back(now_[input]);
      decision.inputs.push_back({now_[input], reason});
    }
    std::string refusal;
    const std::vector<DType> outputs = OutputDTypes(node, in, &refusal);
    if (outputs.empty()) return Original(id, node, refusal);
    for (const DType dtype : outputs) decision.outputs.push_back({dtype, reason});
    decision.accumulation = outputs[0];
    return decision;
  }

  // The common dtype of what amp_multicast reads now; its replacement casts each input to it where necessary.
  NodeDecision DecideMulticast(NodeId id, const Node& node) const {
    return AsItComes(id, node, "amp_multicast: the common dtype of its inputs");
  }

  DType OriginalOf(EntryId entry) const { return types_[entry].dtype; }
  bool IsParameter(EntryId entry) const { return parameters_[graph_.NodeOf(entry)]; }

  const Graph& graph_;
  const Types& types_;
  const std::vector<bool>& parameters_;
  const DType target_;
  std::vector<DType> now_;  // dtype of each entry in the converted graph, before casts
};

class DecisionRewriter {
 public:
  DecisionRewriter(const Graph& graph, const Types& types, const Decision& decision)
      : graph_(graph), types_(types), decision_(decision), rewriter_(graph) {}

  RewriteResult Run() {
    return rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); },
                         [this](std::size_t index, NodeEntry mapped) { return Head(index, std::move(mapped)); });
  }

 private:
  using CastKey = std::pair<std::pair<const Node*, std::uint32_t>, DType>;

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    const NodeDecision& decision = decision_.nodes[id];
    const auto sources = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      inputs[slot] = AsType(sources[slot], std::move(inputs[slot]), decision.inputs[slot].dtype);
    }
    if (node.op_name() == "amp_multicast") {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i] = AsType(sources[i], std::move(inputs[i]), decision.outputs[i].dtype);
      }
      return inputs;
    }
    const bool is_identity = node.op_name() == "amp_cast" && decision.inputs[0].dtype == decision.outputs[0].dtype;
    if (is_identity && !graph_.IsOutput(graph_.EntryOf(id, 0))) return inputs;
    return rewriter_.Keep(id, std::move(inputs));
  }

  // A head keeps its dtype and its name: where either would change, a cast that carries the name stands in front of it.
  NodeEntry Head(std::size_t index, NodeEntry mapped) {
    const NodeEntry& head = graph_.outputs()[index];
    const EntryId entry = graph_.EntryOf(head);
    const std::string name = OutputName(head);
    if (DecidedDType(entry) != types_[entry].dtype) mapped = Cast(std::move(mapped), entry, types_[entry].dtype);
    if (OutputName(mapped) == name) return mapped;
    if (const auto found = named_.find(entry); found != named_.end()) return found->second;  // a head given twice
    return named_[entry] = NewCast(std::move(mapped), entry, types_[entry].dtype, {{kOutputNameAttr, name}});
  }

  NodeEntry AsType(EntryId source, NodeEntry mapped, DType dtype) {
    if (DecidedDType(source) == dtype) return mapped;
    return Cast(std::move(mapped), source, dtype);
  }

  NodeEntry Cast(NodeEntry mapped, EntryId source, DType dtype) {
    const CastKey key{{mapped.node.get(), mapped.index}, dtype};
    if (const auto found = casts_.find(key); found != casts_.end()) return found->second;
    AttrMap attrs;
    if (graph_.IsOutput(source) && dtype == types_[source].dtype) {
      attrs[kOutputNameAttr] = graph_.EntryName(source);
    }
    return casts_.emplace(key, NewCast(std::move(mapped), source, dtype, std::move(attrs))).first->second;
  }

  NodeEntry NewCast(NodeEntry mapped, EntryId source, DType dtype, AttrMap attrs) {
    static const Op& amp_cast = OpRegistry::Get().Require(kMXNetDomain, "amp_cast");
    attrs["dtype"] = NameOf(dtype);
    const Node& producer = graph_.node(graph_.NodeOf(source));
    const std::string name = fmt::format("{}_{}_amp_cast_{}", producer.name(), graph_.IndexOf(source), NameOf(dtype));
    return {rewriter_.Make({&amp_cast, name, std::move(attrs), {std::move(mapped)}, {}, {}}), 0};
  }

  DType DecidedDType(EntryId entry) const {
    return decision_.nodes[graph_.NodeOf(entry)].outputs[graph_.IndexOf(entry)].dtype;
  }

  const Graph& graph_;
  const Types& types_;
  const Decision& decision_;
  Rewriter rewriter_;
  std::map<CastKey, NodeEntry> casts_;
  std::map<EntryId, NodeEntry> named_;  // casts made for a head's name alone
};

}  // namespace

std::string Decision::Print(const Graph& graph) const {
  std::string text;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_variable()) continue;
    const std::vector<std::string> inputs = node.input_names();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const SlotDecision& slot = nodes[id].inputs[i];
      text += fmt::format("{}.{} <- {}: {}\n", node.name(), inputs[i], NameOf(slot.dtype), slot.reason);
    }
    const std::vector<std::string> outputs = node.output_names();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const SlotDecision& slot = nodes[id].outputs[i];
      text += fmt::format("{}.{} -> {}: {}\n", node.name(), outputs[i], NameOf(slot.dtype), slot.reason);
    }
  }
  return text;
}

Decision Decide(const Graph& graph, const Types& types, const std::vector<bool>& parameters,
                const PrecisionOptions& options) {
  if (!IsLowPrecision(options.target)) {
    Throw<ArgumentError>("target dtype: expected bfloat16 or float16, got {}", NameOf(options.target));
  }
  return Decider(graph, types, parameters, options.target).Run();
}

RewriteResult ApplyDecision(const Graph& graph, const Types& types, const Decision& decision) {
  return DecisionRewriter(graph, types, decision).Run();
}

}  // namespace amp
