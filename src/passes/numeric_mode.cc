#include "passes/numeric_mode.h"

#include <string>

#include "nnvm/error.h"

namespace amp {

NumericMode NumericModeFromName(std::string_view name) {
  if (name == "fast") return NumericMode::kFast;
  if (name == "exact") return NumericMode::kExact;
  Throw<ArgumentError>("unknown mode '{}'; expected 'fast' or 'exact'", Quotable(std::string(name)));
}

}  // namespace amp
