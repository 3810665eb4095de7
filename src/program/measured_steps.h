// The measured steps of a machine file: what steps of known keys and sizes took.
#pragma once

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "program/sample_key.h"

namespace amp {

// A number of a machine file. Throws ArgumentError unless it lies in the range.
double Within(const nlohmann::ordered_json& value, const char* what, double least, double most);

class MeasuredSteps {
 public:
  // What a step took, relative to what arithmetic and traffic alone would take (log 2).
  struct Sample {
    std::vector<float> point;
    float log_ratio = 0;
  };
  using Samples = std::vector<Sample>;

  // Throws ArgumentError for steps that are none.
  explicit MeasuredSteps(const nlohmann::ordered_json& steps);
  // From text of the library, which stays and is read when steps are first asked for: many programs ask for none.
  explicit MeasuredSteps(std::string_view text) : text_(text) {}

  // The samples of the key; else of that without layout, of that which writes what it reads, of all reference kernels.
  // Null where there are none.
  const Samples* Find(const SampleKey& key) const;

 private:
  std::string_view text_;
  mutable std::once_flag is_read_;
  mutable std::map<SampleKey, Samples> samples_;
};

}  // namespace amp
