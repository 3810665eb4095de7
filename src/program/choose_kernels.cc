#include "program/choose_kernels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "program/choose_layouts.h"
#include "program/layer_kernel.h"
#include "program/layer_key.h"
#include "program/step_cost.h"
#include "program/step_features.h"
#include "program/step_graph.h"

namespace amp {
namespace {

// Predictions of kernels whose laws are measured on the machine err alike: a smaller gain may be a loss.
constexpr double kMaxMeasuredTimeRatio = 0.98;
// Vectors multiply bfloat16 at most twice as fast as float32. A machine that is faster does so by tiles (AMX), which
// formulas of our kernels do not know.
constexpr double kMaxVectorRatio = 3;

class KernelChoices {
 public:
  KernelChoices(const KernelChooser& chooser, const MachineCapabilities& capabilities, const MachineTable* machine,
                Program* program, int num_threads, bool in_blocks)
      : chooser_(chooser),
        capabilities_(capabilities),
        machine_(machine),
        num_threads_(num_threads),
        in_blocks_(in_blocks),
        program_(*program),
        constant_(ValuesComputedOnce(*program, /*for_all_shapes=*/true)),
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
  // The ways to compute a layer, and the step that each of them makes of it.
  struct Options {
    LayerOptions options;
    std::vector<Step> steps;
    std::vector<std::size_t> taken = {0};  // how many steps before
  };

  // Other kernels would be other arithmetic, or round in other places, than what keeps small numbers.
  bool IsFixed(StepId id) const { return graph_.step(id).alternate.has_value(); }

  void ChooseAlone(StepId id) {
    const Step& step = graph_.step(id);
    if (IsFixed(id) && *step.alternate != AlternateMode::kF32) return;
    Options layer{{"", {KernelOption{kOneDnnKernel}}}, {step}};
    AddCandidates(SiteOf(step), &layer);
    if (layer.steps.size() == 1) return;
    layer.options.key = KeyOf(step);
    layer.options.options[0].seconds = Seconds(step);
    const KernelChooser::Chosen chosen = Decide(layer, {step.node});
    AddWork(chosen.option, {}, id);
    Step result = std::move(layer.steps[chosen.option]);
    NoteTimes(layer, chosen, 0, &result);
    graph_.Replace(id, std::move(result));
  }

  void ChooseWith(const std::vector<StepId>& producers, StepId id) {
    const Step& step = graph_.step(id);
    Options layer{{"", {KernelOption{kSeparateSteps}}}, {step}};
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
    AddWork(chosen.option, std::span(producers).first(removed), id);
    NoteTimes(layer, chosen, SecondsOf(producers, removed, taken), &result);
    graph_.Replace(id, std::move(result));
    for (std::size_t i = 0; i < removed; ++i) graph_.Remove(producers[i]);
  }

  // What the steps that an option does not take need, so that all options stand for the same work.
  void AddSeparate(const std::vector<StepId>& producers, std::size_t taken, StepId id, Options* layer) const {
    if (machine_ == nullptr) return;
    layer->options.options[0].seconds = Seconds(graph_.step(id));
    for (std::size_t option = 0; option < layer->steps.size(); ++option) {
      std::optional<double>& seconds = layer->options.options[option].seconds;
      if (seconds) *seconds += SecondsOf(producers, layer->taken[option], taken);
    }
  }

  // The seconds of some steps; 0 where no times are predicted.
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

  LayerSite SiteOf(const Step& step, const std::vector<StepId>& producers = {}) const {
    LayerSite site{program_, constant_, capabilities_, step, {}, in_blocks_};
    for (const StepId id : producers) site.producers.push_back(&graph_.step(id));
    return site;
  }

  void AddCandidates(const LayerSite& site, Options* layer) const {
    for (const auto& [name, kernel] : LayerKernels()) {
      const bool is_asked = site.producers.empty() ? kernel.fused_producers == 0 : kernel.fused_producers > 0;
      if (!is_asked || kernel.fused_producers > site.producers.size()) continue;
      std::optional<LayerMatch> match = kernel.match(site);
      if (!match) continue;
      match->step.choice = LayerChoice{&kernel, std::move(match->layer)};
      layer->options.options.push_back(OptionOf(site, kernel, match->step));
      layer->steps.push_back(std::move(match->step));
      layer->taken.push_back(kernel.fused_producers);
    }
  }

  // `step` is the site's, as the kernel computes it. Times of own kernels compare well.
  KernelOption OptionOf(const LayerSite& site, const LayerKernel& kernel, const Step& step) const {
    KernelOption option{kernel.name, {}, site.step.layer() != nullptr ? 1 : kernel.max_time_ratio};
    if (machine_ == nullptr) return option;
    const StepFeatures features = FeaturesOf(step, program_.TypesOf(step));
    if (IsPredictable(kernel, features)) option.seconds = machine_->Seconds(features) + PackingSeconds(step);
    if (machine_->IsMeasured(features)) option.max_time_ratio = std::max(kMaxMeasuredTimeRatio, option.max_time_ratio);
    return option;
  }

