#include "passes/precision/propagate_optimal.h"

#include <algorithm>
#include <optional>

#include "passes/op_facts.h"
#include "passes/precision/accuracy_choice.h"
#include "passes/precision/cast_terms.h"
#include "passes/precision/predicted_time.h"
#include "passes/precision/tensor_roots.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

// What is to be chosen: for each node whether it is low, and for each result whether it is written low. A node writes
// what it reads, but for the sums of products (output 0 of nodes that accumulate), which can be float32.
class NodeChoices {
 public:
  NodeChoices(const PropagationContext& context, const std::vector<DType>& output_dtypes, bool minimizes_time,
              CutProblem* problem)
      : c_(context),
        output_dtypes_(output_dtypes),
        minimizes_time_(minimizes_time),
        problem_(*problem),
        nodes_(context.graph.num_nodes(), Choice::High()),
        results_(context.graph.num_entries(), Choice::High()),
        live_(context.graph),
        roots_(context) {}

  void Run() {
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) Add(id);
    std::vector<std::pair<EntryId, DType>> outputs;
    for (std::size_t i = 0; i < c_.graph.outputs().size(); ++i) {
      outputs.emplace_back(c_.graph.EntryOf(c_.graph.outputs()[i]), output_dtypes_[i]);
    }
    std::sort(outputs.begin(), outputs.end());
    outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
    for (const auto& [entry, dtype] : outputs) roots_.AddOutput(entry, dtype);
  }

  Choice OfNode(NodeId id) const { return nodes_[id]; }
  const std::vector<Choice>& OfNodes() const { return nodes_; }
  Choice OfResult(EntryId entry) const { return results_[entry]; }
  // A product's result 0, which is low or float32 whatever else the node writes.
  bool IsSum(EntryId entry) const {
    const NodeId id = c_.graph.NodeOf(entry);
    return c_.graph.IndexOf(entry) == 0 && !c_.graph.node(id).is_variable() && !c_.WasLow(entry) &&
           c_.low_types.CanBeLow(id) && c_.low_types.IsLowOutput(entry) &&
           FactsOf(c_.graph.node(id)).arithmetic == Arithmetic::kAccumulates;
  }
  // Is it no operator, but casts that ApplyDecision makes or leaves out?
  bool IsCast(NodeId id) const {
    for (std::size_t slot = 0; slot < c_.graph.InputsOf(id).size(); ++slot) {
      if (slot < c_.graph.OutputsOf(id).size() && IsFloatCast(c_.graph, c_.types, id, slot)) return true;
    }
    return false;
  }
  // All that could be low is low already.
  bool WasAllLow(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.IsLowSlot(id, slot) && !c_.WasLow(inputs[slot])) return false;
    }
    return true;
  }
  // Some output of the model needs it, once amp_multicast is gone.
  bool IsLive(NodeId id) const { return live_.nodes[id]; }
  TensorRoots& roots() { return roots_; }

 private:
  void Add(NodeId id) {
    if (c_.graph.node(id).is_variable()) {
      roots_.AddFixed(c_.graph.EntryOf(id, 0), c_.types[c_.graph.EntryOf(id, 0)].dtype);
    } else if (!IsLive(id)) {
      for (const EntryId output : c_.graph.OutputsOf(id)) roots_.AddFixed(output, c_.types[output].dtype);
    } else if (IsCast(id)) {
      AddCasts(id);
    } else {
      nodes_[id] = Choose(id);
      if (!minimizes_time_ && IsCastThatStays(id)) problem_.AddConstant(1);
      AddReads(id);
      for (const EntryId output : c_.graph.OutputsOf(id)) AddResult(id, output);
    }
  }

  // The program's own, and one that passes integers on as they are to where they are an output of the model.
  bool IsCastThatStays(NodeId id) const {
    const Node& node = c_.graph.node(id);
    return node.IsOp("amp_cast") && (IsCastOfProgram(node) || c_.graph.HasOutput(id));
  }

  // A cast's output has the dtype of its attribute. A multicast changes nothing where it is float32.
  void AddCasts(NodeId id) {
    const bool reads_low = c_.choices.roles[id] == PrecisionCategory::kLow && c_.low_types.CanBeLow(id);
    nodes_[id] = reads_low ? Choice::Low() : Choice::High();
    for (std::size_t slot = 0; slot < c_.graph.OutputsOf(id).size(); ++slot) {
      const EntryId output = c_.graph.EntryOf(id, slot);
      if (!live_.entries[output]) {
        roots_.AddFixed(output, c_.types[output].dtype);
      } else if (IsFloatCast(c_.graph, c_.types, id, slot)) {
        roots_.AddCast(id, slot, reads_low && c_.low_types.IsLowSlot(id, slot));
      } else {
        roots_.ReadAsItComes(c_.graph.InputsOf(id)[slot]);
        roots_.AddFixed(output, c_.types[output].dtype);
      }
    }
  }

  Choice Choose(NodeId id) {
    const PrecisionCategory role = c_.choices.roles[id];
    if (!c_.low_types.CanBeLow(id) || role == PrecisionCategory::kKeep || role == PrecisionCategory::kCast) {
      return Choice::High();
    }
    const bool is_fact = c_.choices.reasons[id].kind == ReasonKind::kAccumulates;
    const bool may_be_high = is_fact && (minimizes_time_ || c_.options.accuracy);
    if ((role == PrecisionCategory::kLow && !may_be_high) || WasAllLow(id)) return Choice::Low();
    if (WritesWhatIsCastAgain(id)) return Choice::High();
    if (role == PrecisionCategory::kWidest) return ChooseWidest(id);
    const Choice choice = problem_.AddChoice();
    if (role == PrecisionCategory::kLow && !minimizes_time_) problem_.AddCost(choice, 0, MoreThanItsCasts(id));
    return choice;
  }

  // What a product in float32 counts among casts: where accuracy does not matter, none is.
  Capacity MoreThanItsCasts(NodeId id) const {
    Capacity casts = 1;
    for (std::size_t slot = 0; slot < c_.graph.InputsOf(id).size(); ++slot) casts += c_.low_types.IsLowSlot(id, slot);
    return casts;
  }

  bool WritesWhatIsCastAgain(NodeId id) const {
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      const bool is_tied = c_.low_types.IsLowOutput(output) && !IsSum(output);
      if (is_tied && roots_.IsRoundedAndCastAgain(output)) return true;
    }
    return false;
  }

  // It never forces casts on what it reads.
  Choice ChooseWidest(NodeId id) {
    const auto inputs = c_.graph.InputsOf(id);
    const auto reads_low = [&](std::size_t slot) {
      return c_.low_types.IsLowSlot(id, slot) && !c_.WasLow(inputs[slot]);
    };
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (reads_low(slot) && roots_.RootOf(inputs[slot]).choice == Choice::High()) return Choice::High();
    }
    const Choice choice = problem_.AddChoice();
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (reads_low(slot)) problem_.Require(choice, roots_.RootOf(inputs[slot]).choice);
    }
    return choice;
  }

  void AddReads(NodeId id) {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const bool takes_all = c_.choices.roles[id] == PrecisionCategory::kCast;
      const bool follows = c_.low_types.IsLowSlot(id, slot) && nodes_[id] != Choice::High();
      if (takes_all || c_.low_types.KindOf(id, slot) == ReasonKind::kNotRead) {
        roots_.ReadAsItComes(inputs[slot]);
      } else if (follows && nodes_[id].is_open() && !c_.WasLow(inputs[slot])) {
        roots_.ReadBy(inputs[slot], nodes_[id]);
      } else {
        roots_.ReadAs(inputs[slot], follows ? c_.options.target : c_.types[inputs[slot]].dtype);
      }
    }
  }

  void AddResult(NodeId id, EntryId output) {
    const bool may_be_low = !c_.WasLow(output) && nodes_[id] != Choice::High() && c_.low_types.IsLowOutput(output);
    if (!may_be_low) return roots_.AddFixed(output, c_.types[output].dtype);
    results_[output] = nodes_[id];
    if (IsSum(output)) {
      results_[output] = Choice::High();
      if (!roots_.IsRoundedAndCastAgain(output)) {
        results_[output] = problem_.AddChoice();
        problem_.Require(results_[output], nodes_[id]);
      }
    }
    roots_.AddChosen(output, results_[output]);
  }

  const PropagationContext& c_;
  const std::vector<DType>& output_dtypes_;
  const bool minimizes_time_;
  CutProblem& problem_;
  std::vector<Choice> nodes_;    // by NodeId
  std::vector<Choice> results_;  // by EntryId
  const LiveParts live_;
  TensorRoots roots_;
};

