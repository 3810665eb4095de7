// Which operators declare the dtype of their output in an attribute, beside those that accumulate products.
#pragma once

namespace amp {

// Fact: the operator computes in float32 inside, and kOutDTypeAttr (passes/infer.h) says which float dtype its output 0
// has: it may read bfloat16 and give float32.
struct DeclaresOutDType {};

}  // namespace amp
