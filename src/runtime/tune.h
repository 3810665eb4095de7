// Timing: which of several kernels computes each layer of a model fastest on this machine.
#pragma once

#include <functional>

#include "program/tuned_kernels.h"
#include "runtime/bind.h"

namespace amp::onednn {

// Compiles the model as predicted times would have it and once per candidate, forced wherever it is legal, and runs
// these plans taking turns: as whole plans, because a layer that is run in a loop finds its weights in caches. The plan
// of the fastest kernels is timed as well; where one of the others is faster as a whole, its choices are the result.
// Empty where there is nothing to choose, or where it was asked to end before all had run once. The kernel chooser
// among the model's options is not asked.
TunedKernels Tune(BoundModel model);

// Gets the part that is done, from 0 to 1; false asks Tune to end with what it knows.
using TuneProgress = std::function<bool(double)>;

// What Tune calls on this thread from now on; nothing where it is empty.
void SetTuneProgress(TuneProgress progress);

}  // namespace amp::onednn
