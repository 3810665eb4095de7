#include "passes/precision/rounding_points.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "passes/op_facts.h"

namespace amp {
namespace {

// What of each tensor's squared error the nodes that read it see.
class PartsOfReaders {
 public:
  using Parts = std::map<std::string, double>;

  PartsOfReaders(const Graph& graph, const Types& types, const ErrorTarget& target)
      : graph_(graph), target_(target), readers_(graph.num_entries()), is_whole_(graph.num_entries()) {
    for (const NodeEntry& output : graph.outputs()) is_whole_[graph.EntryOf(output)] = true;
    for (NodeId id = 0; id < graph.num_nodes(); ++id) {
      for (std::size_t slot = 0; slot < graph.InputsOf(id).size(); ++slot) AddReader(types, id, slot);
    }
  }

  // The parts of an entry by reader; nothing where it is paid as a whole.
  std::vector<std::pair<NodeId, double>> Of(EntryId entry) const {
    const auto found = target_.parts.find(graph_.EntryName(entry));
    if (found == target_.parts.end() || is_whole_[entry]) return {};
    std::vector<std::pair<NodeId, double>> parts;
    for (const NodeId reader : readers_[entry]) {
      const auto part = found->second.find(graph_.node(reader).name());
      if (part == found->second.end()) return {};
      parts.emplace_back(reader, part->second);
    }
    return parts;
  }

 private:
  void AddReader(const Types& types, NodeId id, std::size_t slot) {
    const EntryId entry = graph_.InputsOf(id)[slot];
    std::vector<NodeId>& readers = readers_[entry];
    const bool is_cast = slot < graph_.OutputsOf(id).size() && IsFloatCast(graph_, types, id, slot);
    if (is_cast) is_whole_[entry] = true;
    if (readers.empty() || readers.back() != id) readers.push_back(id);
  }

  const Graph& graph_;
  const ErrorTarget& target_;
  std::vector<std::vector<NodeId>> readers_;  // by EntryId
  std::vector<bool> is_whole_;                // by EntryId
};

// What a decision rounds of each tensor.
class Roundings {
 public:
  Roundings(const Model& model, const Decision& decision, const ErrorTarget& target, bool training)
      : graph_(model.graph()),
        types_(model.types()),
        d_(decision),
        training_(training),
        target_(target),
        parts_(graph_, types_, target),
        live_(graph_),
        origin_of_(graph_.num_entries(), Reason::kNone),
        read_low_(graph_.num_entries()),
        low_readers_(graph_.num_entries()) {}

  // The sum of what they add to the squared error.
  double SquaredError() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (live_.nodes[id]) AddNode(id);
    }
    for (std::size_t i = 0; i < d_.output_dtypes.size(); ++i) {
      Read(graph_.EntryOf(graph_.outputs()[i]), d_.output_dtypes[i]);
    }
    double sum = 0;
    for (EntryId entry = 0; entry < graph_.num_entries(); ++entry) {
      if (IsRounded(entry)) sum += SquaredErrorOf(entry);
    }
    return sum;
  }

 private:
  void AddNode(NodeId id) {
    for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      const bool is_cast = slot < graph_.OutputsOf(id).size() && IsFloatCast(graph_, types_, id, slot);
      if (!is_cast) {
        Read(graph_.InputsOf(id)[slot], d_.ReadAt(id, slot));
        if (d_.ReadAt(id, slot) == d_.target) low_readers_[graph_.InputsOf(id)[slot]].insert(id);
      } else if (live_.entries[graph_.EntryOf(id, slot)]) {
        AddCast(id, slot);
      }
    }
    for (const EntryId output : graph_.OutputsOf(id)) {
      if (!IsOutputOfFloatCast(graph_, types_, output)) origin_of_[output] = output;
    }
  }

  // What a cast rounds is rounded: whoever reads the result rounds nothing.
  void AddCast(NodeId id, std::size_t slot) {
    const EntryId input = graph_.InputsOf(id)[slot], output = graph_.EntryOf(id, slot);
    const DType dtypes[] = {d_.ReadAt(id, slot), d_.produced[output]};
    EntryId origin = origin_of_[input];
    for (const DType dtype : dtypes) {
      if (origin == Reason::kNone || IsLossless(d_.produced[origin], dtype)) continue;
      if (dtype == d_.target) read_low_[origin] = true;
      origin = Reason::kNone;
    }
    origin_of_[output] = origin;
  }

  void Read(EntryId entry, DType dtype) {
    const EntryId origin = origin_of_[entry];
    if (origin != Reason::kNone && dtype == d_.target) read_low_[origin] = true;
  }

  bool IsRounded(EntryId entry) const {
    const NodeId id = graph_.NodeOf(entry);
    if (origin_of_[entry] != entry || types_[entry].dtype != DType::kFloat32) return false;
    if (Commutes(entry)) return read_low_[entry] && !d_.low[id];
    return read_low_[entry] || d_.produced[entry] == d_.target;
  }

  double SquaredErrorOf(EntryId entry) const {
    const auto found = target_.squared_errors.find(graph_.EntryName(entry));
    if (found == target_.squared_errors.end()) return 0;
    const std::vector<std::pair<NodeId, double>> parts = parts_.Of(entry);
    const bool is_seen_by_all = d_.produced[entry] == d_.target && !Commutes(entry);
    if (parts.empty() || is_seen_by_all) return found->second;
    double seen = 0;
    for (const auto& [reader, part] : parts) seen += low_readers_[entry].count(reader) != 0 ? part : 0;
    return found->second * seen;
  }

  bool Commutes(EntryId entry) const {
    const Node& node = graph_.node(graph_.NodeOf(entry));
    return !node.is_variable() && CommutesWithRounding(node, d_.target, training_);
  }

  const Graph& graph_;
  const Types& types_;
  const Decision& d_;
  const bool training_;
  const ErrorTarget& target_;
  const PartsOfReaders parts_;
  const LiveParts live_;
  std::vector<EntryId> origin_of_;             // by EntryId; kNone where a cast of the model rounded it
  std::vector<bool> read_low_;                 // by EntryId
  std::vector<std::set<NodeId>> low_readers_;  // by EntryId; without those behind casts of the model
};

