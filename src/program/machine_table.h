// A machine whose speed was measured: how long steps take, by what FeaturesOf says of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/precision/cost.h"
#include "program/machine_capabilities.h"
#include "program/measured_steps.h"
#include "program/step_features.h"
#include "program/tuned_kernels.h"

namespace amp {

class MachineTable : public Machine {
 public:
  // From the text of a machine file (docs/machines.md). Where it holds what timing chose and nothing else, times are
  // those of `otherwise`. Throws ArgumentError, which names `source`.
  using Fallback = std::function<std::shared_ptr<const MachineTable>()>;
  static std::shared_ptr<const MachineTable> Parse(const std::string& text, const std::string& source,
                                                   const Fallback& fallback = nullptr);
  // From the text of a machine file of the library, which stays: its steps are read when they are first asked for.
  static std::shared_ptr<const MachineTable> OfShipped(std::string_view text);
  // Whether the text is a machine file that an earlier version of this program wrote.
  static bool IsOfEarlierVersion(const std::string& text);
  // The text of a machine file ("": there is none yet) with more that timing chose.
  static std::string TextWithTuned(const std::string& text, const std::string& source, const TunedKernels& tuned);

  std::unique_ptr<PrecisionCosts> CostsOf(const Model& model) const override;
  std::unique_ptr<PrecisionCosts> TrainingCostsOf(const Model& model,
                                                  const std::set<std::string>& differentiated) const override;
  const std::string& json() const override { return header_; }
  // More where oneDNN computes between casts, in layouts of its own.
  double min_gain() const override { return capabilities_.onednn_has_bf16 ? 0.05 : 0.1; }

  const std::string& name() const { return name_; }
  // Kernels that multiply int16, or by tiles, count where they were measured: a formula may promise what a CPU does not
  // keep.
  const MachineCapabilities& capabilities() const { return capabilities_; }
  double Seconds(const StepFeatures& step) const;
  // Whether steps of its key were measured; others take what arithmetic and traffic alone would take.
  bool IsMeasured(const StepFeatures& step) const;
  // Whether those, or steps of its fallback, were.
  bool IsKnown(const StepFeatures& step) const;
  // What timing chose on this machine.
  const TunedKernels& tuned() const { return tuned_; }
  // The seconds of reading or writing so many bytes beside other work.
  double TrafficSeconds(double bytes) const;
  // What a function adds to elements that are written anyway, where it takes `alone` for all of them by itself.
  double PostOpSeconds(double alone, double elements) const;
  // This table for a machine whose arithmetic runs at other speeds (operations per second, by dtype).
  std::shared_ptr<const MachineTable> WithSpeeds(const std::map<DType, double>& flops_per_second,
                                                 const std::string& name) const;
  // This table with a record of what timing chose.
  std::shared_ptr<const MachineTable> WithTuned(TunedKernels tuned) const;
  const std::map<DType, double>& flops_per_second() const { return flops_per_second_; }

 private:
  // Everything of a file but its steps and what timing chose.
  void ReadFacts(const nlohmann::ordered_json& file, std::string digest);
  void SetHeader(nlohmann::ordered_json header, std::string digest);
  double BaseSeconds(const StepCost& cost) const;
  double SecondsBetweenCasts(StepFeatures step) const;
  const MeasuredSteps::Samples* SamplesFor(const StepFeatures& step) const;  // or of its fallback
  double LogRatio(const StepFeatures& step) const;

  std::string name_, header_, digest_;
  TunedKernels tuned_;
  MachineCapabilities capabilities_;
  double start_seconds_ = 0;
  std::map<DType, double> flops_per_second_;
  std::vector<std::pair<double, double>> bytes_per_second_;  // of steps with at most so many bytes
  std::shared_ptr<const MeasuredSteps> steps_;
};

}  // namespace amp
