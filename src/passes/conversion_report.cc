#include "passes/conversion_report.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

class ReportWriter {
 public:
  explicit ReportWriter(const ConversionReport::Stages& stages) : s_(stages), d_(stages.decision) {
    for (NodeId id = 0; id < s_.before.num_nodes(); ++id) ids_.emplace(s_.before.node(id).name(), id);
  }

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

  Json ReasonOf(const Reason& reason) const {
    Json json{{"class", ClassOf(reason.kind)}, {"text", d_.Sentence(s_.before, reason)}, {"because_of", nullptr}};
    if (reason.cause != Reason::kNone) json["because_of"] = reason.cause;
    return json;
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
    json["reason"] = is_offline ? CastOffline(entry) : ReasonOf(d_.reasons[id]);
    return json;
  }

  Json CastOffline(EntryId entry) const {
    Json json{{"class", "user"}, {"text", "every reader has it cast: cast once, offline"}, {"because_of", nullptr}};
    for (const Consumer& reader : s_.before.ConsumersOf(entry)) {
      if (s_.before.node(reader.node).num_visible_outputs() > 0) {
        json["because_of"] = s_.before.EntryOf(reader.node, 0);
        break;
      }
    }
    return json;
  }

  const char* KindOf(NodeId id) const {
    if (!s_.before.node(id).is_variable()) return "result";
    if (s_.before.IsAuxiliary(id)) return "state";
    return s_.parameters[id] ? "parameter" : "input";
  }

  static Json Bytes(const Shape& shape, DType dtype) {
    if (!shape.fully_known()) return nullptr;
    return shape.size() * static_cast<std::int64_t>(BytesOf(dtype));
  }

  // ---- casts ----

  Json Casts() const {
    Json casts = Json::array();
    for (NodeId id = 0; id < s_.after.num_nodes(); ++id) {
      if (s_.after.node(id).op_name() == "amp_cast") casts.push_back(RunTimeCast(id));
    }
    for (const auto& [name, dtype] : s_.offline) {
      Json cast{{"name", name}, {"tensor", name}};
      const auto variable = ids_.find(name);
      const EntryId entry = s_.before.EntryOf(variable->second, 0);
      cast["from"] = NameOf(s_.types[entry].dtype);
      cast["to"] = NameOf(dtype);
      cast["run_time"] = false;
      cast["readers"] = Readers(s_.before, entry);
      casts.push_back(std::move(cast));
    }
    return casts;
  }

  Json RunTimeCast(NodeId id) const {
    const EntryId source = s_.after.InputsOf(id)[0], entry = s_.after.EntryOf(id, 0);
    return {{"name", s_.after.node(id).name()},
            {"tensor", s_.after.EntryName(source)},
            {"from", NameOf(s_.types_after[source].dtype)},
            {"to", NameOf(s_.types_after[entry].dtype)},
            {"run_time", true},
            {"readers", Readers(s_.after, entry)}};
  }

  Json Readers(const Graph& graph, EntryId entry) const {
    Json readers = Json::array();
    for (const Consumer& consumer : graph.ConsumersOf(entry)) {
      const Node& node = graph.node(consumer.node);
      readers.push_back({{"node", node.name()}, {"input", node.input_names()[consumer.slot]}});
      readers.back()["reason"] = ReaderReason(node, consumer.slot);
    }
    if (graph.IsOutput(entry)) {
      const Json why{{"class", "fact"}, {"text", "outputs of the model keep their dtypes"}, {"because_of", nullptr}};
      readers.push_back({{"node", nullptr}, {"input", graph.EntryName(entry)}, {"reason", why}});
    }
    return readers;
  }

  Json ReaderReason(const Node& reader, std::size_t slot) const {
    const auto found = ids_.find(reader.name());
    if (found == ids_.end()) {  // a cast that the conversion made
      return {{"class", "fact"}, {"text", "casts to the dtype of its attribute"}, {"because_of", nullptr}};
    }
    const NodeId id = found->second;
    const ReasonKind kind =
        slot < s_.before.InputsOf(id).size() ? d_.slot_reasons[d_.first_slot[id] + slot] : d_.reasons[id].kind;
    return ReasonOf(kind == d_.reasons[id].kind ? d_.reasons[id] : Reason{kind});
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
  std::unordered_map<std::string, NodeId> ids_;
};

}  // namespace

void ConversionReport::Fill(const Stages& stages) {
  json_ = ReportWriter(stages).Write().dump(1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace amp
