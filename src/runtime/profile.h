// Where the time of a run goes: per step of the plan its time, and what it reads, writes and computes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dnnl/plan.h"

namespace amp {

struct StepTimes {
  double min_seconds = 0;
  double median_seconds = 0;
  double mean_seconds = 0;
};

struct RunProfile {
  std::vector<PlanStep> steps;
  std::vector<StepFeatures> features;
  std::vector<StepTimes> times;
  StepTimes run;  // of whole runs: checks, fresh outputs and all steps
  int num_runs = 0;
  int num_threads = 0;

  // The share of a run's time that no step accounts for.
  double OutsideShare() const;
  std::string Print() const;
};

// Collects runs of one plan.
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
