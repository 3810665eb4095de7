// Collects the times of runs.
#pragma once

#include <memory>
#include <vector>

#include "dnnl/plan.h"
#include "runtime/run_profile.h"

namespace amp {

// Collects the times of one plan's runs.
class ProfileRecorder {
 public:
  explicit ProfileRecorder(std::shared_ptr<const onednn::Plan> plan);
  // Where the seconds of each step of a run are to be written ...
  std::vector<double>& step_seconds() { return step_seconds_; }
  // ... before it is added, with the seconds of everything.
  void AddRun(double run_seconds);
  RunProfile Result() const;
  int num_runs() const { return static_cast<int>(runs_.size()); }

 private:
  std::shared_ptr<const onednn::Plan> plan_;
  std::vector<std::vector<double>> steps_;  // by step: the seconds of each run
  std::vector<double> runs_;
  std::vector<double> step_seconds_;
};

// Prints what it has collected to stderr when its last owner releases it.
std::shared_ptr<ProfileRecorder> NewPrintedProfile(const std::shared_ptr<const onednn::Plan>& plan);

}  // namespace amp
