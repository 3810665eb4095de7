#include "passes/precision/decide.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "nnvm/env.h"
#include "passes/op_facts.h"
#include "passes/precision/apply_decision.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/precision/predicted_time.h"
#include "passes/precision/propagate_default.h"
#include "passes/precision/propagate_graphamp.h"
#include "passes/precision/propagate_mxnet.h"
#include "passes/precision/propagate_optimal.h"
#include "passes/precision/rounding_points.h"

namespace amp {
namespace {

std::vector<std::uint32_t> FirstSlots(const Graph& graph) {
  std::vector<std::uint32_t> first{0};
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    first.push_back(first.back() + static_cast<std::uint32_t>(graph.InputsOf(id).size()));
  }
  return first;
}

std::vector<DType> OutputDTypesOf(const Graph& graph, const Types& types, const ConvertOptions& options,
                                  Problems* problems) {
  const std::vector<std::string> names =
      options.output_dtypes.empty() ? std::vector<std::string>() : OutputNames(graph.outputs());
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    dtypes.push_back(types[graph.EntryOf(graph.outputs()[i])].dtype);
    if (names.empty()) continue;
    const auto found = options.output_dtypes.find(names[i]);
    if (found == options.output_dtypes.end()) continue;
    if (!IsFloat(dtypes[i])) {
      problems->Add(fmt::format("output_dtypes: '{}' is {}, which is no float", names[i], NameOf(dtypes[i])));
    }
    dtypes[i] = found->second;
  }
  return dtypes;
}

// Turns "who goes low" into dtypes.
class DTypeAssigner {
 public:
  DTypeAssigner(const Graph& graph, const Types& types, const PrecisionChoices& choices,
                const LowPrecisionTypes& low_types, const std::vector<bool>& writes_float32, Decision* decision)
      : graph_(graph),
        types_(types),
        choices_(choices),
        low_types_(low_types),
        writes_float32_(writes_float32),
        d_(*decision) {}

  void Run() {
    d_.produced.resize(graph_.num_entries());
    d_.read.resize(d_.first_slot.back());
    d_.slot_reasons.resize(d_.first_slot.back());
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (graph_.node(id).is_variable()) {
        d_.produced[graph_.EntryOf(id, 0)] = types_[graph_.EntryOf(id, 0)].dtype;
      } else if (choices_.roles[id] == PrecisionCategory::kCast && d_.policy != PrecisionPolicy::kGraphAmp) {
        TakeAsItComes(id);
      } else {
        Settle(id);
      }
    }
  }

 private:
  void Settle(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const ReasonKind kind = low_types_.KindOf(id, slot);
      const bool is_low = d_.low[id] && kind == ReasonKind::kReadsLow;
      DType dtype = is_low ? d_.target : types_[inputs[slot]].dtype;
      if (kind == ReasonKind::kNotRead) dtype = d_.produced[inputs[slot]];
      SetSlot(id, slot, dtype, kind);
    }
    for (const EntryId entry : graph_.OutputsOf(id)) {
      const bool is_low = d_.low[id] && low_types_.IsLowOutput(entry) && !writes_float32_[entry];
      d_.produced[entry] = is_low ? d_.target : types_[entry].dtype;
    }
  }

  // A cast reads whatever is there, if the operator allows that. (Under policy graphamp it reads what it read before.)
  void TakeAsItComes(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    std::vector<DType> in;
    for (const EntryId input : inputs) in.push_back(d_.produced[input]);
    std::string refusal;
    const std::vector<DType> out = OutputDTypes(graph_.node(id), in, &refusal);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      SetSlot(id, slot, out.empty() ? types_[inputs[slot]].dtype : in[slot], ReasonKind::kReadsLow);
    }
    for (const EntryId entry : graph_.OutputsOf(id)) d_.produced[entry] = types_[entry].dtype;
  }

  void SetSlot(NodeId id, std::size_t slot, DType dtype, ReasonKind kind) {
    const bool has_its_own = kind == ReasonKind::kStatistic || kind == ReasonKind::kIndex ||
                             kind == ReasonKind::kNotRead || IsRoundingLimit(kind);
    d_.read[d_.first_slot[id] + slot] = dtype;
    d_.slot_reasons[d_.first_slot[id] + slot] = has_its_own ? kind : d_.reasons[id].kind;
  }

  const Graph& graph_;
  const Types& types_;
  const PrecisionChoices& choices_;
  const LowPrecisionTypes& low_types_;
  const std::vector<bool>& writes_float32_;
  Decision& d_;
};

