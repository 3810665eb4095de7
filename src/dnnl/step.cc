#include "dnnl/step.h"

#include <array>

namespace amp::onednn {

const char* WorkName(const Work& work) {
  constexpr std::array kNames{"convolution", "inner_product", "pooling", "eltwise", "add",     "batch_norm", "concat",
                              "softmax",     "prelu",         "cast",    "reshape", "permute", "reorder",    "call"};
  static_assert(kNames.size() == std::variant_size_v<Work>);
  return kNames[work.index()];
}

ValueId Program::AddValue(TensorType type, std::string name, ValueSource source) {
  values.push_back({std::move(type), std::move(name), source});
  return static_cast<ValueId>(values.size() - 1);
}

}  // namespace amp::onednn
