#include "passes/run_options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "nnvm/env.h"
#include "nnvm/error.h"

namespace amp {

NumericMode NumericModeFromName(std::string_view name) {
  if (name == "fast") return NumericMode::kFast;
  if (name == "exact") return NumericMode::kExact;
  Throw<ArgumentError>("unknown mode '{}'; expected 'fast' or 'exact'", Quotable(std::string(name)));
}

bool PassEnabled(std::string_view pass) {
  const std::string list = EnvValue("AMP_DISABLE_PASSES");
  bool enabled = true;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view name = std::string_view(list).substr(begin, end - begin);
    if (!name.empty() && std::find(kOptionalPasses.begin(), kOptionalPasses.end(), name) == kOptionalPasses.end()) {
      const std::vector<std::string> known(kOptionalPasses.begin(), kOptionalPasses.end());
      Throw<ArgumentError>("AMP_DISABLE_PASSES names '{}', expected some of {}", Quotable(std::string(name)),
                           JoinSome(known));
    }
    enabled = enabled && name != pass;
    begin = end + 1;
  }
  return enabled;
}

}  // namespace amp
