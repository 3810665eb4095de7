// A record of the kernels that timing chose.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace amp {

class TunedKernels {
 public:
  // From a machine file's "tuned" (docs/machines.md). Empty where another version of this program wrote it: its kernels
  // were others. Throws ArgumentError.
  static TunedKernels FromJson(const nlohmann::ordered_json& json);
  nlohmann::ordered_json ToJson() const;

  // The name of a kernel, or nullptr.
  const std::string* Find(const std::string& layer) const;
  void Set(const std::string& layer, const std::string& kernel) { kernels_[layer] = kernel; }
  // Adds those of another record, which replace what is there.
  void Merge(const TunedKernels& newer);
  bool empty() const { return kernels_.empty(); }

 private:
  std::map<std::string, std::string> kernels_;  // by LayerKey
};

}  // namespace amp
