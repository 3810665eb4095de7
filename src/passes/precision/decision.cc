#include "passes/precision/decision.h"

namespace amp {

std::string Decision::Sentence(const Graph& graph, const Reason& reason) const {
  const ReasonInfo& info = InfoOf(reason.kind);
  const bool has_cause = reason.cause != Reason::kNone;
  std::string text = !has_cause && info.text_alone != nullptr ? info.text_alone : info.text;
  const auto fill = [&](std::string_view key, const std::string& value) {
    if (const std::size_t at = text.find(key); at != std::string::npos) text.replace(at, key.size(), value);
  };
  if (has_cause) fill("{cause}", graph.EntryName(reason.cause));
  if (has_cause && !ranges.empty()) fill("{range}", ranges[reason.cause].ToString());
  if (reason.kind == ReasonKind::kReadsLow) {
    fill("{low}", produced[reason.cause] == target ? "in low precision" : "read in low precision");
  }
  if (reason.detail != Reason::kNone) fill("{detail}", details[reason.detail]);
  return text;
}

std::string Decision::Print(const Graph& graph, const std::function<std::string(const Reason&)>& say) const {
  const auto text_of = [&](const Reason& reason) { return say ? say(reason) : Sentence(graph, reason); };
  std::string text;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_variable()) continue;
    const std::string why = text_of(reasons[id]);
    const std::vector<std::string> inputs = node.input_names();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ReasonKind kind = slot_reasons[first_slot[id] + i];
      const std::string reason = kind == reasons[id].kind ? why : text_of({kind});
      text += fmt::format("{}.{} <- {}: {}\n", node.name(), inputs[i], NameOf(ReadAt(id, i)), reason);
    }
    const std::vector<std::string> outputs = node.output_names();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const DType dtype = produced[graph.EntryOf(id, i)];
      text += fmt::format("{}.{} -> {}: {}\n", node.name(), outputs[i], NameOf(dtype), why);
    }
  }
  return text;
}

}  // namespace amp
