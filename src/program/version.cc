#include "program/version.h"

namespace amp {

const char* LibraryVersion() { return AMP_VERSION; }

}  // namespace amp
