#include "program/kernel_chooser.h"

#include <limits>

namespace amp {
namespace {

std::optional<std::size_t> Find(const LayerOptions& layer, const std::string& name) {
  for (std::size_t i = 0; i < layer.options.size(); ++i) {
    if (layer.options[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

KernelChooser::Chosen PredictedKernels::Choose(const LayerOptions& layer) const {
  Chosen chosen;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < layer.options.size(); ++i) {
    const KernelOption &first = layer.options[0], &option = layer.options[i];
    if (!first.seconds || !option.seconds) continue;
    if (*option.seconds >= option.max_time_ratio * *first.seconds || *option.seconds >= least) continue;
    least = *option.seconds;
    chosen.option = i;
  }
  return chosen;
}

KernelChooser::Chosen RecordedKernels::Choose(const LayerOptions& layer) const {
  const std::string* name = record_.Find(layer.key);
  const auto option = name != nullptr ? Find(layer, *name) : std::nullopt;
  return option ? Chosen{*option, true} : otherwise_->Choose(layer);
}

KernelChooser::Chosen SavedKernels::Choose(const LayerOptions& layer) const {
  const auto saved = saved_->kernels.find(layer.key);
  const auto option = saved != saved_->kernels.end() ? Find(layer, saved->second.name) : std::nullopt;
  return option ? Chosen{*option, saved->second.is_tuned} : otherwise_->Choose(layer);
}

KernelChooser::Chosen TrustedKernels::Choose(const LayerOptions& layer) const {
  LayerOptions trusted{layer.key, {}};
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < layer.options.size(); ++i) {
    if (i > 0 && record_->IsWrong(RecordedName(layer.options[i].name))) continue;  // the first is no choice
    trusted.options.push_back(layer.options[i]);
    places.push_back(i);
  }
  Chosen chosen = otherwise_->Choose(trusted);
  chosen.option = places[chosen.option];
  return chosen;
}

KernelChooser::Chosen ForcedKernel::Choose(const LayerOptions& layer) const {
  return {Find(layer, name_).value_or(0), false};
}

}  // namespace amp
