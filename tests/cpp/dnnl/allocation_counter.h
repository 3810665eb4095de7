#pragma once

namespace amp::onednn::testing {

// Calls of operator new in this process so far; always 0 under AddressSanitizer, which has an operator new of its own.
long CountedAllocations();

}  // namespace amp::onednn::testing
