// Concatenations along channels whose parts are written where they belong in the outermost one.
#pragma once

#include "dnnl/layout_builder.h"

namespace amp::onednn {

// Puts the parts of a concatenation in their place, if one of them lies channels-last; false: nothing was done.
bool PlaceConcat(LayoutBuilder* builder, const Step& concat);

}  // namespace amp::onednn