  // Where it was not measured, how fast an own kernel multiplies bfloat16 is not known of a machine with tiles. Of what
  // has no formula it is known of none.
  bool IsPredictable(const LayerKernel& kernel, const StepFeatures& features) const {
    if (kernel.needs_samples) return machine_->IsKnown(features);
    if (features.cost.dtype != DType::kBFloat16) return true;
    const auto& speeds = machine_->flops_per_second();
    const auto bf16 = speeds.find(DType::kBFloat16);
    const bool has_tiles = bf16 != speeds.end() && bf16->second > kMaxVectorRatio * speeds.at(DType::kFloat32);
    return !has_tiles || machine_->IsMeasured(features);
  }

  KernelChooser::Chosen Decide(const Options& layer, std::vector<NodeId> nodes) {
    const KernelChooser::Chosen chosen = chooser_.Choose(layer.options);
    LayerDecision decision{layer.options.key, std::move(nodes), {}, chosen.option, chosen.is_tuned};
    for (const KernelOption& option : layer.options.options) decision.kernels.push_back(option.name);
    decisions_.push_back(std::move(decision));
    return chosen;
  }

  // What the last decision's kernel computes: some producers, the nearest first, and the step.
  void AddWork(std::size_t option, std::span<const StepId> producers, StepId id) {
    if (option == 0) return;
    std::vector<TypedStep> work;
    for (auto producer = producers.rbegin(); producer != producers.rend(); ++producer) AddTyped(*producer, &work);
    AddTyped(id, &work);
    decisions_.back().work = std::move(work);
    decision_of_[id] = decisions_.size() - 1;
  }
  // Adds the step; all of them where a kernel computes it with others.
  void AddTyped(StepId id, std::vector<TypedStep>* work) const {
    const auto known = decision_of_.find(id);
    if (known != decision_of_.end() && std::holds_alternative<FusedLayerSpec>(graph_.step(id).spec)) {
      const std::vector<TypedStep>& joined = decisions_[known->second].work;
      work->insert(work->end(), joined.begin(), joined.end());
    } else {
      work->push_back({graph_.step(id), program_.TypesOf(graph_.step(id))});
    }
  }

  // What is known of the chosen option. `others`: seconds of steps that options stand for and it does not take.
  static void NoteTimes(const Options& layer, const KernelChooser::Chosen& chosen, double others, Step* step) {
    if (!step->choice) step->choice = LayerChoice{};
    step->choice->is_tuned = chosen.is_tuned;
    step->choice->predicted_seconds = layer.options.options[chosen.option].seconds;
    step->choice->baseline_seconds = layer.options.options[0].seconds;
    for (std::optional<double>* seconds : {&step->choice->predicted_seconds, &step->choice->baseline_seconds}) {
      if (*seconds) **seconds -= others;
    }
  }

  std::string KeyOf(const Step& step) const { return LayerKey(step, program_.TypesOf(step), num_threads_); }

  std::optional<double> Seconds(const Step& step) const {
    if (machine_ == nullptr) return std::nullopt;
    return machine_->Seconds(FeaturesOf(step, program_.TypesOf(step)));
  }

  // The seconds to pack weights that are not the same in every run.
  double PackingSeconds(const Step& step) const {
    double seconds = 0;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const ValueId input = step.inputs[i];
      if (constant_[input] || step.layer()->LayoutOfInput(i) != OperandLayout::kPacked) continue;
      const PackWeightsSpec packing{std::make_shared<PackedWeights>(step.layer()->Pack(i))};
      seconds += *Seconds({packing, {input}, {input}, step.node, ""});
    }
    return seconds;
  }

  const KernelChooser& chooser_;
  const MachineCapabilities& capabilities_;
  const MachineTable* machine_;
  const int num_threads_;
  const bool in_blocks_;
  const Program& program_;
  const std::vector<bool> constant_;
  StepGraph graph_;
  std::vector<LayerDecision> decisions_;
  std::map<StepId, std::size_t> decision_of_;  // of steps that own kernels compute, in decisions_
};

}  // namespace

std::vector<LayerDecision> ChooseKernels(const KernelChooser& chooser, const MachineCapabilities& capabilities,
                                         const MachineTable* machine, Program* program, int num_threads) {
  const auto choose = [&](Program* chosen, bool in_blocks) {
    return KernelChoices(chooser, capabilities, machine, chosen, num_threads, in_blocks).Run();
  };
  // Elsewhere oneDNN reads blocks of channels anyway, and in training no choice changes that.
  if (!capabilities.onednn_is_channels_last || !WantsBlocks(*program)) return choose(program, false);
  if (IsTraining(*program)) return choose(program, true);
  Program channels_last = *program;
  std::vector<LayerDecision> decisions = choose(&channels_last, false);
  if (WantsBlocks(channels_last)) return choose(program, true);
  *program = std::move(channels_last);
  return decisions;
}

}  // namespace amp
