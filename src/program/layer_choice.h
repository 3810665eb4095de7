// Which of several kernels computes a layer, as plans tell.
#pragma once

#include <memory>
#include <optional>

namespace amp {

class Layer;
struct LayerKernel;

// What was chosen for a step for which there are several kernels.
struct LayerChoice {
  const LayerKernel* kernel = nullptr;           // null: oneDNN
  std::shared_ptr<const Layer> layer = nullptr;  // the step as that kernel computes it
  std::optional<double> predicted_seconds = {};  // where the times of a machine are known
  bool is_tuned = false;                         // by a record of what timing chose
  std::optional<double> baseline_seconds = {};   // predicted of what happens without it, for the same nodes

  const char* name() const;  // the kernel's, or "onednn"
};

}  // namespace amp
