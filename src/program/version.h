// The version of this library, by which what other versions measured is told apart.
#pragma once

namespace amp {

const char* LibraryVersion();

}  // namespace amp
