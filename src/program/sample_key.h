// Which measured steps tell how long a step takes. Text is for files and people.
#pragma once

#include <compare>
#include <string>

#include "nnvm/dtype.h"

namespace amp {

// Steps of one key differ in size alone.
struct SampleKey {
  std::string step;                 // "convolution_1x1", "eltwise_tanh", or the name of an own kernel
  DType in = DType::kUnknown;       // of the first operand
  DType out = DType::kUnknown;      // of the result
  std::string layout = {};          // of the result, or "from-to" of a reorder; "": whichever
  std::string reference_call = {};  // of `call`: the operator whose reference kernel runs

  auto operator<=>(const SampleKey&) const = default;

  // "convolution_1x1 bfloat16-float32 blocked", "call_take int32".
  std::string Text() const;
  // Throws ArgumentError for unknown dtypes.
  static SampleKey Parse(const std::string& text);
};

}  // namespace amp
