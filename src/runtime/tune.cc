#include "runtime/tune.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dnnl/clock.h"
#include "dnnl/layer_times.h"
#include "dnnl/session.h"
#include "program/kernel_chooser.h"
#include "program/threads.h"
#include "runtime/profile_recorder.h"

namespace amp::onednn {
namespace {

constexpr int kMaxRounds = 15, kMinRounds = 5;
constexpr double kMaxSeconds = 20;  // of more rounds than the least
constexpr double kFasterAsAWhole = 0.99;
constexpr double kPlanned = 0.3, kTimed = 0.65;  // parts of the work: all plans are there, all but the last are timed

thread_local TuneProgress tune_progress;

bool GoesOn(double done) { return !tune_progress || tune_progress(done); }

// What a run reads; times of the kernels that are chosen among do not depend on values.
std::vector<NDArray> InputsOf(const Plan& plan) {
  std::vector<NDArray> inputs;
  for (const TensorType& type : plan.input_types) {
    NDArray array(type.dtype, type.shape);
    std::memset(array.data(), 0, static_cast<std::size_t>(array.bytes()));
    inputs.push_back(std::move(array));
  }
  return inputs;
}

// A plan and the times of its runs.
class TimedPlan {
 public:
  TimedPlan(const BoundModel& model, std::shared_ptr<const KernelChooser> kernels)
      : plan_(PlanOf(model, std::move(kernels))), session_(plan_), inputs_(InputsOf(*plan_)), recorder_(plan_) {
    RequireThreads(plan_->summary.num_threads);
    for (const TensorType& type : plan_->output_types) outputs_.emplace_back(type.dtype, type.shape);
    Run();  // the first run finds cold caches
  }

  void RunTimed() {
    const auto begin = Clock::now();
    Run();
    recorder_.AddRun(SecondsSince(begin));
  }
  void Forget() { recorder_ = ProfileRecorder(plan_); }

  const std::vector<LayerDecision>& decisions() const { return plan_->decisions; }
  double seconds() const { return recorder_.Result().run.median_seconds; }
  std::vector<LayerTime> layers() const {
    std::vector<double> medians;
    for (const StepTimes& step : recorder_.Result().times) medians.push_back(step.median_seconds);
    return LayerTimes(*plan_, medians);
  }

 private:
  static std::shared_ptr<const Plan> PlanOf(BoundModel model, std::shared_ptr<const KernelChooser> kernels) {
    model.options.kernels = std::move(kernels);
    return MakePlan(model);
  }
  void Run() { session_.RunProfiled(inputs_, outputs_, &recorder_.step_seconds()); }

  std::shared_ptr<const Plan> plan_;
  Session session_;
  std::vector<NDArray> inputs_, outputs_;
  ProfileRecorder recorder_;
};

using TimedPlans = std::vector<std::unique_ptr<TimedPlan>>;

// Whether each plan has run once at least, where it is asked to end; `from` and `to` are parts of the whole work.
bool RunInTurns(const TimedPlans& plans, double from, double to) {
  for (const auto& plan : plans) plan->Forget();
  const auto begin = Clock::now();
  for (int round = 0; round < kMaxRounds; ++round) {
    if (round >= kMinRounds && SecondsSince(begin) > kMaxSeconds) break;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      plans[i]->RunTimed();
      const double rounds = round + static_cast<double>(i + 1) / static_cast<double>(plans.size());
      const double by_time = std::min(SecondsSince(begin) / kMaxSeconds, rounds / kMinRounds);
      const double done = std::min(1.0, std::max(rounds / kMaxRounds, by_time));
      if (!GoesOn(from + (to - from) * done)) return round > 0 || i + 1 == plans.size();
    }
  }
  return true;
}

// The own kernels that some layer can be computed by, each once.
std::vector<std::string> KernelsOf(const std::vector<LayerDecision>& decisions) {
  std::vector<std::string> names;
  for (const LayerDecision& layer : decisions) {
    for (const std::string& name : layer.kernels) {
      if (name != kSeparateSteps && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

TunedKernels RecordOf(const std::vector<LayerDecision>& decisions) {
  TunedKernels record;
  for (const LayerDecision& layer : decisions) record.Set(layer.key, layer.kernels[layer.chosen]);
  return record;
}

bool IsFaster(const std::unique_ptr<TimedPlan>& a, const std::unique_ptr<TimedPlan>& b) {
  return a->seconds() < b->seconds();
}

}  // namespace

void SetTuneProgress(TuneProgress progress) { tune_progress = std::move(progress); }

TunedKernels Tune(BoundModel model) {
  const auto predicted = std::make_shared<PredictedKernels>();
  TimedPlans plans;
  plans.push_back(std::make_unique<TimedPlan>(model, predicted));
  const std::vector<LayerDecision>& choices = plans[0]->decisions();
  if (choices.empty()) return {};
  const std::vector<std::string> names = KernelsOf(choices);
  for (const std::string& name : names) {
    if (!GoesOn(kPlanned * static_cast<double>(plans.size()) / static_cast<double>(names.size() + 1))) return {};
    plans.push_back(std::make_unique<TimedPlan>(model, std::make_shared<ForcedKernel>(name)));
  }
  if (!RunInTurns(plans, kPlanned, kTimed)) return {};
  std::vector<std::vector<LayerTime>> times;
  for (const auto& plan : plans) times.push_back(plan->layers());
  const TunedKernels fastest = FastestKernels(choices, times);
  if (!GoesOn(kTimed)) return fastest;

  plans.push_back(std::make_unique<TimedPlan>(model, std::make_shared<RecordedKernels>(fastest, predicted)));
  if (!RunInTurns(plans, kTimed, 1)) return fastest;
  const TimedPlan& composed = *plans.back();
  const TimedPlan& best = **std::min_element(plans.begin(), plans.end(), IsFaster);
  return RecordOf((best.seconds() < kFasterAsAWhole * composed.seconds() ? best : composed).decisions());
}

}  // namespace amp::onednn
