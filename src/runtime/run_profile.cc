#include "runtime/run_profile.h"

#include "nnvm/error.h"

namespace amp {
namespace {

double PerSecond(double amount, double seconds) { return seconds > 0 ? amount / seconds / 1e9 : 0; }

}  // namespace

double RunProfile::OutsideShare() const {
  double inside = 0;
  for (const StepTimes& step : times) inside += step.mean_seconds;  // means add up, medians do not
  return run.mean_seconds > 0 ? 1 - inside / run.mean_seconds : 0;
}

std::string RunProfile::Print() const {
  std::string text = fmt::format(
      "profile: {} runs of {} steps, {} threads, {:.3f} ms per run (best {:.3f}), {:.1f} % of it outside of the steps\n"
      "   us median      best  share   GFLOP/s    GB/s  work           implementation           layout    node\n",
      num_runs, steps.size(), num_threads, 1e3 * run.median_seconds, 1e3 * run.min_seconds, 100 * OutsideShare());
  double inside = 0;
  for (const StepTimes& step : times) inside += step.median_seconds;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double median = times[i].median_seconds;
    text += fmt::format("{:12.1f} {:9.1f} {:5.1f}% {:9.1f} {:7.1f}  {:14} {:24} {:9} {}\n", 1e6 * median,
                        1e6 * times[i].min_seconds, inside > 0 ? 100 * (1 - OutsideShare()) * median / inside : 0,
                        PerSecond(features[i].cost.flops, median),
                        PerSecond(static_cast<double>(features[i].cost.bytes()), median), steps[i].kind,
                        steps[i].implementation, steps[i].layout, steps[i].node);
  }
  return text;
}

}  // namespace amp
