// The operator lists that MXNet publishes for its conversion, a table beside the operator definitions: what its users
// rely on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nnvm/dtype.h"
#include "nnvm/op.h"

namespace amp {

// An operator that stays float32 where its attribute has one of these values.
struct ConditionalOp {
  std::string op;
  std::string attr;
  std::vector<std::string> values;
};

enum class ListRole {
  kTarget,   // always in low precision
  kNeutral,  // in low precision where an input is
  kFloat32,  // keeps its dtypes
  kWidest,   // in low precision where all inputs are
};
// MXNet's word for the list: "target_dtype_ops", ...
const char* NameOf(ListRole role);

// The lists intersected with the registry: an operator that they do not name is neutral. A name counts for the operator
// that is registered under it; an alias only for an operator whose own name is in no list.
struct PublishedLists {
  std::map<const Op*, ListRole> roles;
  std::vector<ConditionalOp> conditional;
  std::vector<std::string> loss_outputs;
  // Inputs ("" for those that may be cast) of operators some of whose inputs stay float32.
  std::map<std::string, std::vector<std::string>> float32_inputs;
};

// For bfloat16 or float16; throws ArgumentError for anything else. Source: python/mxnet/amp/lists of apache/mxnet
// b84609d3fc.
const PublishedLists& MXNetLists(DType target);

}  // namespace amp