// The predicted times of nodes, and of the fusions that casts prevent.
class NodeTerms {
 public:
  NodeTerms(const PropagationContext& context, const PrecisionCosts& costs, NodeChoices* choices, CutProblem* problem)
      : c_(context), costs_(costs), choices_(*choices), problem_(*problem) {}

  // One run of the node, low or not; where it is low, result 0 of a product may still be float32.
  Picoseconds TimeOf(NodeId id, bool low, bool low_sum) const {
    std::vector<DType> inputs, outputs;
    for (std::size_t slot = 0; slot < c_.graph.InputsOf(id).size(); ++slot) {
      const bool reads_low = low && c_.low_types.IsLowSlot(id, slot);
      inputs.push_back(reads_low ? c_.options.target : c_.types[c_.graph.InputsOf(id)[slot]].dtype);
    }
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      const bool writes_low = low && c_.low_types.IsLowOutput(output) && (low_sum || !choices_.IsSum(output));
      outputs.push_back(writes_low ? c_.options.target : c_.types[output].dtype);
    }
    return CheckedTime(costs_.OfNode(id, inputs, outputs));
  }

  void Add(NodeId id) {
    if (c_.graph.node(id).is_variable() || choices_.IsCast(id) || !choices_.IsLive(id)) return;
    if (c_.choices.roles[id] == PrecisionCategory::kCast) return AddConversion(id);
    AddTime(id);
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) AddLostFusion(id, slot);
  }

 private:
  void AddTime(NodeId id) {
    const Choice choice = choices_.OfNode(id);
    const Picoseconds high = choice == Choice::Low() ? 0 : TimeOf(id, false, false);
    if (choice == Choice::High()) return problem_.AddConstant(high);
    const bool has_sum = c_.graph.node(id).num_outputs() > 0 && choices_.IsSum(c_.graph.EntryOf(id, 0));
    const Picoseconds low = TimeOf(id, true, false);
    problem_.AddCost(choice, low, high);
    if (has_sum) problem_.AddCost(choices_.OfResult(c_.graph.EntryOf(id, 0)), TimeOf(id, true, true) - low, 0);
  }

  // From floats to something else: it takes what comes.
  void AddConversion(NodeId id) {
    const EntryId input = c_.graph.InputsOf(id)[0], output = c_.graph.EntryOf(id, 0);
    const TensorRoot& root = choices_.roots().RootOf(input);
    const auto time = [&](DType from) { return CheckedTime(costs_.OfNode(id, {from}, {c_.types[output].dtype})); };
    if (root.entry == input && root.choice.is_open()) {
      problem_.AddCost(root.choice, time(c_.options.target), time(DType::kFloat32));
    } else {
      problem_.AddConstant(time(root.entry == input ? root.dtype : c_.types[input].dtype));
    }
  }

  void AddLostFusion(NodeId id, std::size_t slot) {
    const EntryId input = c_.graph.InputsOf(id)[slot];
    const TensorRoot& root = choices_.roots().RootOf(input);
    const bool is_read = c_.low_types.KindOf(id, slot) != ReasonKind::kNotRead;
    if (!is_read || root.entry != input || c_.graph.node(c_.graph.NodeOf(input)).is_variable()) return;
    if (choices_.IsCast(c_.graph.NodeOf(input)) || !IsFloat(c_.types[input].dtype)) return;
    const bool follows = c_.low_types.IsLowSlot(id, slot);
    Choice reader = follows ? choices_.OfNode(id) : Choice::High();
    if (c_.WasLow(input)) reader = Choice::Low();
    if (root.choice == reader) return;
    const Consumer consumer{id, static_cast<std::uint32_t>(slot)};
    const Picoseconds time = CheckedTime(costs_.OfLostFusion(input, consumer));
    problem_.AddPairCost(root.choice, reader, time);
    problem_.AddPairCost(reader, root.choice, time);
  }

  const PropagationContext& c_;
  const PrecisionCosts& costs_;
  NodeChoices& choices_;
  CutProblem& problem_;
};

