// What was chosen when a plan was made: a plan of the same model that is made from its file chooses the same.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "program/kernel_chooser.h"

namespace amp {

struct SavedKernel {
  std::string name;
  bool is_tuned = false;
};

struct SavedChoices {
  std::map<std::string, SavedKernel> kernels;  // by LayerKey
  std::map<std::string, std::string>
      in_float32;  // by node: why it computes in float32 around its stored operands, or ""
};

// What a file says, where it is an option, else what `otherwise` says.
class SavedKernels : public KernelChooser {
 public:
  SavedKernels(std::shared_ptr<const SavedChoices> saved, std::shared_ptr<const KernelChooser> otherwise)
      : saved_(std::move(saved)), otherwise_(std::move(otherwise)) {}
  Chosen Choose(const LayerOptions& layer) const override;

 private:
  std::shared_ptr<const SavedChoices> saved_;
  std::shared_ptr<const KernelChooser> otherwise_;
};

}  // namespace amp
