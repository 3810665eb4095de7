// Moves the casts of parameters from run time to the files.
#pragma once

#include <map>
#include <set>
#include <string>

#include "nnvm/params_file.h"
#include "nnvm/rewriter.h"

namespace amp {

struct OfflineCasts {
  RewriteResult rewrite;
  std::map<std::string, DType> casts;  // parameter -> its new dtype
};

// A parameter that is read only through casts to one low-precision dtype takes that dtype itself and the casts go. The
// variable is marked with __amp_dtype__ (MXNet's mark) and its __dtype__ is brought up to date. One direct reader, or a
// cast to another dtype, keeps the parameter as it is; so does being a head.
OfflineCasts CastParamsOffline(const Graph& graph, const std::set<std::string>& parameters);

// `array` with its elements cast as amp_cast casts them (see kernels/cast.h).
NDArray CastArray(const NDArray& array, DType dtype);

// Replaces the arrays that `casts` names by their casts.
void CastArrays(const std::map<std::string, DType>& casts, ModelParams* params);

}  // namespace amp
