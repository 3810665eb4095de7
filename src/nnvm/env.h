// Environment variables, parsed where they are asked for: docs/environment_variables.md has all of them.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace amp {

inline std::string EnvValue(const char* name, std::string_view fallback = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : std::string(fallback);
}

inline bool EnvFlag(const char* name) {
  const std::string value = EnvValue(name);
  return !value.empty() && value != "0";
}

}  // namespace amp
