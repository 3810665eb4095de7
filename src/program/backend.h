// What runs the steps of a plan.
#pragma once

namespace amp {

enum class Backend { kOneDnn, kReference };

}  // namespace amp