// Why nodes are in the precision that they are in.
class OptimalReasons {
 public:
  OptimalReasons(const PropagationContext& context, const NodeChoices& choices, const NodeTerms* times,
                 const AccuracyChoice* accuracy, Decision* decision)
      : c_(context), choices_(choices), times_(times), accuracy_(accuracy), d_(*decision) {}

  void Set(NodeId id) {
    const PrecisionCategory role = c_.choices.roles[id];
    const bool is_fixed = role == PrecisionCategory::kKeep || role == PrecisionCategory::kCast || choices_.IsCast(id);
    if (is_fixed) return;
    if (!c_.low_types.CanBeLow(id)) {
      d_.reasons[id] = c_.low_types.RefusalOf(id);
    } else if (role == PrecisionCategory::kLow && !choices_.OfNode(id).is_open()) {
      return;
    } else if (choices_.WasAllLow(id)) {
      d_.reasons[id] = {ReasonKind::kReadsLow, FirstLowInput(id)};
    } else if (!d_.low[id] && accuracy_ != nullptr && accuracy_->WouldBeLow(id)) {
      d_.reasons[id] = {ReasonKind::kTooSensitive, Reason::kNone, Detail(accuracy_->Price(id, TimeSaved(id)))};
    } else if (role == PrecisionCategory::kLow && d_.low[id] && times_ == nullptr) {
      return;
    } else if (times_ != nullptr) {
      d_.reasons[id] = {d_.low[id] ? ReasonKind::kFasterLow : ReasonKind::kFasterHigh, Reason::kNone, Times(id)};
    } else {
      d_.reasons[id] = {d_.low[id] ? ReasonKind::kFewerCasts : ReasonKind::kNoFewerCasts};
    }
  }

