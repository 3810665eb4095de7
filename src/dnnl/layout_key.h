// A layout as text: what plan files hold of it.
#pragma once

#include <string>

#include "dnnl/memory_desc.h"

namespace amp::onednn {

// Equal for equal layouts: dtype, sizes, padded sizes, strides, blocks and the first element's place. "" for a layout
// that oneDNN does not describe.
std::string LayoutKey(const Desc& layout);

}  // namespace amp::onednn
