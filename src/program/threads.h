// Thread counts: a plan is built for one count, and every run uses exactly that.
#pragma once

#include "kernels/threads/parallel.h"

namespace amp {

using kernels::ThreadScope;

// The count that a request of 0 ("whatever the machine offers") or n means here and now. 1 in a child process that was
// forked after threads had been started: they do not survive a fork.
int EffectiveThreads(int requested);

// Throws Error in a process in which `count` threads cannot run (see above).
void RequireThreads(int count);

}  // namespace amp
