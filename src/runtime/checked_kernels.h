// What is known of the kernels of this machine, see program/kernel_record.h.
#pragma once

#include <memory>

#include "program/kernel_record.h"

namespace amp {

// One for the process. It begins with what earlier processes kept in the user's cache folder, for this CPU, these
// instruction sets and versions. Null where AMP_CHECK_KERNELS=0 leaves the checks out.
std::shared_ptr<KernelRecord> CheckedKernels();

}  // namespace amp
