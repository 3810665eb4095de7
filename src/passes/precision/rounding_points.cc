#include "passes/precision/rounding_points.h"

#include <algorithm>

#include "passes/op_facts.h"

namespace amp {
namespace {

// The tensors that a decision rounds.
class Roundings {
 public:
  Roundings(const Model& model, const Decision& decision, bool training)
      : graph_(model.graph()),
        types_(model.types()),
        d_(decision),
        training_(training),
        live_(graph_),
        origin_of_(graph_.num_entries(), Reason::kNone),
        read_low_(graph_.num_entries()) {}

  std::vector<EntryId> Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (live_.nodes[id]) AddNode(id);
    }
    for (std::size_t i = 0; i < d_.output_dtypes.size(); ++i) {
      Read(graph_.EntryOf(graph_.outputs()[i]), d_.output_dtypes[i]);
    }
    std::vector<EntryId> rounded;
    for (EntryId entry = 0; entry < graph_.num_entries(); ++entry) {
      if (IsRounded(entry)) rounded.push_back(entry);
    }
    return rounded;
  }

 private:
  void AddNode(NodeId id) {
    for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      const bool is_cast = slot < graph_.OutputsOf(id).size() && IsFloatCast(graph_, types_, id, slot);
      if (!is_cast) {
        Read(graph_.InputsOf(id)[slot], d_.ReadAt(id, slot));
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
    const Node& node = graph_.node(id);
    if (!node.is_variable() && CommutesWithRounding(node, d_.target, training_)) return read_low_[entry] && !d_.low[id];
    return read_low_[entry] || d_.produced[entry] == d_.target;
  }

  const Graph& graph_;
  const Types& types_;
  const Decision& d_;
  const bool training_;
  const LiveParts live_;
  std::vector<EntryId> origin_of_;  // by EntryId; kNone where a cast of the model rounded it
  std::vector<bool> read_low_;      // by EntryId
};

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
    points.push_back(std::move(point));
  }
  return points;
}

double PredictSquaredError(const Model& model, const Decision& decision, const ConvertOptions& options) {
  double sum = 0;
  for (const EntryId entry : Roundings(model, decision, options.training).Run()) {
    const auto found = options.accuracy->squared_errors.find(model.graph().EntryName(entry));
    if (found != options.accuracy->squared_errors.end()) sum += found->second;
  }
  return sum;
}

}  // namespace amp
