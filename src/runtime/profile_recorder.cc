#include "runtime/profile_recorder.h"

#include <algorithm>
#include <numeric>

#include "nnvm/error.h"

namespace amp {
namespace {

StepTimes TimesOf(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {seconds.front(), seconds[seconds.size() / 2], total / static_cast<double>(seconds.size())};
}

}  // namespace

ProfileRecorder::ProfileRecorder(std::shared_ptr<const onednn::Plan> plan)
    : plan_(std::move(plan)), steps_(plan_->summary.steps.size()) {}

void ProfileRecorder::AddRun(double run_seconds) {
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i].push_back(step_seconds_[i]);
  runs_.push_back(run_seconds);
}

RunProfile ProfileRecorder::Result() const {
  RunProfile profile{plan_->summary.steps, plan_->features, {}, TimesOf(runs_), num_runs(), plan_->summary.num_threads};
  for (const std::vector<double>& seconds : steps_) profile.times.push_back(TimesOf(seconds));
  return profile;
}

std::shared_ptr<ProfileRecorder> NewPrintedProfile(const std::shared_ptr<const onednn::Plan>& plan) {
  return {new ProfileRecorder(plan), [](ProfileRecorder* recorder) {
            const std::unique_ptr<ProfileRecorder> owner(recorder);
            if (recorder->num_runs() != 0) fmt::print(stderr, "{}", recorder->Result().Print());
          }};
}

}  // namespace amp
