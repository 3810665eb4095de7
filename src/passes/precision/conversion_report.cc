#include "passes/precision/conversion_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "passes/op_facts.h"
#include "passes/precision/body_reports.h"
#include "passes/precision/cost.h"
#include "passes/precision/reason_json.h"
#include "passes/precision/report_stages.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

// The origin of a node that the conversion made.
constexpr NodeId kMade = std::numeric_limits<NodeId>::max();

// Why each tensor and each reader has the dtype that it has.
class ReportReasons {
 public:
  explicit ReportReasons(const ReportStages& stages)
      : d_(stages.decision),
        before_(stages.before.graph()),
        types_(stages.before.types()),
        offline_(stages.offline),
        bodies_(stages.bodies) {}

  Json OfTensor(NodeId id, EntryId entry) const {
    if (IsCastOffline(id)) return CastOffline(entry);
    return WritesFloat32(entry) ? WideResult() : OfNode(id);
  }

  Json OfReader(NodeId reader, std::size_t slot) const {
    if (reader == kMade) return ReasonJson("fact", "casts", "casts to the dtype of its attribute");
    const bool has_slot = slot < before_.InputsOf(reader).size();
    const ReasonKind kind = has_slot ? d_.slot_reasons[d_.first_slot[reader] + slot] : d_.reasons[reader].kind;
    if (kind == d_.reasons[reader].kind) return OfNode(reader);
    return ReasonJson(InfoOf(kind).reason_class, InfoOf(kind).name, d_.Sentence(before_, Reason{kind}));
  }

  // The tensor itself, or for a cast that stands at a node with bodies one of that node.
  EntryId Listed(EntryId entry) const {
    const NodeId id = before_.NodeOf(entry);
    if (!bodies_.casts.contains(before_.node(id).name())) return entry;
    const EntryId source = before_.InputsOf(id)[0];
    const bool is_behind = before_.node(id).Attr<DType>("dtype") == DType::kFloat32;
    return is_behind ? source : before_.EntryOf(before_.ConsumersOf(entry)[0].node, 0);
  }

  bool IsCastOffline(NodeId id) const {
    return before_.node(id).is_variable() && offline_.contains(before_.node(id).name());
  }

 private:
  Json OfNode(NodeId id) const {
    const Reason& reason = d_.reasons[id];
    const EntryId cause = CauseOf(id);
    if (WasLowAlready(id)) return ReasonJson("fact", "was_low", "it was in low precision before");
    // What stays high because only the caller of the model reads it has no tensor to blame.
    const bool is_root = (reason.kind == ReasonKind::kNotWanted || reason.kind == ReasonKind::kReaderWantsHigh) &&
                         cause == Reason::kNone;
    const ReasonInfo& info = InfoOf(reason.kind);
    return ReasonJson(is_root ? "fact" : info.reason_class, info.name, d_.Sentence(before_, reason),
                      cause == Reason::kNone ? Json(nullptr) : Json(Listed(cause)));
  }

  // A result that the conversion leaves alone, but that is low: why it does not follow others is of no interest.
  bool WasLowAlready(NodeId id) const {
    if (before_.node(id).num_outputs() == 0 || d_.low[id]) return false;
    return std::string_view(InfoOf(d_.reasons[id].kind).reason_class) == "propagation" &&
           types_[before_.EntryOf(id, 0)].dtype == d_.target;
  }

  // The tensor whose own reason comes before a node's. Where the reason names none, or the node's own result, it is
  // what the node reads.
  EntryId CauseOf(NodeId id) const {
    const Reason& reason = d_.reasons[id];
    if (WasLowAlready(id)) return Reason::kNone;
    const bool is_own = reason.cause != Reason::kNone && before_.NodeOf(reason.cause) == id;
    if (reason.cause != Reason::kNone && !is_own) return reason.cause;
    const bool follows = is_own || reason.kind == ReasonKind::kNoneLow || reason.kind == ReasonKind::kConstant;
    const auto inputs = before_.InputsOf(id);
    return follows && !inputs.empty() && !IsBecauseOf(inputs[0], id) ? inputs[0] : Reason::kNone;
  }

