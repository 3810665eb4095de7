// Files of other programs that users take for a model.
#pragma once

#include <string>
#include <string_view>

namespace amp {

// Throws GraphError, with `source` and what to do, for a file that begins with `start` and is known to be something
// else than a parameter file or a symbol's JSON: a pointer of Git LFS, a web page, a model of ONNX, PyTorch or Keras.
void RefuseForeignFile(std::string_view start, const std::string& source);

}  // namespace amp
