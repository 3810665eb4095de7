// Moves the casts of parameters from run time to the files.
#pragma once

#include <map>
#include <string>

#include "nnvm/rewriter.h"
#include "passes/model.h"

namespace amp {

// On a variable: the dtype that its array was or is to be cast to.
inline constexpr const char* kAmpDTypeAttr = "__amp_dtype__";

// On a node: the low dtype that it keeps wherever the model runs, because the caller of a conversion forced it, or
// asked for a decision that holds everywhere.
inline constexpr const char* kForcedDTypeAttr = "__amp_force__";

struct OfflineCasts {
  RewriteResult rewrite;
  std::map<std::string, DType> casts;  // parameter -> its new dtype
};

// A parameter that is read only through a conversion's casts to one low-precision dtype takes that dtype itself and the
// casts go. The variable is marked with __amp_dtype__ (MXNet's mark) and its __dtype__ is brought up to date. One
// direct reader, or a cast to another dtype, keeps the parameter as it is; so does being an output of the graph. The
// arrays are the caller's to cast.
OfflineCasts CastParamsOffline(const Model& model);

}  // namespace amp
