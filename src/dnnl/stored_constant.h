// What plan files hold of a constant. Nothing here is a oneDNN type.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "nnvm/shape.h"

namespace amp::onednn {

// A constant in the layout in which some step reads it. The layout is told from others by its text alone.
struct StoredConstant {
  std::string name;
  TensorType type;  // of the value
  std::string layout_key;
  std::size_t bytes = 0;
  std::shared_ptr<const void> data;
};

}  // namespace amp::onednn
