#include "program/step.h"

#include <array>

namespace amp {

const char* WorkName(const Work& work) {
  constexpr std::array kNames{"convolution", "deconvolution", "inner_product", "matmul",  "pooling",    "eltwise",
                              "binary",      "scale_shift",   "concat",        "softmax", "layer_norm", "attention",
                              "reduction",   "resample",      "prelu",         "cast",    "reshape",    "permute",
                              "slice",       "reorder",       "call"};
  static_assert(kNames.size() == std::variant_size_v<Work>);
  return kNames[work.index()];
}

ValueId Program::AddValue(TensorType type, std::string name, ValueSource source) {
  values.push_back({std::move(type), std::move(name), source});
  return static_cast<ValueId>(values.size() - 1);
}

}  // namespace amp
