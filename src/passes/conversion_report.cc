#include "passes/conversion_report.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "passes/amp_facts.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

class ReportWriter {
 public:
  explicit ReportWriter(const ConversionReport::Stages& stages)
      : s_(stages), d_(stages.decision), origins_(OriginsOf(stages.before, stages.after)) {}

  Json Write() {
    Json report;
    report["format"] = "amp-conversion-report";
    report["version"] = 1;
    report["options"] = Options();
    report["totals"] = Totals();
    report["casts"] = Casts();
    report["tensors"] = Tensors();
    report["folded"] = Json::array();
    for (const auto& [batch_norm, into] : s_.folded) {
      report["folded"].push_back({{"batch_norm", batch_norm}, {"into", into}});
    }
    report["not_folded"] = Json::array();
    for (const auto& [batch_norm, why] : s_.not_folded) {
      report["not_folded"].push_back({{"batch_norm", batch_norm}, {"why", why}});
    }
    return report;
  }

 private:
  Json Options() const {
    return {{"target_dtype", NameOf(s_.options.target)},
            {"policy", NameOf(s_.options.policy)},
            {"cast_params_offline", s_.options.cast_params_offline},
            {"fold_batch_norm", s_.folds}};
  }

  // ---- which node is which ----

  static constexpr NodeId kMade = std::numeric_limits<NodeId>::max();

  // Among nodes of one name: rather one that did not change.
  static std::deque<NodeId>::const_iterator FindOrigin(const Graph& before, const Node& node,
                                                       const std::deque<NodeId>& ids) {
    const auto same = std::find_if(ids.begin(), ids.end(), [&](NodeId id) {
      return before.node(id).op() == node.op() && before.node(id).attrs() == node.attrs();
    });
    if (same != ids.end()) return same;
    return std::find_if(ids.begin(), ids.end(), [&](NodeId id) { return before.node(id).op() == node.op(); });
  }

  // For each node after the conversion the one that it was, or kMade. Names may occur more than once: then operators
  // and the order of nodes, which a conversion keeps, tell them apart.
  static std::vector<NodeId> OriginsOf(const Graph& before, const Graph& after) {
    std::unordered_map<std::string, std::deque<NodeId>> ids;
    for (NodeId id = 0; id < before.num_nodes(); ++id) ids[before.node(id).name()].push_back(id);
    std::vector<NodeId> origins(after.num_nodes(), kMade);
    for (NodeId id = 0; id < after.num_nodes(); ++id) {
      const auto found = ids.find(after.node(id).name());
      if (found == ids.end()) continue;
      const auto origin = FindOrigin(before, after.node(id), found->second);
      if (origin == found->second.end()) continue;
      origins[id] = *origin;
      found->second.erase(origin);
    }
    return origins;
  }

  Json TensorId(EntryId after) const {
    const NodeId origin = origins_[s_.after.NodeOf(after)];
    return origin == kMade ? Json(nullptr) : Json(s_.before.EntryOf(origin, s_.after.IndexOf(after)));
  }

  // ---- reasons ----

  static Json ReasonJson(const char* kind, const std::string& text, Json because_of = nullptr) {
    return {{"class", kind}, {"text", text}, {"because_of", std::move(because_of)}};
  }

  Json ReasonOf(NodeId id) const {
    const Reason& reason = d_.reasons[id];
    const EntryId cause = CauseOf(id);
    if (WasLowAlready(id)) return ReasonJson("fact", "it was in low precision before");
    // What stays high because only the caller of the model reads it has no tensor to blame.
    const bool is_root = reason.kind == ReasonKind::kNotWanted && cause == Reason::kNone;
    return ReasonJson(is_root ? "fact" : ClassOf(reason.kind), d_.Sentence(s_.before, reason),
                      cause == Reason::kNone ? Json(nullptr) : Json(cause));
  }

  // A result that the conversion leaves alone, but that is low: why it does not follow others is of no interest.
  bool WasLowAlready(NodeId id) const {
    if (s_.before.node(id).num_outputs() == 0 || d_.low[id]) return false;
    return std::string_view(ClassOf(d_.reasons[id].kind)) == "propagation" &&
           s_.types[s_.before.EntryOf(id, 0)].dtype == d_.target;
  }

