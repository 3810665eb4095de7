// Where the time of a run goes: per step of the plan its time, and what it reads, writes and computes.
#pragma once

#include <string>
#include <vector>

#include "program/plan_summary.h"
#include "program/step_features.h"

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

}  // namespace amp