 private:
  EntryId FirstLowInput(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.IsLowSlot(id, slot)) return inputs[slot];
    }
    return Reason::kNone;
  }

  std::uint32_t Times(NodeId id) {
    const auto microseconds = [](Picoseconds time) { return static_cast<double>(time) * 1e-6; };
    const Picoseconds low = times_->TimeOf(id, true, true), high = times_->TimeOf(id, false, false);
    return Detail(fmt::format("by itself it takes {:.4g} us in {} and {:.4g} us in float32", microseconds(low),
                              NameOf(d_.target), microseconds(high)));
  }

  std::uint32_t Detail(std::string text) {
    d_.details.push_back(std::move(text));
    return static_cast<std::uint32_t>(d_.details.size() - 1);
  }

  std::optional<Picoseconds> TimeSaved(NodeId id) const {
    if (times_ == nullptr) return std::nullopt;
    return times_->TimeOf(id, false, false) - times_->TimeOf(id, true, true);
  }

  const PropagationContext& c_;
  const NodeChoices& choices_;
  const NodeTerms* times_;
  const AccuracyChoice* accuracy_;
  Decision& d_;
};

}  // namespace

void PropagatePrecisionOptimal(const PropagationContext& context, const PrecisionCosts* costs, Decision* decision,
                               std::vector<bool>* writes_float32) {
  CutProblem problem;
  NodeChoices choices(context, decision->output_dtypes, costs != nullptr, &problem);
  choices.Run();
  const std::size_t num_decisions = problem.num_choices();
  CastTerms casts(context, costs, &problem);
  for (const TensorRoot& root : choices.roots().all()) casts.Add(root);
  std::optional<NodeTerms> times;
  if (costs != nullptr) times.emplace(context, *costs, &choices, &problem);
  for (NodeId id = 0; times && id < context.graph.num_nodes(); ++id) times->Add(id);
  std::optional<AccuracyChoice> accuracy;
  if (context.options.accuracy) {
    accuracy.emplace(context, problem, num_decisions, choices.roots(), choices.OfNodes());
  }
  const CutProblem::Solution solution = accuracy ? accuracy->solution() : problem.Solve();
  OptimalReasons reasons(context, choices, times ? &*times : nullptr, accuracy ? &*accuracy : nullptr, decision);
  for (NodeId id = 0; id < context.graph.num_nodes(); ++id) {
    if (context.graph.node(id).is_variable()) continue;
    decision->low[id] = solution.IsLow(choices.OfNode(id));
    for (const EntryId output : context.graph.OutputsOf(id)) {
      const bool is_sum = decision->low[id] && choices.IsSum(output);
      (*writes_float32)[output] = is_sum && !solution.IsLow(choices.OfResult(output));
    }
    reasons.Set(id);
  }
  if (accuracy) {
    decision->errors = accuracy->Outcome();
  } else {
    decision->certificate = {costs != nullptr ? Minimize::kTime : Minimize::kCasts, solution.cut, solution.flow,
                             solution.constant};
  }
}

}  // namespace amp