// Adds the point, or one for each part.
void AddParts(RoundingPoint point, const std::vector<std::pair<NodeId, double>>& parts,
              const std::vector<Choice>& nodes, std::vector<RoundingPoint>* points) {
  if (parts.empty()) points->push_back(std::move(point));
  for (const auto& [reader, part] : parts) {
    RoundingPoint seen{point.squared_error * part, point.writer, point.commutes, {}};
    const bool may_read_low = std::binary_search(point.readers.begin(), point.readers.end(), nodes[reader]);
    if (may_read_low) seen.readers.push_back(nodes[reader]);
    if (seen.squared_error > 0) points->push_back(std::move(seen));
  }
}

}  // namespace

bool RoundingPoint::IsPaid(const CutProblem::Solution& solution) const {
  const bool is_read_low =
      std::any_of(readers.begin(), readers.end(), [&](Choice reader) { return solution.IsLow(reader); });
  return commutes ? is_read_low && !solution.IsLow(writer) : is_read_low || solution.IsLow(writer);
}

void RoundingPoint::AddTo(CutProblem* problem, Capacity price) const {
  std::vector<Choice> who = readers;
  if (!commutes) who.push_back(writer);
  std::erase(who, Choice::High());
  if (who.empty()) return;
  Choice rounded = who[0];
  if (std::find(who.begin(), who.end(), Choice::Low()) != who.end()) {
    rounded = Choice::Low();
  } else if (who.size() > 1) {
    rounded = problem->AddChoice();
    for (const Choice one : who) problem->Require(one, rounded);
  }
  if (commutes) {
    problem->AddPairCost(writer, rounded, price);
  } else {
    problem->AddCost(rounded, price, 0);
  }
}

std::vector<RoundingPoint> RoundingPointsOf(const PropagationContext& c, const TensorRoots& roots,
                                            const std::vector<Choice>& nodes) {
  std::vector<RoundingPoint> points;
  const PartsOfReaders parts(c.graph, c.types, *c.options.accuracy);
  for (const TensorRoot& root : roots.all()) {
    if (c.types[root.entry].dtype != DType::kFloat32 || IsOutputOfFloatCast(c.graph, c.types, root.entry)) continue;
    const auto found = c.options.accuracy->squared_errors.find(c.graph.EntryName(root.entry));
    if (found == c.options.accuracy->squared_errors.end() || found->second == 0) continue;
    const NodeId id = c.graph.NodeOf(root.entry);
    const Node& node = c.graph.node(id);
    RoundingPoint point{found->second, root.choice, false, root.readers};
    point.commutes = !node.is_variable() && CommutesWithRounding(node, c.options.target, c.options.training);
    if (point.commutes) point.writer = nodes[id];
    for (const TensorUse& use : root.uses) {
      if (use.is_read && use.dtype == c.options.target) point.readers.push_back(Choice::Low());
    }
    std::sort(point.readers.begin(), point.readers.end());
    point.readers.erase(std::unique(point.readers.begin(), point.readers.end()), point.readers.end());
    AddParts(std::move(point), parts.Of(root.entry), nodes, &points);
  }
  return points;
}

double PredictSquaredError(const Model& model, const Decision& decision, const ConvertOptions& options) {
  return Roundings(model, decision, *options.accuracy, options.training).SquaredError();
}

}  // namespace amp