// What the call forces by name must be possible; nodes that a pattern describes keep their dtypes where it is not.
void RequireForced(const Graph& graph, const PrecisionChoices& choices, const LowPrecisionTypes& low_types,
                   const Decision& decision, Problems* problems) {
  for (const NodeId id : choices.forced_low) {
    if (low_types.CanBeLow(id)) continue;
    problems->Add(fmt::format("force: '{}' cannot be {}: {}", Quotable(graph.node(id).name()), NameOf(decision.target),
                              decision.Sentence(graph, low_types.RefusalOf(id))));
  }
}

// ---- decisions by a minimum cut ----

// What a cut makes small; nullopt where rules decide.
std::optional<Minimize> MinimizedBy(const ConvertOptions& options) {
  const bool is_optimal = options.policy == PrecisionPolicy::kOptimal;
  const Minimize known = options.machine != nullptr ? Minimize::kTime : Minimize::kCasts;
  if (options.accuracy && !is_optimal) return known;
  if (is_optimal) return options.minimize.value_or(known);
  const bool asks_machine = options.policy == PrecisionPolicy::kDefault && options.machine != nullptr;
  return asks_machine ? std::optional(Minimize::kTime) : std::nullopt;
}

// Says for each EntryId whether times depend on its shape. Labels that inference ignores may be of any shape.
std::vector<bool> TimedEntries(const Graph& graph) {
  std::vector<bool> timed(graph.num_entries());
  for (const NodeEntry& output : graph.outputs()) timed[graph.EntryOf(output)] = true;
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    bool runs = false;
    for (const EntryId output : graph.OutputsOf(id)) runs = runs || timed[output];
    if (!runs) continue;
    const auto inputs = graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (FactsOf(graph.node(id)).RoleOf(slot) != SlotRole::kIgnored) timed[inputs[slot]] = true;
    }
  }
  return timed;
}

// The machine can predict times of tensors with known shapes alone.
void RequireTimes(const Graph& graph, const Types& types, const ConvertOptions& options, Problems* problems) {
  if (options.machine == nullptr) {
    return problems->Add(
        "minimize='time' needs a machine: machine='this', a class or a file; minimize='casts' does not");
  }
  std::vector<std::string> variables, results;
  const std::vector<bool> timed = TimedEntries(graph);
  for (EntryId entry = 0; entry < graph.num_entries(); ++entry) {
    if (!timed[entry] || types[entry].shape.fully_known()) continue;
    auto& unknown = graph.node(graph.NodeOf(entry)).is_variable() ? variables : results;
    unknown.push_back(graph.EntryName(entry));
  }
  if (variables.empty() && results.empty()) return;
  problems->Add(
      fmt::format("policy '{}' predicts times, which needs the shapes of all inputs; not known are those of {}",
                  NameOf(options.policy), JoinSome(variables.empty() ? results : variables)));
}

std::unique_ptr<PrecisionCosts> CostsOf(const Model& model, const ConvertOptions& options) {
  if (!options.training) return options.machine->CostsOf(model);
  return options.machine->TrainingCostsOf(model, DifferentiatedVariables(model, options));
}

// What a conversion with this decision has in casts.
std::int64_t NumCastsOf(const Model& model, const Decision& decision, bool offline) {
  RewriteResult applied = ApplyDecision(model.graph(), decision);
  if (!offline) return static_cast<std::int64_t>(CountCasts(applied.graph));
  Model after = model;
  after.Replace(std::move(applied));
  return static_cast<std::int64_t>(CountCasts(CastParamsOffline(after).rewrite.graph));
}

