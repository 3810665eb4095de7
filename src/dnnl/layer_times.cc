#include "dnnl/layer_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "dnnl/compiled_plan.h"

namespace amp::onednn {
namespace {

// Medians of a few runs differ by some per cent from one time to the next.
constexpr double kClearlyFaster = 0.95;

bool Contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool Meets(const std::vector<ValueId>& values, const std::set<ValueId>& others) {
  return std::any_of(values.begin(), values.end(), [&](ValueId v) { return others.contains(v); });
}

// The seconds of the steps of some nodes, and of the reorders around them.
double SecondsOf(const Plan& plan, const std::vector<NodeId>& nodes, const std::vector<double>& step_seconds) {
  const std::vector<CompiledStep>& steps = plan.compiled->steps;
  std::set<ValueId> read, written;
  double seconds = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!Contains(nodes, steps[i].node)) continue;
    seconds += step_seconds[i];
    read.insert(steps[i].inputs.begin(), steps[i].inputs.end());
    written.insert(steps[i].outputs.begin(), steps[i].outputs.end());
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (plan.summary.steps[i].kind != "reorder" || Contains(nodes, steps[i].node)) continue;
    if (Meets(steps[i].outputs, read) || Meets(steps[i].inputs, written)) seconds += step_seconds[i];
  }
  return seconds;
}

// Whether a step of several nodes computes the layer.
bool IsTaken(const Plan& plan, const LayerDecision& layer) {
  return std::any_of(plan.decisions.begin(), plan.decisions.end(), [&](const LayerDecision& other) {
    return other.chosen != 0 && other.nodes.size() > layer.nodes.size() && Contains(other.nodes, layer.nodes[0]);
  });
}

}  // namespace

std::vector<LayerTime> LayerTimes(const Plan& plan, const std::vector<double>& step_seconds) {
  std::map<std::string, LayerTime> by_key;
  for (const LayerDecision& layer : plan.decisions) {
    if (IsTaken(plan, layer)) continue;
    LayerTime& time = by_key[layer.key];
    time.key = layer.key;
    time.kernel = layer.kernels[layer.chosen];
    time.seconds += SecondsOf(plan, layer.nodes, step_seconds);
  }
  std::vector<LayerTime> times;
  for (auto& [key, time] : by_key) times.push_back(std::move(time));
  return times;
}

TunedKernels FastestKernels(const std::vector<LayerDecision>& predicted,
                            const std::vector<std::vector<LayerTime>>& plans) {
  std::map<std::string, std::map<std::string, double>> seconds;  // by key and kernel
  for (const std::vector<LayerTime>& plan : plans) {
    for (const LayerTime& layer : plan) {
      const auto [known, is_new] = seconds[layer.key].emplace(layer.kernel, layer.seconds);
      known->second = std::min(known->second, layer.seconds);
    }
  }
  TunedKernels fastest;
  for (const LayerDecision& layer : predicted) {
    const std::map<std::string, double>& times = seconds[layer.key];
    std::string best = layer.kernels[layer.chosen];
    const auto stays = times.find(best);
    double least = stays == times.end() ? std::numeric_limits<double>::infinity() : kClearlyFaster * stays->second;
    for (const auto& [kernel, time] : times) {
      if (time >= least) continue;
      least = time;
      best = kernel;
    }
    fastest.Set(layer.key, best);
  }
  return fastest;
}

}  // namespace amp::onednn
