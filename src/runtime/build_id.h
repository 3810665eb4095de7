// Which build of a library this process has loaded.
#pragma once

#include <string>

namespace amp {

// The build id that the linker wrote into the library or program that `address` lies in, as hexadecimal digits; ""
// where there is none.
std::string BuildIdOf(const void* address);

}  // namespace amp