// What the decision costs, and the model as it was; nullopt where neither a machine nor a cut says so.
std::optional<Prediction> PredictionOf(const Model& model, const PrecisionCosts* costs, const Decision& decision,
                                       bool offline) {
  const auto& certificate = decision.certificate;
  if (costs == nullptr && !certificate && !decision.errors) return std::nullopt;
  if (costs == nullptr) {
    const auto casts_before = static_cast<std::int64_t>(CountCasts(model.graph()));
    const std::int64_t casts =
        certificate ? certificate->constant + certificate->cut : NumCastsOf(model, decision, offline);
    return Prediction{Minimize::kCasts, casts, casts_before};
  }
  const Prediction predicted{Minimize::kTime, PredictTime(model, decision, *costs),
                             PredictTime(model, Unchanged(model, decision), *costs)};
  // The prediction is made from the decision alone, the sum from the network.
  if (certificate && predicted.as_decided != certificate->constant + certificate->cut && EnvFlag("AMP_VERIFY")) {
    Throw<InternalError>("minimum cut: {} + {} are not the {} that the decision costs", certificate->constant,
                         certificate->cut, predicted.as_decided);
  }
  return predicted;
}

// Under AMP_VERIFY: the error of the network is that of the decision.
void VerifyErrors(const Model& model, const Decision& decision, const ConvertOptions& options) {
  if (!decision.errors || !EnvFlag("AMP_VERIFY")) return;
  const double predicted = PredictSquaredError(model, decision, options);
  if (std::abs(predicted - decision.errors->squared_error) > 1e-9 * predicted) {
    Throw<InternalError>("minimum cut: a squared error of {} is not the {} of the decision",
                         decision.errors->squared_error, predicted);
  }
}

}  // namespace

std::set<std::string> DifferentiatedVariables(const Model& model, const ConvertOptions& options) {
  if (options.differentiated) return *options.differentiated;
  std::set<std::string> parameters, all;
  for (const NodeId id : model.graph().variables()) {
    if (model.graph().IsAuxiliary(id)) continue;
    all.insert(model.graph().node(id).name());
    if (model.IsParameter(id)) parameters.insert(model.graph().node(id).name());
  }
  return parameters.empty() ? all : parameters;
}

Decision Decide(const Model& model, const ConvertOptions& options) {
  if (!IsLowPrecision(options.target)) {
    Throw<ArgumentError>("target dtype: expected bfloat16 or float16, got {}", NameOf(options.target));
  }
  const Graph& graph = model.graph();
  const Types& types = model.types();
  const std::optional<Minimize> minimized = MinimizedBy(options);
  const bool predicts = minimized == Minimize::kTime || (!minimized && options.machine != nullptr);
  Problems problems;
  if (predicts) RequireTimes(graph, types, options, &problems);
  PrecisionChoices choices = ChoosePrecision(graph, options, &problems);
  Decision decision;
  decision.target = options.target;
  decision.policy = options.policy;
  decision.first_slot = FirstSlots(graph);
  decision.low.resize(graph.num_nodes());
  decision.forced = options.keep_decision ? std::vector<bool>(graph.num_nodes(), true) : choices.forced;
  decision.widens = choices.widens;
  decision.reasons = choices.reasons;
  decision.details = std::move(choices.details);
  decision.unknown_names = std::move(choices.unknown_names);
  decision.output_dtypes = OutputDTypesOf(graph, types, options, &problems);
  std::vector<bool> writes_float32(graph.num_entries());
  const LowPrecisionTypes low_types(model, options, choices, &decision);
  RequireForced(graph, choices, low_types, decision, &problems);
  problems.ThrowIfAny();
  const std::unique_ptr<PrecisionCosts> costs = predicts ? CostsOf(model, options) : nullptr;
  const PropagationContext context{model, graph, types, options, choices, low_types};
  if (minimized) {
    PropagatePrecisionOptimal(context, costs.get(), &decision, &writes_float32);
  } else if (options.policy == PrecisionPolicy::kMXNet) {
    PropagatePrecisionMXNet(context, &decision);
  } else if (options.policy == PrecisionPolicy::kGraphAmp) {
    PropagatePrecisionGraphAmp(context, &decision, &writes_float32);
  } else {
    PropagatePrecisionDefault(context, &decision, &writes_float32);
  }
  DTypeAssigner(graph, types, choices, low_types, writes_float32, &decision).Run();
  decision.predicted = PredictionOf(model, costs.get(), decision, options.cast_params_offline);
  VerifyErrors(model, decision, options);
  return decision;
}

}  // namespace amp
