// Which dtype each slot reads and each entry has, and why.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/graph.h"
#include "passes/precision/convert_options.h"
#include "passes/precision/reason.h"
#include "passes/value_range.h"

namespace amp {

// Proof that a decision costs least: no flow is larger than a cut, and here they are equal. Figures are picoseconds or
// casts, which `minimized` says.
struct CutCertificate {
  Minimize minimized = Minimize::kTime;
  std::int64_t cut = 0, flow = 0;
  std::int64_t constant = 0;  // what every decision pays; with the cut: what this one pays
};

// What a decision costs, and the model as it was: picoseconds or casts, which `unit` says.
struct Prediction {
  Minimize unit = Minimize::kTime;
  std::int64_t as_decided = 0, unchanged = 0;
};

// A decision among those that an accuracy target led to: its cost in the unit of predictions, and its squared error.
// Where casts are counted, a product in float32 costs one more than the casts it could save.
struct PricedDecision {
  std::int64_t cost = 0;
  double squared_error = 0;
};

// How a decision meets ErrorTarget. Errors are predicted: sums of what single roundings add.
struct ErrorOutcome {
  bool is_reached = true;                  // the squared error is within the limit
  double squared_error = 0;                // of the decision
  double without_target = 0;               // of the decision that the costs alone lead to
  std::vector<PricedDecision> curve = {};  // what was found, by falling cost: none is better than another in both
};

// One tensor may be read as bfloat16 here and as float32 there, so the decision is per slot.
struct Decision {
  DType target = DType::kUnknown;
  PrecisionPolicy policy = PrecisionPolicy::kDefault;
  std::vector<DType> produced;            // dtype of each entry, before casts; by EntryId
  std::vector<DType> read;                // dtype wanted by each slot; by first_slot[node] + slot
  std::vector<std::uint32_t> first_slot;  // by NodeId, and the number of all slots
  std::vector<bool> low;                  // the node goes low; by NodeId
  std::vector<bool> widens;     // its inputs are cast to float32, because they may be something else; by NodeId
  std::vector<bool> forced;     // where it is low it stays so, whatever the model is bound to; by NodeId
  std::vector<Reason> reasons;  // by NodeId
  std::vector<ReasonKind> slot_reasons;  // of slots that differ from their node: statistics, ...; else the node's kind
  std::vector<DType> output_dtypes;      // of each output of the model
  std::vector<std::string> details;      // texts of the reasons
  std::vector<std::string> unknown_names;
  std::optional<CutCertificate> certificate;  // where a minimum cut decided
  std::optional<Prediction> predicted;        // there, and where a machine is known
  std::optional<ErrorOutcome> errors;         // where an accuracy target decided; then there is no certificate
  std::vector<ValueRange> ranges;             // by EntryId

  DType ReadAt(NodeId id, std::size_t slot) const { return read[first_slot[id] + slot]; }

  // A sentence: "softmax0_output is not in low precision".
  std::string Sentence(const Graph& graph, const Reason& reason) const;
  // "node.slot <- dtype: reason", one line per slot; deterministic. `say` gives the text of a reason; by default its
  // sentence.
  std::string Print(const Graph& graph, const std::function<std::string(const Reason&)>& say = nullptr) const;
};

}  // namespace amp
