// Reasons as conversion reports write them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace amp {

// `because_of` is the id of a tensor, or null.
inline nlohmann::ordered_json ReasonJson(const char* reason_class, const char* kind, const std::string& text,
                                         nlohmann::ordered_json because_of = nullptr) {
  return {{"class", reason_class}, {"kind", kind}, {"text", text}, {"because_of", std::move(because_of)}};
}

}  // namespace amp
