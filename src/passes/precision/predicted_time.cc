#include "passes/precision/predicted_time.h"

#include <map>
#include <utility>

#include "passes/precision/tensor_roots.h"

namespace amp {
namespace {

constexpr Picoseconds kLeastPicoseconds = 20'000'000;  // what some steps cost to start

class TimePrediction {
 public:
  TimePrediction(const Model& model, const Decision& decision, const PrecisionCosts& costs)
      : model_(model),
        graph_(model.graph()),
        d_(decision),
        costs_(costs),
        live_(graph_),
        origin_of_(graph_.num_entries()) {}

  Picoseconds Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (live_.nodes[id]) AddNode(id);
    }
    for (std::size_t i = 0; i < d_.output_dtypes.size(); ++i) {
      AddRead(graph_.EntryOf(graph_.outputs()[i]), d_.output_dtypes[i]);
    }
    for (const auto& [cast, result] : casts_) {
      Add(costs_.OfCast(origins_[cast.first].entry, origins_[cast.first].dtype, cast.second));
    }
    return sum_;
  }

 private:
  // A tensor in the dtype in which it comes into being: by its node, or by a cast that rounds.
  struct Origin {
    EntryId entry;
    DType dtype;
  };
  using OriginId = std::uint32_t;
  static constexpr OriginId kNone = Reason::kNone;

  OriginId AddOrigin(EntryId entry, DType dtype) {
    origins_.push_back({entry, dtype});
    return static_cast<OriginId>(origins_.size() - 1);
  }

  void Add(Picoseconds time) {
    if (__builtin_add_overflow(sum_, CheckedTime(time), &sum_)) {
      throw ArgumentError("machine: predicted times sum to more than 64 bits");
    }
  }

  void AddNode(NodeId id) {
    bool is_cast = false;
    for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      if (IsCastSlot(id, slot)) {
        is_cast = true;
        if (live_.entries[graph_.EntryOf(id, slot)]) AddCast(id, slot);
      } else {
        AddRead(graph_.InputsOf(id)[slot], d_.ReadAt(id, slot));
        AddLostFusion(id, slot);
      }
    }
    for (const EntryId output : graph_.OutputsOf(id)) {
      if (IsOutputOfFloatCast(graph_, model_.types(), output)) continue;
      origin_of_[output] = AddOrigin(output, d_.produced[output]);
    }
    if (!is_cast && !graph_.node(id).is_variable()) AddTimeOf(id);
  }

  bool IsCastSlot(NodeId id, std::size_t slot) const {
    return slot < graph_.InputsOf(id).size() && slot < graph_.OutputsOf(id).size() &&
           IsFloatCast(graph_, model_.types(), id, slot);
  }

  void AddCast(NodeId id, std::size_t slot) {
    const EntryId output = graph_.EntryOf(id, slot);
    const OriginId read = Converted(origin_of_[graph_.InputsOf(id)[slot]], d_.ReadAt(id, slot), output);
    origin_of_[output] = Converted(read, d_.produced[output], output);
  }

  OriginId Converted(OriginId origin, DType dtype, EntryId output) {
    if (IsLossless(origins_[origin].dtype, dtype)) return origin;
    OriginId& rounded = casts_.emplace(std::pair(origin, dtype), kNone).first->second;
    if (rounded == kNone) rounded = AddOrigin(output, dtype);
    // The first of several casts in the alphabet stands for all, whatever the order of nodes.
    EntryId& entry = origins_[rounded].entry;
    if (graph_.EntryName(output) < graph_.EntryName(entry)) entry = output;
    return rounded;
  }

  void AddRead(EntryId entry, DType dtype) {
    if (origins_[origin_of_[entry]].dtype != dtype) casts_.emplace(std::pair(origin_of_[entry], dtype), kNone);
  }

  bool IsRead(NodeId id, std::size_t slot) const {
    return d_.slot_reasons[d_.first_slot[id] + slot] != ReasonKind::kNotRead;
  }

  void AddLostFusion(NodeId id, std::size_t slot) {
    const EntryId input = graph_.InputsOf(id)[slot];
    if (!IsRead(id, slot) || graph_.node(graph_.NodeOf(input)).is_variable()) return;
    const bool is_cast = IsOutputOfFloatCast(graph_, model_.types(), input);
    if (is_cast || d_.produced[input] == d_.ReadAt(id, slot)) return;
    Add(costs_.OfLostFusion(input, {id, static_cast<std::uint32_t>(slot)}));
  }

  void AddTimeOf(NodeId id) {
    std::vector<DType> inputs, outputs;
    for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      inputs.push_back(IsRead(id, slot) ? d_.ReadAt(id, slot) : model_.types()[graph_.InputsOf(id)[slot]].dtype);
    }
    for (const EntryId output : graph_.OutputsOf(id)) outputs.push_back(d_.produced[output]);
    Add(costs_.OfNode(id, inputs, outputs));
  }

  const Model& model_;
  const Graph& graph_;
  const Decision& d_;
  const PrecisionCosts& costs_;

  const LiveParts live_;
  std::vector<Origin> origins_;
  std::vector<OriginId> origin_of_;  // by EntryId
  std::map<std::pair<OriginId, DType>, OriginId>
      casts_;  // to a dtype -> what is rounded so, if a cast of the model does
  Picoseconds sum_ = 0;
};

}  // namespace

Picoseconds PredictTime(const Model& model, const Decision& decision, const PrecisionCosts& costs) {
  return TimePrediction(model, decision, costs).Run();
}

Decision Unchanged(const Model& model, const Decision& like) {
  const Graph& graph = model.graph();
  Decision decision = like;
  decision.low.assign(graph.num_nodes(), false);
  for (EntryId entry = 0; entry < graph.num_entries(); ++entry) decision.produced[entry] = model.types()[entry].dtype;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const auto inputs = graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      decision.read[decision.first_slot[id] + slot] = model.types()[inputs[slot]].dtype;
    }
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    decision.output_dtypes[i] = model.types()[graph.EntryOf(graph.outputs()[i])].dtype;
  }
  return decision;
}

Picoseconds CheckedTime(Picoseconds time) {
  if (time < 0) Throw<ArgumentError>("machine: a predicted time is {} ps, less than none", time);
  return time;
}

bool PaysOff(const Prediction& predicted, const Machine& machine) {
  const Picoseconds gain = predicted.unchanged - predicted.as_decided;
  return gain >= kLeastPicoseconds &&
         static_cast<double>(gain) >= machine.min_gain() * static_cast<double>(predicted.unchanged);
}

}  // namespace amp
