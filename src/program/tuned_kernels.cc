#include "program/tuned_kernels.h"

#include <nlohmann/json.hpp>

#include "nnvm/error.h"
#include "program/version.h"

namespace amp {

using Json = nlohmann::ordered_json;

TunedKernels TunedKernels::FromJson(const Json& json) {
  TunedKernels record;
  const bool is_ours = json.at("program").get<std::string>() == LibraryVersion();
  for (const auto& [layer, kernel] : json.at("layers").items()) {
    if (!kernel.is_string()) Throw<ArgumentError>("tuned: expected the name of a kernel for '{}'", Quotable(layer));
    if (is_ours) record.Set(layer, kernel.get<std::string>());
  }
  return record;
}

Json TunedKernels::ToJson() const {
  Json layers = Json::object();
  for (const auto& [layer, kernel] : kernels_) layers[layer] = kernel;
  return {{"program", LibraryVersion()}, {"layers", layers}};
}

const std::string* TunedKernels::Find(const std::string& layer) const {
  const auto found = kernels_.find(layer);
  return found == kernels_.end() ? nullptr : &found->second;
}

void TunedKernels::Merge(const TunedKernels& newer) {
  for (const auto& [layer, kernel] : newer.kernels_) kernels_[layer] = kernel;
}

}  // namespace amp
