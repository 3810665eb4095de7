// Where the time of a run goes: per step of the plan its time, and what it reads, writes and computes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dnnl/plan.h"

namespace amp::onednn {

// What a step has to do, whatever it takes for that.
struct StepCost {
  double flops = 0;       // of sums of products, a multiplication and an addition counted as two; 0 for all others
  std::size_t bytes = 0;  // of operands and results, each once and whole (a lookup reads less)
  DType dtype = DType::kUnknown;  // of the first operand
};
std::vector<StepCost> StepCosts(const Plan& plan);

struct StepTimes {
  double min_seconds = 0;
  double mean_seconds = 0;
};

struct RunProfile {
  std::vector<PlanStep> steps;
  std::vector<StepCost> costs;
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
  explicit ProfileRecorder(std::shared_ptr<const Plan> plan);
  // One run: the seconds of each step, and of everything.
  void Add(const std::vector<double>& step_seconds, double run_seconds);
  RunProfile Result() const;
  int num_runs() const { return num_runs_; }

 private:
  struct Sum {
    double min = 0, total = 0;
    void Add(double seconds, bool is_first);
    StepTimes Over(int runs) const;
  };
  std::shared_ptr<const Plan> plan_;
  std::vector<Sum> steps_;
  Sum run_;
  int num_runs_ = 0;
};

}  // namespace amp::onednn
