// Maps, for the kinds of step that become one.
#pragma once

#include "dnnl/layout_builder.h"

namespace amp::onednn {

// Lays out a step with MapSpec.
void AssignMap(LayoutBuilder* builder, Step step);

}  // namespace amp::onednn