  // The tensor whose own reason comes before a node's. Where the reason names none, or the node's own result, it is
  // what the node reads.
  EntryId CauseOf(NodeId id) const {
    const Reason& reason = d_.reasons[id];
    if (WasLowAlready(id)) return Reason::kNone;
    const bool is_own = reason.cause != Reason::kNone && s_.before.NodeOf(reason.cause) == id;
    if (reason.cause != Reason::kNone && !is_own) return reason.cause;
    const bool follows = is_own || reason.kind == ReasonKind::kNoneLow || reason.kind == ReasonKind::kConstant;
    const auto inputs = s_.before.InputsOf(id);
    return follows && !inputs.empty() ? inputs[0] : Reason::kNone;
  }

  // ---- tensors ----

  Json Tensors() const {
    Json tensors = Json::array();
    for (NodeId id = 0; id < s_.before.num_nodes(); ++id) {
      const Node& node = s_.before.node(id);
      for (int i = 0; i < node.num_visible_outputs(); ++i) {
        tensors.push_back(Tensor(id, s_.before.EntryOf(id, static_cast<std::uint32_t>(i))));
      }
    }
    return tensors;
  }

  Json Tensor(NodeId id, EntryId entry) const {
    const Node& node = s_.before.node(id);
    DType dtype = d_.produced[entry];
    const auto offline = s_.offline.find(node.name());
    const bool is_offline = node.is_variable() && offline != s_.offline.end();
    if (is_offline) dtype = offline->second;
    Json json{{"id", entry},           {"name", s_.before.EntryName(entry)},
              {"node", node.name()},   {"op", node.op_name()},
              {"kind", KindOf(id)},    {"before", NameOf(s_.types[entry].dtype)},
              {"dtype", NameOf(dtype)}};
    json["bytes"] = Bytes(s_.types[entry].shape, dtype);
    json["reason"] = is_offline ? CastOffline(entry) : WritesFloat32(entry) ? WideResult() : ReasonOf(id);
    return json;
  }

  // An operator that reads low precision, and whose sums are kept as they are.
  bool WritesFloat32(EntryId entry) const {
    const NodeId id = s_.before.NodeOf(entry);
    return d_.low[id] && d_.produced[entry] == DType::kFloat32 && s_.before.IndexOf(entry) == 0 &&
           FactsOf(s_.before.node(id)).arithmetic == Arithmetic::kAccumulates;
  }

  Json WideResult() const {
    return ReasonJson("fact", fmt::format("reads {} and keeps its float32 sums, because they are read in float32",
                                          NameOf(d_.target)));
  }

  Json CastOffline(EntryId entry) const {
    const EntryId cause = ReaderWithAReason(entry);
    return ReasonJson("user", "every reader has it cast: cast once, offline",
                      cause == Reason::kNone ? Json(nullptr) : Json(cause));
  }

  // What a reader of a parameter computes, one that is not in low precision because the parameter is: there is one,
  // because the first of them had another reason.
  EntryId ReaderWithAReason(EntryId parameter) const {
    for (const Consumer& reader : s_.before.ConsumersOf(parameter)) {
      if (s_.before.node(reader.node).num_visible_outputs() == 0) continue;
      if (!LeadsTo(reader.node, parameter)) return s_.before.EntryOf(reader.node, 0);
    }
    return Reason::kNone;
  }

  bool LeadsTo(NodeId id, EntryId parameter) const {
    // Chains end; a limit keeps reports of a deep graph with many shared parameters from taking quadratic time.
    for (int steps = 0; steps < 1000; ++steps) {
      const EntryId cause = CauseOf(id);
      if (cause == Reason::kNone) return false;
      if (cause == parameter) return true;
      id = s_.before.NodeOf(cause);
      const bool is_offline = s_.before.node(id).is_variable() && s_.offline.contains(s_.before.node(id).name());
      if (is_offline) return true;  // whose own chain may come back
    }
    return true;
  }

  const char* KindOf(NodeId id) const {
    if (!s_.before.node(id).is_variable()) return "result";
    if (s_.before.IsAuxiliary(id)) return "state";
    return s_.parameters[id] ? "parameter" : "input";
  }

  static Json Bytes(const Shape& shape, DType dtype) {
    if (!shape.fully_known() || !IsKnown(dtype)) return nullptr;
    return shape.size() * static_cast<std::int64_t>(BytesOf(dtype));
  }

  // ---- casts ----

  Json Casts() const {
    Json casts = Json::array();
    for (NodeId id = 0; id < s_.after.num_nodes(); ++id) {
      if (s_.after.node(id).op_name() == "amp_cast") casts.push_back(RunTimeCast(id));
    }
    for (const NodeId id : s_.after.variables()) {
      const auto offline = s_.offline.find(s_.after.node(id).name());
      if (offline != s_.offline.end()) casts.push_back(OfflineCast(id, offline->second));
    }
    return casts;
  }

