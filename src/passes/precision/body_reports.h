// Reports of bodies of control flow, as parts of the report of the graph around them.
#pragma once

#include <nlohmann/json.hpp>

#include "passes/precision/converted_bodies.h"

namespace amp {

// Adds the key "bodies", and the casts and tensors of bodies that were converted: see ConversionReport.
void AddBodyReports(const ConvertedBodies& converted, nlohmann::ordered_json* report);

}  // namespace amp
