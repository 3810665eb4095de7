#include "program/choose_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "program/kernel_candidates.h"
#include "program/layer_key.h"
#include "program/step_features.h"
#include "program/step_graph.h"

namespace amp {
namespace {

// Predictions of kernels whose laws are measured on the machine err alike: a smaller gain may be a loss.
constexpr double kLeastMeasuredGain = 0.92;

// By value: whether it is computed once, whatever the shapes of the inputs are.
std::vector<bool> ConstantValues(const Program& program) {
  std::vector<bool> constant;
  for (const Value& value : program.values) constant.push_back(value.source == ValueSource::kConstant);
  for (const Step& step : program.steps) {
    const bool is_constant =
        !step.inputs.empty() && !step.depends_on_input_shape &&
        std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return constant[v]; });
    for (const ValueId v : step.outputs) constant[v] = is_constant;
  }
  return constant;
}

bool IsOwn(const Step& step) { return step.choice && step.choice->kernel != kLibraryKernel; }

class KernelChoices {
 public:
  KernelChoices(const KernelChooser& chooser, const KernelConditions& conditions, Program* program)
      : chooser_(chooser),
        conditions_(conditions),
        program_(*program),
        constant_(ConstantValues(*program)),
        graph_(program) {}

  std::vector<LayerDecision> Run() {
    for (StepId id = 0; id < graph_.size(); ++id) {
      if (!graph_.alive(id)) continue;
      ChooseAlone(id);
      if (const auto producer = TakeableProducer(id)) ChooseWith(*producer, id);
    }
    return std::move(decisions_);
  }

 private:
  // The ways to compute a layer, and the step that each of them but the first makes of it.
  struct Layer {
    LayerOptions options;
    std::vector<Step> steps;
  };

  void ChooseAlone(StepId id) {
    const Step& step = graph_.step(id);
    Layer layer{{"", {KernelOption{kLibraryKernel}}}, {step}};
    AddCandidates(SiteOf(step, nullptr), &layer);
    if (layer.steps.size() == 1) return;
    layer.options.key = KeyOf(step);
    layer.options.options[0].seconds = Seconds(step);
    const KernelChooser::Chosen chosen = Decide(layer, {step.node});
    Step result = std::move(layer.steps[chosen.option]);
    result.choice = ChoiceOf(layer, chosen);
    graph_.Replace(id, std::move(result));
  }

  void ChooseWith(StepId producer, StepId id) {
    const Step &step = graph_.step(id), &before = graph_.step(producer);
    Layer layer{{"", {KernelOption{kSeparateSteps}}}, {step}};
    AddCandidates(SiteOf(step, &before), &layer);
    if (layer.steps.size() == 1) return;
    layer.options.key = KeyOf(before) + " > " + KeyOf(step);
    if (conditions_.machine != nullptr) layer.options.options[0].seconds = *Seconds(before) + *Seconds(step);
    const KernelChooser::Chosen chosen = Decide(layer, {step.node, before.node});
    if (chosen.option == 0) return;
    Step result = std::move(layer.steps[chosen.option]);
    result.choice = ChoiceOf(layer, chosen);
    graph_.Replace(id, std::move(result));
    graph_.Remove(producer);
  }

  // The step that makes the first input in every run, if nothing else reads that.
  std::optional<StepId> TakeableProducer(StepId id) const {
    const Step& step = graph_.step(id);
    if (step.inputs.empty() || constant_[step.inputs[0]] || !graph_.OnlyReader(step.inputs[0])) return std::nullopt;
    return graph_.producer(step.inputs[0]);
  }

  KernelSite SiteOf(const Step& step, const Step* producer) const {
    return {program_, constant_, step, producer, conditions_.has_bf16};
  }

  void AddCandidates(const KernelSite& site, Layer* layer) const {
    for (const KernelCandidate& candidate : KernelCandidates()) {
      if (candidate.takes_producer != (site.producer != nullptr)) continue;
      std::optional<Step> step = candidate.propose(site);
      if (!step) continue;
      layer->options.options.push_back({candidate.name, Seconds(*step), LeastGain(candidate, site.step, *step)});
      layer->steps.push_back(*std::move(step));
    }
  }

  // Times of kernels of ours compare well.
  double LeastGain(const KernelCandidate& candidate, const Step& before, const Step& after) const {
    if (IsOwn(before)) return 1;
    const MachineTable* machine = conditions_.machine;
    const bool is_measured = machine != nullptr && machine->IsMeasured(FeaturesOf(after, TypesOf(after)));
    return is_measured ? kLeastMeasuredGain : candidate.least_gain;
  }

  KernelChooser::Chosen Decide(const Layer& layer, std::vector<NodeId> nodes) {
    const KernelChooser::Chosen chosen = chooser_.Choose(layer.options);
    LayerDecision decision{layer.options.key, std::move(nodes), {}, chosen.option};
    for (const KernelOption& option : layer.options.options) decision.kernels.push_back(option.name);
    decisions_.push_back(std::move(decision));
    return chosen;
  }

  static KernelChoice ChoiceOf(const Layer& layer, const KernelChooser::Chosen& chosen) {
    const KernelOption& option = layer.options.options[chosen.option];
    return {option.name, option.seconds, chosen.is_tuned};
  }

  StepTypes TypesOf(const Step& step) const { return SiteOf(step, nullptr).TypesOf(step); }
  std::string KeyOf(const Step& step) const { return LayerKey(step, TypesOf(step), conditions_.num_threads); }

  std::optional<double> Seconds(const Step& step) const {
    if (conditions_.machine == nullptr) return std::nullopt;
    return conditions_.machine->Seconds(FeaturesOf(step, TypesOf(step)));
  }

  const KernelChooser& chooser_;
  const KernelConditions& conditions_;
  const Program& program_;
  const std::vector<bool> constant_;
  StepGraph graph_;
  std::vector<LayerDecision> decisions_;
};

}  // namespace

std::vector<LayerDecision> ChooseKernels(const KernelChooser& chooser, const KernelConditions& conditions,
                                         Program* program) {
  return KernelChoices(chooser, conditions, program).Run();
}

}  // namespace amp