  // Chains of reasons end: what a node reads may be what it is because of this node.
  bool IsBecauseOf(EntryId entry, NodeId id) const {
    const Reason& reason = d_.reasons[before_.NodeOf(entry)];
    return reason.cause != Reason::kNone && before_.NodeOf(reason.cause) == id;
  }

  // An operator that reads low precision, and whose sums are kept as they are.
  bool WritesFloat32(EntryId entry) const {
    const NodeId id = before_.NodeOf(entry);
    return d_.low[id] && d_.produced[entry] == DType::kFloat32 && before_.IndexOf(entry) == 0 &&
           FactsOf(before_.node(id)).arithmetic == Arithmetic::kAccumulates;
  }

  Json WideResult() const {
    return ReasonJson(
        "fact", "wide_result",
        fmt::format("reads {} and keeps its float32 sums, because they are read in float32", NameOf(d_.target)));
  }

  Json CastOffline(EntryId entry) const {
    const EntryId cause = ReaderWithAReason(entry);
    return ReasonJson("user", "cast_offline", "every reader has it cast: cast once, offline",
                      cause == Reason::kNone ? Json(nullptr) : Json(Listed(cause)));
  }

  // What a reader of a parameter computes, one that is not in low precision because the parameter is: there is one,
  // because the first of them had another reason.
  EntryId ReaderWithAReason(EntryId parameter) const {
    for (const Consumer& reader : before_.ConsumersOf(parameter)) {
      if (before_.node(reader.node).num_visible_outputs() == 0) continue;
      if (!LeadsTo(reader.node, parameter)) return before_.EntryOf(reader.node, 0);
    }
    return Reason::kNone;
  }

  bool LeadsTo(NodeId id, EntryId parameter) const {
    // Chains end; a limit keeps reports of a deep graph with many shared parameters from taking quadratic time.
    for (int steps = 0; steps < 1000; ++steps) {
      const EntryId cause = CauseOf(id);
      if (cause == Reason::kNone) return false;
      if (cause == parameter) return true;
      id = before_.NodeOf(cause);
      if (IsCastOffline(id)) return true;  // whose own chain may come back
    }
    return true;
  }

  const Decision& d_;
  const Graph& before_;
  const Types& types_;
  const std::map<std::string, DType>& offline_;
  const ConvertedBodies& bodies_;
};

class ReportWriter {
 public:
  explicit ReportWriter(const ReportStages& stages)
      : s_(stages),
        d_(stages.decision),
        before_(stages.before.graph()),
        types_(stages.before.types()),
        after_(stages.after.graph()),
        origins_(OriginsOf(stages)),
        reasons_(stages) {}

  Json Write() {
    Json report;
    report["format"] = "amp-conversion-report";
    report["version"] = 1;
    report["options"] = Options();
    report["totals"] = Totals();
    if (s_.options.machine != nullptr) report["machine"] = Json::parse(s_.options.machine->json());
    if (d_.certificate) report["certificate"] = Certificate();
    if (d_.predicted) report["predicted"] = Predicted();
    if (d_.errors) report["accuracy"] = Accuracy();
    report["casts"] = Casts();
    report["tensors"] = Tensors();
    if (!s_.gradients.empty()) report["gradients"] = Json::parse(s_.gradients);
    AddBodyReports(s_.bodies, &report);
    report["folded"] = Json::array();
    for (const auto& [batch_norm, into] : s_.batch_norms.folded) {
      report["folded"].push_back(Folded(batch_norm, into));
    }
    report["not_folded"] = Json::array();
    for (const auto& [batch_norm, why] : s_.batch_norms.kept) {
      report["not_folded"].push_back({{"batch_norm", batch_norm}, {"why", why}});
    }
    return report;
  }

 private:
  Json Options() const {
    Json options{{"target_dtype", NameOf(s_.options.target)},
                 {"policy", NameOf(s_.options.policy)},
                 {"cast_params_offline", s_.options.cast_params_offline},
                 {"fold_batch_norm", s_.folds}};
    if (d_.certificate) options["minimize"] = d_.certificate->minimized == Minimize::kTime ? "time" : "casts";
    return options;
  }

