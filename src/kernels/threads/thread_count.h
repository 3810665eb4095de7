// How many threads a run uses unless it is told.
#pragma once

#include <sched.h>

#include <string>

namespace amp::kernels {

// OMP_NUM_THREADS if it is set to a number above 0 (of a list "4,2" its first), else AvailableCpus().
// A thread that has set a number of its own has that.
int DefaultThreads();

// What DefaultThreads() is for the calling thread from now on; 0: what it is for others.
void SetDefaultThreads(int count);

// The CPUs that the calling thread may use: its affinity mask, and no more than a cgroup's quota keeps running. At
// least 1: half a CPU is one thread.
int AvailableCpus();

// The CPUs that the calling thread may run on; all if the system does not tell.
cpu_set_t CallersCpus();

// The quota of the cgroup that `membership` (the text of /proc/self/cgroup) names below `mount` (/sys/fs/cgroup), in
// CPUs; the smallest of it and of those around it. Versions 1 and 2. Infinite without one, or where a file is damaged.
double QuotaCpus(const std::string& membership, const std::string& mount);

}  // namespace amp::kernels
