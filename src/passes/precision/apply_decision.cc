#include "passes/precision/apply_decision.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/precision/tensor_roots.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

bool IsSingleCast(const Node& node) { return node.IsOp("amp_cast") && IsCastOfConversion(node); }
bool IsFreeMulticast(const Node& node) { return node.IsOp("amp_multicast") && IsCastOfConversion(node); }

class DecisionRewriter {
 public:
  DecisionRewriter(const Graph& graph, const Decision& decision)
      : graph_(graph), decision_(decision), live_(graph), rewriter_(graph) {
    if (KeepsNames()) NameOutputs();
    ChooseExistingCasts();
  }

  RewriteResult Run() {
    return rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); },
                         [this](std::size_t index, NodeEntry mapped) { return Output(index, std::move(mapped)); });
  }

 private:
  struct CastKey {
    const Node* node;
    std::uint32_t index;
    DType dtype;
    bool operator==(const CastKey&) const = default;
  };
  struct HashCastKey {
    std::size_t operator()(const CastKey& key) const {
      return std::hash<const Node*>()(key.node) ^ (key.index * 31 + static_cast<std::size_t>(key.dtype));
    }
  };

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    if (!live_.nodes[id]) return rewriter_.KeepNode(id, std::move(inputs));  // and nothing reads it in the end
    const Node& node = graph_.node(id);
    const auto sources = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      inputs[slot] = AsType(sources[slot], std::move(inputs[slot]), decision_.ReadAt(id, slot));
      if (decision_.widens[id]) inputs[slot] = Widened(id, slot, std::move(inputs[slot]));
    }
    if (IsFreeMulticast(node)) return Multicast(id, std::move(inputs));
    if (IsSingleCast(node)) return ExistingCast(id, std::move(inputs));
    return Marked(id, WithOutDType(id, rewriter_.KeepNode(id, std::move(inputs))));
  }

  // Each input in its output's dtype.
  std::vector<NodeEntry> Multicast(NodeId id, std::vector<NodeEntry> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const DType dtype = decision_.produced[graph_.EntryOf(id, i)];
      const DType from = decision_.ReadAt(id, i);
      if (from != dtype) inputs[i] = Cast(std::move(inputs[i]), graph_.InputsOf(id)[i], from, dtype);
    }
    return inputs;
  }

  // An existing cast of a conversion: removed if it is a no-op or a duplicate.
  std::vector<NodeEntry> ExistingCast(NodeId id, std::vector<NodeEntry> inputs) {
    const EntryId entry = graph_.EntryOf(id, 0);
    const DType from = decision_.ReadAt(id, 0), to = decision_.produced[entry];
    const bool is_output = graph_.IsOutput(entry);
    if (!IsFloat(from) || !IsFloat(to)) {
      if (from == to && !is_output) return inputs;
      return rewriter_.KeepNode(id, std::move(inputs));
    }
    DType origin_dtype = from;
    NodeEntry origin = Origin(inputs[0], &origin_dtype);
    if (origin_dtype == to && !is_output) return {origin};
    const CastKey key{origin.node.get(), origin.index, to};
    const auto found = casts_.find(key);
    const bool may_share =
        found != casts_.end() && (!is_output || found->second.node->name() == graph_.node(id).name());
    if (may_share) return {found->second};
    const std::optional<NodeId> chosen = is_output ? std::nullopt : ExistingCastOf(graph_.InputsOf(id)[0], to);
    const NodeEntry cast = chosen && *chosen != id ? ReplaceCast(*chosen, origin) : rewriter_.KeepNode(id, {origin})[0];
    Remember(key, cast, std::move(origin), origin_dtype);
    return {cast};
  }

  // What a chain of lossless casts in the original graph begins with.
  EntryId OriginalOrigin(EntryId entry) const {
    while (true) {
      const NodeId id = graph_.NodeOf(entry);
      const Node& node = graph_.node(id);
      if (!IsCastOfConversion(node)) return entry;
      const std::uint32_t slot = graph_.IndexOf(entry);  // amp_multicast has as many inputs as outputs
      const EntryId input = graph_.InputsOf(id)[slot];
      const DType from = decision_.produced[input], read = decision_.ReadAt(id, slot);
      if (!IsFloat(from) || !IsLossless(from, read) || !IsLossless(read, decision_.produced[entry])) return entry;
      entry = input;
    }
  }

  // Chooses, of all casts of a tensor to a dtype that an earlier conversion made, the one that stands for all, whatever
  // the order of nodes: an output of the graph, because it has a name to keep, then the first in the alphabet.
  void ChooseExistingCasts() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (!IsSingleCast(node) || !node.control_deps().empty() || !live_.nodes[id]) continue;
      const EntryId entry = graph_.EntryOf(id, 0);
      const auto [place, is_new] =
          existing_.emplace(ExistingKey(graph_.InputsOf(id)[0], decision_.produced[entry]), id);
      if (!is_new && Rank(id) < Rank(place->second)) place->second = id;
    }
  }
  std::pair<EntryId, DType> ExistingKey(EntryId source, DType dtype) const { return {OriginalOrigin(source), dtype}; }
  std::pair<bool, std::string> Rank(NodeId id) const {
    return {!graph_.IsOutput(graph_.EntryOf(id, 0)), graph_.node(id).name()};
  }
  std::optional<NodeId> ExistingCastOf(EntryId source, DType dtype) const {
    if (existing_.empty()) return std::nullopt;
    const auto found = existing_.find(ExistingKey(source, dtype));
    return found == existing_.end() ? std::nullopt : std::optional(found->second);
  }
  NodeEntry ReplaceCast(NodeId id, const NodeEntry& input) {
    return rewriter_.Replace(graph_.node(id).WithInputs({input}, {}), graph_.nodes()[id])[0];
  }

  // What a chain of lossless casts began with.
  NodeEntry Origin(const NodeEntry& entry, DType* dtype) const {
    const auto found = origins_.find(entry.node.get());
    if (found == origins_.end() || !IsLossless(found->second.dtype, *dtype)) return entry;
    *dtype = found->second.dtype;
    return found->second.entry;
  }

  void Remember(const CastKey& key, const NodeEntry& cast, NodeEntry origin, DType origin_dtype) {
    casts_.emplace(key, cast);
    if (IsLossless(origin_dtype, key.dtype)) origins_[cast.node.get()] = {std::move(origin), origin_dtype};
  }

  // What the caller forces stays so wherever the model runs.
  std::vector<NodeEntry> Marked(NodeId id, std::vector<NodeEntry> kept) {
    if (!decision_.low[id] || !decision_.forced[id]) return kept;
    AttrMap attrs = kept[0].node->attrs();
    attrs[kForcedDTypeAttr] = NameOf(decision_.target);
    return rewriter_.Replace(kept[0].node->WithAttrs(std::move(attrs)));
  }

  // An accumulating node says what it writes where that is not what it reads.
  std::vector<NodeEntry> WithOutDType(NodeId id, std::vector<NodeEntry> kept) {
    const Node& node = *kept[0].node;
    if (!decision_.low[id] || FactsOf(node).arithmetic != Arithmetic::kAccumulates) return kept;
    const DType dtype = decision_.produced[graph_.EntryOf(id, 0)];
    const std::string* given = node.FindAttr(kOutDTypeAttr);
    const std::string text = dtype == decision_.target ? "" : NameOf(dtype);
    if ((given == nullptr ? "" : *given) == text) return kept;
    AttrMap attrs = node.attrs();
    attrs.erase(kOutDTypeAttr);
    if (!text.empty()) attrs[kOutDTypeAttr] = text;
    return rewriter_.Replace(node.WithAttrs(std::move(attrs)));
  }

  // An output of the graph has the decided dtype. Under policies but mxnet it keeps its name: where either would
  // change, a cast that carries the name stands in front of it.
  NodeEntry Output(std::size_t index, NodeEntry mapped) {
    const NodeEntry& output = graph_.outputs()[index];
    const EntryId entry = graph_.EntryOf(output);
    const DType from = decision_.produced[entry], to = decision_.output_dtypes[index];
    if (from != to) mapped = Cast(std::move(mapped), entry, from, to);
    if (!KeepsNames()) return mapped;
    const std::string name = OutputName(output);
    if (OutputName(mapped) == name) return mapped;
    const auto key = std::make_pair(entry, to);
    if (const auto found = named_.find(key); found != named_.end()) return found->second;  // an output given twice
    return named_[key] = NewCast(std::move(mapped), entry, to, {{kOutputNameAttr, name}});
  }

  bool KeepsNames() const { return decision_.policy != PrecisionPolicy::kMXNet; }

  NodeEntry AsType(EntryId source, NodeEntry mapped, DType dtype) {
    const DType from = decision_.produced[source];
    return from == dtype ? mapped : Cast(std::move(mapped), source, from, dtype);
  }

  // The model's inputs may come in other dtypes than those that the conversion knows: a cast to float32, once for all.
  NodeEntry Widened(NodeId id, std::size_t slot, NodeEntry mapped) {
    const bool is_data = FactsOf(graph_.node(id)).RoleOf(slot) == SlotRole::kData;
    if (!is_data || decision_.ReadAt(id, slot) != DType::kFloat32) return mapped;
    if (mapped.node->IsOp("amp_cast") && IsCastOfConversion(*mapped.node)) return mapped;
    const CastKey key{mapped.node.get(), mapped.index, DType::kFloat32};
    const auto found = casts_.find(key);
    if (found != casts_.end()) return found->second;
    const NodeEntry cast = NewCast(std::move(mapped), graph_.InputsOf(id)[slot], DType::kFloat32, {});
    casts_.emplace(key, cast);
    return cast;
  }

  NodeEntry Cast(NodeEntry mapped, EntryId source, DType from, DType to) {
    NodeEntry origin = Origin(mapped, &from);
    if (from == to) return origin;
    const CastKey key{origin.node.get(), origin.index, to};
    if (const auto found = casts_.find(key); found != casts_.end()) return found->second;
    const std::optional<NodeId> existing = ExistingCastOf(source, to);
    const EntryId named = OriginalOrigin(source);
    const NodeEntry cast =
        existing ? ReplaceCast(*existing, origin) : NewCast(origin, named, to, NameOfOutput(named, to));
    Remember(key, cast, std::move(origin), from);
    return cast;
  }

  // The name of an output of the graph that a cast of this tensor to this dtype will stand in front of; of several
  // outputs the first in the alphabet, whatever the order of nodes.
  void NameOutputs() {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const EntryId entry = graph_.EntryOf(graph_.outputs()[i]);
      const std::string name = graph_.EntryName(entry);
      const auto [place, is_new] =
          output_names_.emplace(std::make_pair(OriginalOrigin(entry), decision_.output_dtypes[i]), name);
      if (!is_new && name < place->second) place->second = name;
    }
  }
  AttrMap NameOfOutput(EntryId origin, DType dtype) const {
    const auto found = output_names_.find({origin, dtype});
    if (found == output_names_.end()) return {};
    return {{kOutputNameAttr, found->second}};
  }

  NodeEntry NewCast(NodeEntry mapped, EntryId source, DType dtype, AttrMap attrs) {
    static const Op& amp_cast = OpRegistry::Get().Require(kMXNetDomain, "amp_cast");
    attrs["dtype"] = NameOf(dtype);
    const Node& producer = graph_.node(graph_.NodeOf(source));
    const std::string name = fmt::format("{}_{}_amp_cast_{}", producer.name(), graph_.IndexOf(source), NameOf(dtype));
    return {rewriter_.Insert({&amp_cast, name, std::move(attrs), {std::move(mapped)}, {}, {}}), 0};
  }

  struct OriginEntry {
    NodeEntry entry;
    DType dtype = DType::kUnknown;
  };

  const Graph& graph_;
  const Decision& decision_;
  const LiveParts live_;
  Rewriter rewriter_;
  std::map<std::pair<EntryId, DType>, std::string> output_names_;
  std::map<std::pair<EntryId, DType>, NodeId> existing_;
  std::unordered_map<CastKey, NodeEntry, HashCastKey> casts_;
  std::unordered_map<const Node*, OriginEntry> origins_;  // of lossless casts in the new graph
  std::map<std::pair<EntryId, DType>, NodeEntry> named_;  // casts made for an output of the graph's name alone
};

}  // namespace

RewriteResult ApplyDecision(const Graph& graph, const Decision& decision) {
  return DecisionRewriter(graph, decision).Run();
}

std::size_t CountCasts(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                                [](const NodePtr& node) { return node->IsOp("amp_cast"); }));
}

}  // namespace amp
