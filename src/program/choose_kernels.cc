#include "program/choose_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "program/kernel_candidates.h"
#include "program/layer_key.h"
#include "program/step_cost.h"
#include "program/step_features.h"
#include "program/step_graph.h"
#include "program/winograd_job.h"

namespace amp {
namespace {

// Predictions of kernels whose laws are measured on the machine err alike: a smaller gain may be a loss.
constexpr double kLeastMeasuredGain = 0.98;
// Vectors multiply bfloat16 at most twice as fast as float32. A machine that is faster does so by tiles (AMX), which
// formulas of our kernels do not know.
constexpr double kMaxVectorRatio = 3;

// By value: whether it is computed once, whatever the shapes of the inputs are.
std::vector<bool> ConstantsForAllShapes(const Program& program) {
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

bool HasNoFormula(const std::optional<kernels::WinogradKind>& kind) {
  return kind && (kernels::WinogradMultipliesBF16(*kind) || kernels::WinogradShapeOf(*kind).window() != 9);
}

// Products of int16, by Strassen's algorithm and of Winograd's tiles by registers gain or lose by what a CPU has
// besides arithmetic; other kinds of Winograd's algorithm have formulas that hold for windows of 3x3.
bool HasNoFormula(const Step& step) {
  if (const auto* convolution = std::get_if<ConvolutionSpec>(&step.spec)) {
    return convolution->pointwise == DType::kInt16 || convolution->strassen || HasNoFormula(convolution->winograd);
  }
  if (const auto* deconvolution = std::get_if<DeconvolutionSpec>(&step.spec)) {
    return HasNoFormula(deconvolution->winograd);
  }
  if (const auto* dense = std::get_if<InnerProductSpec>(&step.spec)) {
    return dense->product == DType::kInt16 || dense->strassen;
  }
  const auto* block = std::get_if<DepthwiseBlockSpec>(&step.spec);
  return block != nullptr && block->multiplies == DType::kInt16;
}

bool HasOwnKernel(const Step& step) { return step.choice && step.choice->kernel != kLibraryKernel; }

class KernelChoices {
 public:
  KernelChoices(const KernelChooser& chooser, const MachineCapabilities& capabilities, const MachineTable* machine,
                Program* program, int num_threads)
      : chooser_(chooser),
        capabilities_(capabilities),
        machine_(machine),
        num_threads_(num_threads),
        program_(*program),
        constant_(ConstantsForAllShapes(*program)),
        graph_(program) {}

  std::vector<LayerDecision> Run() {
    for (StepId id = 0; id < graph_.size(); ++id) {
      if (!graph_.alive(id)) continue;
      ChooseAlone(id);
      if (const std::vector<StepId> producers = TakeableProducers(id); !producers.empty()) ChooseWith(producers, id);
    }
    return std::move(decisions_);
  }

 private:
  // The ways to compute a layer, and the step that each of them but the first makes of it.
  struct Layer {
    LayerOptions options;
    std::vector<Step> steps;
    std::vector<std::size_t> taken = {0};  // how many steps before
  };

  // Other kernels would be other arithmetic, or round in other places, than what keeps small numbers.
  bool IsFixed(StepId id) const { return graph_.step(id).alternate.has_value(); }

  void ChooseAlone(StepId id) {
    const Step& step = graph_.step(id);
    if (IsFixed(id) && *step.alternate != AlternateMode::kF32) return;
    Layer layer{{"", {KernelOption{kLibraryKernel}}}, {step}};
    AddCandidates(SiteOf(step), &layer);
    if (layer.steps.size() == 1) return;
    layer.options.key = KeyOf(step);
    layer.options.options[0].seconds = Seconds(step);
    const KernelChooser::Chosen chosen = Decide(layer, {step.node});
    Step result = std::move(layer.steps[chosen.option]);
    result.choice = ChoiceOf(layer, chosen);
    graph_.Replace(id, std::move(result));
  }

  void ChooseWith(const std::vector<StepId>& producers, StepId id) {
    const Step& step = graph_.step(id);
    Layer layer{{"", {KernelOption{kSeparateSteps}}}, {step}};
    AddCandidates(SiteOf(step, producers), &layer);
    if (layer.steps.size() == 1) return;
    const std::size_t taken = *std::max_element(layer.taken.begin(), layer.taken.end());
    layer.options.key = KeyOf(step);
    std::vector<NodeId> nodes{step.node};
    for (std::size_t i = 0; i < taken; ++i) {
      const Step& before = graph_.step(producers[i]);
      layer.options.key = KeyOf(before) + " > " + layer.options.key;
      nodes.push_back(before.node);
    }
    AddSeparate(producers, taken, id, &layer);
    const KernelChooser::Chosen chosen = Decide(layer, std::move(nodes));
    if (chosen.option == 0) return;
    Step result = std::move(layer.steps[chosen.option]);
    const std::size_t removed = layer.taken[chosen.option];
    result.choice = ChoiceOf(layer, chosen, SecondsOf(producers, removed, taken));
    graph_.Replace(id, std::move(result));
    for (std::size_t i = 0; i < removed; ++i) graph_.Remove(producers[i]);
  }

  // What the steps that an option does not take need, so that all options stand for the same work.
  void AddSeparate(const std::vector<StepId>& producers, std::size_t taken, StepId id, Layer* layer) const {
    if (machine_ == nullptr) return;
    layer->options.options[0].seconds = Seconds(graph_.step(id));
    for (std::size_t option = 0; option < layer->steps.size(); ++option) {
      std::optional<double>& seconds = layer->options.options[option].seconds;
      if (seconds) *seconds += SecondsOf(producers, layer->taken[option], taken);
    }
  }

  // Of some steps; 0 where no times are predicted.
  double SecondsOf(const std::vector<StepId>& steps, std::size_t begin, std::size_t end) const {
    double seconds = 0;
    for (std::size_t i = begin; i < end; ++i) seconds += Seconds(graph_.step(steps[i])).value_or(0);
    return seconds;
  }

  // The steps that make the first input in every run, one from the other, if nothing else reads what they make.
  std::vector<StepId> TakeableProducers(StepId id) const {
    std::vector<StepId> producers;
    while (producers.size() < kMaxTakenSteps) {
      const Step& step = graph_.step(producers.empty() ? id : producers.back());
      if (step.inputs.empty() || constant_[step.inputs[0]] || !graph_.OnlyReader(step.inputs[0])) break;
      const auto producer = graph_.producer(step.inputs[0]);
      if (!producer || IsFixed(*producer) || IsFixed(id) || !MayTake(*producer)) break;
      producers.push_back(*producer);
    }
    return producers;
  }

  // Kernels that take a step keep its results in float32, but for casts, which they round as well.
  bool MayTake(StepId producer) const {
    const Step& step = graph_.step(producer);
    return std::holds_alternative<CastSpec>(step.spec) || !graph_.value(step.outputs[0]).is_exact;
  }

  KernelSite SiteOf(const Step& step, const std::vector<StepId>& producers = {}) const {
    KernelSite site{program_, constant_, capabilities_, step, {}};
    for (const StepId id : producers) site.producers.push_back(&graph_.step(id));
    return site;
  }

  void AddCandidates(const KernelSite& site, Layer* layer) const {
    for (const KernelCandidate& candidate : KernelCandidates()) {
      const bool is_asked = site.producers.empty() ? candidate.takes == 0 : candidate.takes > 0;
      if (!is_asked || candidate.takes > site.producers.size()) continue;
      std::optional<Step> step = candidate.propose(site);
      if (!step) continue;
      const std::optional<double> seconds = IsPredictable(*step) ? SecondsOfRun(*step) : std::nullopt;
      layer->options.options.push_back({candidate.name, seconds, LeastGain(candidate, site.step, *step)});
      layer->steps.push_back(*std::move(step));
      layer->taken.push_back(candidate.takes);
    }
  }

  // Where it was not measured, how fast one of our kernels multiplies bfloat16 is not known of a machine with tiles.
  // Of what has no formula it is known of none.
  bool IsPredictable(const Step& step) const {
    if (machine_ == nullptr) return true;
    const StepTypes types = TypesOf(step);
    if (HasNoFormula(step)) return machine_->IsKnown(FeaturesOf(step, types));
    if (CostOf(step, types).dtype != DType::kBFloat16) return true;
    const auto& speeds = machine_->flops_per_second();
    const auto bf16 = speeds.find(DType::kBFloat16);
    const bool has_tiles = bf16 != speeds.end() && bf16->second > kMaxVectorRatio * speeds.at(DType::kFloat32);
    return !has_tiles || machine_->IsMeasured(FeaturesOf(step, types));
  }

  // Times of kernels of ours compare well.
  double LeastGain(const KernelCandidate& candidate, const Step& before, const Step& after) const {
    if (HasOwnKernel(before)) return 1;
    const bool is_measured = machine_ != nullptr && machine_->IsMeasured(FeaturesOf(after, TypesOf(after)));
    return is_measured ? std::max(kLeastMeasuredGain, candidate.least_gain) : candidate.least_gain;
  }

  KernelChooser::Chosen Decide(const Layer& layer, std::vector<NodeId> nodes) {
    const KernelChooser::Chosen chosen = chooser_.Choose(layer.options);
    LayerDecision decision{layer.options.key, std::move(nodes), {}, chosen.option};
    for (const KernelOption& option : layer.options.options) decision.kernels.push_back(option.name);
    decisions_.push_back(std::move(decision));
    return chosen;
  }

  // `others`: seconds of steps that options stand for and the chosen one does not take.
  static KernelChoice ChoiceOf(const Layer& layer, const KernelChooser::Chosen& chosen, double others = 0) {
    const KernelOption& option = layer.options.options[chosen.option];
    KernelChoice choice{option.name, option.seconds, chosen.is_tuned, layer.options.options[0].seconds};
    if (choice.predicted_seconds) *choice.predicted_seconds -= others;
    if (choice.otherwise_seconds) *choice.otherwise_seconds -= others;
    return choice;
  }

  StepTypes TypesOf(const Step& step) const { return SiteOf(step).TypesOf(step); }
  std::string KeyOf(const Step& step) const { return LayerKey(step, TypesOf(step), num_threads_); }

  std::optional<double> Seconds(const Step& step) const {
    if (machine_ == nullptr) return std::nullopt;
    return machine_->Seconds(FeaturesOf(step, TypesOf(step)));
  }

  // With the packing of weights that are not the same in every run.
  std::optional<double> SecondsOfRun(const Step& step) const {
    const std::optional<double> seconds = Seconds(step);
    const std::optional<WinogradWeightsSpec> packing = WinogradWeightsOf(step);
    if (!seconds || !packing || constant_[step.inputs[1]]) return seconds;
    return *seconds + *Seconds({*packing, {step.inputs[1]}, {step.inputs[1]}, step.node, ""});
  }

  const KernelChooser& chooser_;
  const MachineCapabilities& capabilities_;
  const MachineTable* machine_;
  const int num_threads_;
  const Program& program_;
  const std::vector<bool> constant_;
  StepGraph graph_;
  std::vector<LayerDecision> decisions_;
};

}  // namespace

std::vector<LayerDecision> ChooseKernels(const KernelChooser& chooser, const MachineCapabilities& capabilities,
                                         const MachineTable* machine, Program* program, int num_threads) {
  return KernelChoices(chooser, capabilities, machine, program, num_threads).Run();
}

}  // namespace amp