  Json OfflineCast(NodeId variable, DType dtype) const {
    const EntryId entry = s_.before.EntryOf(origins_[variable], 0);
    const std::string& name = s_.after.node(variable).name();
    return {{"name", name},
            {"tensor", name},
            {"tensor_id", entry},
            {"from", NameOf(s_.types[entry].dtype)},
            {"to", NameOf(dtype)},
            {"run_time", false},
            {"readers", Readers(s_.after.EntryOf(variable, 0))}};
  }

  Json RunTimeCast(NodeId id) const {
    const EntryId source = s_.after.InputsOf(id)[0], entry = s_.after.EntryOf(id, 0);
    return {{"name", s_.after.node(id).name()},
            {"tensor", s_.after.EntryName(source)},
            {"tensor_id", TensorId(source)},
            {"from", NameOf(s_.types_after[source].dtype)},
            {"to", NameOf(s_.types_after[entry].dtype)},
            {"run_time", true},
            {"readers", Readers(entry)}};
  }

  Json Readers(EntryId after) const {
    Json readers = Json::array();
    for (const Consumer& consumer : s_.after.ConsumersOf(after)) {
      const Node& node = s_.after.node(consumer.node);
      readers.push_back({{"node", node.name()}, {"input", node.input_names()[consumer.slot]}});
      readers.back()["reason"] = ReaderReason(origins_[consumer.node], consumer.slot);
    }
    if (s_.after.IsOutput(after)) {
      readers.push_back({{"node", nullptr}, {"input", s_.after.EntryName(after)}});
      readers.back()["reason"] = ReasonJson("fact", "outputs of the model keep their dtypes");
    }
    return readers;
  }

  Json ReaderReason(NodeId reader, std::size_t slot) const {
    if (reader == kMade) return ReasonJson("fact", "casts to the dtype of its attribute");
    const bool has_slot = slot < s_.before.InputsOf(reader).size();
    const ReasonKind kind = has_slot ? d_.slot_reasons[d_.first_slot[reader] + slot] : d_.reasons[reader].kind;
    if (kind == d_.reasons[reader].kind) return ReasonOf(reader);
    return ReasonJson(ClassOf(kind), d_.Sentence(s_.before, Reason{kind}));
  }

  // ---- totals ----

  Json Totals() const {
    std::int64_t run_time = 0, unknown = 0;
    std::map<std::string, std::int64_t> tensors, bytes;
    for (NodeId id = 0; id < s_.after.num_nodes(); ++id) {
      const Node& node = s_.after.node(id);
      run_time += node.op_name() == "amp_cast";
      for (int i = 0; i < node.num_visible_outputs(); ++i) {
        const TensorType& type = s_.types_after[s_.after.EntryOf(id, static_cast<std::uint32_t>(i))];
        ++tensors[NameOf(type.dtype)];
        const Json size = Bytes(type.shape, type.dtype);
        if (size.is_null()) {
          ++unknown;
        } else {
          bytes[NameOf(type.dtype)] += size.get<std::int64_t>();
        }
      }
    }
    return {{"casts", {{"run_time", run_time}, {"offline", s_.offline.size()}}},
            {"tensors", tensors},
            {"bytes", bytes},
            {"tensors_of_unknown_size", unknown},
            {"parameters", Parameters()}};
  }

  Json Parameters() const {
    std::int64_t count = 0, after = 0;
    for (const NodeId id : s_.before.variables()) {
      if (!s_.parameters[id]) continue;
      ++count;
      const TensorType& type = s_.types[s_.before.EntryOf(id, 0)];
      if (!type.fully_known()) continue;
      const auto offline = s_.offline.find(s_.before.node(id).name());
      after += type.shape.size() *
               static_cast<std::int64_t>(BytesOf(offline == s_.offline.end() ? type.dtype : offline->second));
    }
    return {{"before", s_.num_parameters},
            {"after", count},
            {"cast", s_.offline.size()},
            {"bytes_before", s_.parameter_bytes},
            {"bytes_after", after}};
  }

  const ConversionReport::Stages& s_;
  const Decision& d_;
  const std::vector<NodeId> origins_;  // by NodeId of the graph after
};

}  // namespace

void ConversionReport::Fill(const Stages& stages) {
  json_ = ReportWriter(stages).Write().dump(1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace amp
