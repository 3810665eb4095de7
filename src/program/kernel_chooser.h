// Who chooses which kernel computes a layer: predicted times, what timing said, or whoever wants to see one kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/kernel_record.h"
#include "program/saved_choices.h"
#include "program/tuned_kernels.h"

namespace amp {

// The name of the option in which oneDNN computes a step by itself.
inline constexpr const char* kOneDnnKernel = "onednn";
// The name of the option in which a step and the one before it stay two.
inline constexpr const char* kSeparateSteps = "separate";

// A way to compute a layer.
struct KernelOption {
  std::string name;
  std::optional<double> seconds = {};  // predicted
  // Predictions err: it has to take less than this part of the time of the first option.
  double max_time_ratio = 1;
};

// A layer, and the ways to compute it. The first one is what happens without a choice.
struct LayerOptions {
  std::string key;  // of records, see LayerKey
  std::vector<KernelOption> options;
};

class KernelChooser {
 public:
  struct Chosen {
    std::size_t option = 0;
    bool is_tuned = false;
  };
  virtual ~KernelChooser() = default;
  virtual Chosen Choose(const LayerOptions& layer) const = 0;
};

// The fastest of those that gain enough; the first where no times are predicted.
class PredictedKernels : public KernelChooser {
 public:
  Chosen Choose(const LayerOptions& layer) const override;
};

// What timing chose, where that is known and still an option, else what `otherwise` says.
class RecordedKernels : public KernelChooser {
 public:
  RecordedKernels(TunedKernels record, std::shared_ptr<const KernelChooser> otherwise)
      : record_(std::move(record)), otherwise_(std::move(otherwise)) {}
  Chosen Choose(const LayerOptions& layer) const override;

 private:
  TunedKernels record_;
  std::shared_ptr<const KernelChooser> otherwise_;
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

// What `otherwise` says of the kernels that are not known to be wrong on this machine.
class TrustedKernels : public KernelChooser {
 public:
  TrustedKernels(std::shared_ptr<const KernelRecord> record, std::shared_ptr<const KernelChooser> otherwise)
      : record_(std::move(record)), otherwise_(std::move(otherwise)) {}
  Chosen Choose(const LayerOptions& layer) const override;

 private:
  std::shared_ptr<const KernelRecord> record_;
  std::shared_ptr<const KernelChooser> otherwise_;
};

// The name of a layer kernel in a KernelRecord.
inline std::string RecordedName(const std::string& layer_kernel) { return "own:" + layer_kernel; }

// One kernel wherever it is an option; elsewhere nothing is chosen.
class ForcedKernel : public KernelChooser {
 public:
  explicit ForcedKernel(std::string name) : name_(std::move(name)) {}
  Chosen Choose(const LayerOptions& layer) const override;

 private:
  std::string name_;
};

}  // namespace amp
