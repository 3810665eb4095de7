// The part of a conversion's report that is about gradients.
#pragma once

#include <string>

#include "passes/precision/report_stages.h"

namespace amp {

// Every tensor that the gradients of the converted model consist of, as the report's `gradients` (a JSON array): like
// its tensors, with ids behind those of the model. Empty for a model that has an operator without a gradient.
std::string GradientTensors(const ReportStages& stages);

}  // namespace amp