  // A weight that is rounded offline says how.
  Json Folded(const std::string& batch_norm, const std::string& into) const {
    Json folded{{"batch_norm", batch_norm}, {"into", into}};
    for (const auto& [weight, low] : s_.folded_weights) {
      if (low.node != into) continue;
      folded["weight"] = weight;
      folded["rounding"] = s_.options.rounded_to_nearest.contains(weight) ? "nearest" : "compensated";
    }
    return folded;
  }

  static const char* UnitOf(Minimize minimized) { return minimized == Minimize::kTime ? "ps" : "casts"; }

  Json Certificate() const {
    const CutCertificate& certificate = *d_.certificate;
    return {{"unit", UnitOf(certificate.minimized)},
            {"cut", certificate.cut},
            {"flow", certificate.flow},
            {"constant", certificate.constant}};
  }

  Json Predicted() const {
    const Prediction& predicted = *d_.predicted;
    return {{"unit", UnitOf(predicted.unit)}, {"as_decided", predicted.as_decided}, {"unchanged", predicted.unchanged}};
  }

  Json Accuracy() const {
    const ErrorOutcome& errors = *d_.errors;
    Json curve = Json::array();
    for (const PricedDecision& one : errors.curve) {
      curve.push_back({{"cost", one.cost}, {"squared_error", one.squared_error}});
    }
    return {{"reached", errors.is_reached},
            {"squared_error", errors.squared_error},
            {"without_target", errors.without_target},
            {"curve", curve}};
  }

  // ---- which node is which ----

  // For each node after the conversion the one that it was, or kMade.
  static std::vector<NodeId> OriginsOf(const ReportStages& stages) {
    const Graph &before = stages.before.graph(), &after = stages.after.graph();
    std::vector<NodeId> origins;
    for (const NodePtr& node : after.nodes()) {
      const std::vector<NodePtr> found = stages.provenance.Of(node);
      origins.push_back(found.empty() ? kMade : before.IdOf(found[0].get()));
    }
    return origins;
  }

  Json TensorId(EntryId after) const {
    const NodeId origin = origins_[after_.NodeOf(after)];
    return origin == kMade ? Json(nullptr) : Json(reasons_.Listed(before_.EntryOf(origin, after_.IndexOf(after))));
  }

  // ---- tensors ----

  Json Tensors() const {
    Json tensors = Json::array();
    for (NodeId id = 0; id < before_.num_nodes(); ++id) {
      const Node& node = before_.node(id);
      if (s_.bodies.casts.contains(node.name())) continue;  // the conversion's own
      for (int i = 0; i < node.num_visible_outputs(); ++i) tensors.push_back(Tensor(id, before_.EntryOf(id, i)));
    }
    return tensors;
  }

  Json Tensor(NodeId id, EntryId entry) const {
    const Node& node = before_.node(id);
    DType dtype = d_.produced[entry];
    if (reasons_.IsCastOffline(id)) dtype = s_.offline.at(node.name());
    Json json{
        {"id", entry},        {"name", before_.EntryName(entry)},      {"node", node.name()},   {"op", node.op_name()},
        {"kind", KindOf(id)}, {"before", NameOf(types_[entry].dtype)}, {"dtype", NameOf(dtype)}};
    if (s_.bodies.narrowed.contains({node.name(), before_.IndexOf(entry)})) json["before"] = NameOf(DType::kFloat32);
    json["bytes"] = Bytes(types_[entry].shape, dtype);
    json["proven"] = Interval(d_.ranges[entry]);
    json["reason"] = reasons_.OfTensor(id, entry);
    return json;
  }

  const char* KindOf(NodeId id) const {
    if (!before_.node(id).is_variable()) return "result";
    if (before_.IsAuxiliary(id)) return "state";
    return s_.before.IsParameter(id) ? "parameter" : "input";
  }

  static Json Interval(const ValueRange& range) {
    const auto end = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    return Json::array({end(range.low), end(range.high)});
  }

  static Json Bytes(const Shape& shape, DType dtype) {
    if (!shape.fully_known() || !IsKnown(dtype)) return nullptr;
    return shape.size() * BytesOf(dtype);
  }

