// The name of a layer in records of timings.
#pragma once

#include <string>

#include "program/step.h"

namespace amp {

// All that the time of a step depends on, whichever kernel computes it: what it computes, shapes and dtypes, post-ops,
// and the number of threads. Steps of one key are equally fast, but for what caches hold.
std::string LayerKey(const Step& step, const StepTypes& types, int num_threads);

}  // namespace amp