  // ---- casts ----

  Json Casts() const {
    Json casts = Json::array();
    for (NodeId id = 0; id < after_.num_nodes(); ++id) {
      if (after_.node(id).op_name() == "amp_cast") casts.push_back(RunTimeCast(id));
    }
    for (const NodeId id : after_.variables()) {
      const auto offline = s_.offline.find(after_.node(id).name());
      if (offline != s_.offline.end()) casts.push_back(OfflineCast(id, offline->second));
    }
    return casts;
  }

  Json OfflineCast(NodeId variable, DType dtype) const {
    const EntryId entry = before_.EntryOf(origins_[variable], 0);
    const std::string& name = after_.node(variable).name();
    return {{"name", name},
            {"tensor", name},
            {"tensor_id", entry},
            {"from", NameOf(types_[entry].dtype)},
            {"to", NameOf(dtype)},
            {"run_time", false},
            {"readers", Readers(after_.EntryOf(variable, 0))}};
  }

  Json RunTimeCast(NodeId id) const {
    const EntryId source = after_.InputsOf(id)[0], entry = after_.EntryOf(id, 0);
    return {{"name", after_.node(id).name()},
            {"tensor", after_.EntryName(source)},
            {"tensor_id", TensorId(source)},
            {"from", NameOf(s_.after.types()[source].dtype)},
            {"to", NameOf(s_.after.types()[entry].dtype)},
            {"run_time", true},
            {"readers", Readers(entry)}};
  }

  Json Readers(EntryId after) const {
    Json readers = Json::array();
    for (const Consumer& consumer : after_.ConsumersOf(after)) {
      const Node& node = after_.node(consumer.node);
      readers.push_back({{"node", node.name()}, {"input", node.input_names()[consumer.slot]}});
      readers.back()["reason"] = reasons_.OfReader(origins_[consumer.node], consumer.slot);
    }
    if (after_.IsOutput(after)) {
      readers.push_back({{"node", nullptr}, {"input", after_.EntryName(after)}});
      readers.back()["reason"] = ReasonJson("fact", "output", "outputs of the model keep their dtypes");
    }
    return readers;
  }

  // ---- totals ----

  Json Totals() const {
    std::int64_t run_time = 0, unknown = 0;
    std::map<std::string, std::int64_t> tensors, bytes;
    for (NodeId id = 0; id < after_.num_nodes(); ++id) {
      const Node& node = after_.node(id);
      run_time += node.op_name() == "amp_cast";
      for (int i = 0; i < node.num_visible_outputs(); ++i) {
        const TensorType& type = s_.after.types()[after_.EntryOf(id, i)];
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
    for (const NodeId id : before_.variables()) {
      if (!s_.before.IsParameter(id)) continue;
      ++count;
      const TensorType& type = types_[before_.EntryOf(id, 0)];
      if (!type.fully_known()) continue;
      const auto offline = s_.offline.find(before_.node(id).name());
      after += type.shape.size() *
               static_cast<std::int64_t>(BytesOf(offline == s_.offline.end() ? type.dtype : offline->second));
    }
    return {{"before", s_.given.number},
            {"after", count},
            {"cast", s_.offline.size()},
            {"bytes_before", s_.given.bytes},
            {"bytes_after", after}};
  }

  const ReportStages& s_;
  const Decision& d_;
  const Graph& before_;
  const Types& types_;  // before
  const Graph& after_;
  const std::vector<NodeId> origins_;  // by NodeId of the graph after
  const ReportReasons reasons_;
};

}  // namespace

ParameterCount CountParameters(const Model& model) {
  ParameterCount count;
  for (const NodeId id : model.graph().variables()) {
    if (!model.IsParameter(id)) continue;
    const TensorType& type = model.types()[model.graph().EntryOf(id, 0)];
    ++count.number;
    if (type.fully_known()) count.bytes += type.shape.size() * BytesOf(type.dtype);
  }
  return count;
}

void ConversionReport::Fill(const ReportStages& stages) {
  json_ = ReportWriter(stages).Write().dump(1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace amp
