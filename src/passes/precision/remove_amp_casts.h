// Takes a conversion back: the graph without its casts, for programs that know none.
#pragma once

#include <map>
#include <string>

#include "nnvm/rewriter.h"

namespace amp {

// Which casts go: all, as MXNet does when it saves, or those of a conversion alone (passes/whose_cast.h).
enum class RemovedCasts : std::uint8_t { kAll, kOfConversions };

// Every such amp_cast and amp_multicast is gone, outputs included (MXNet's pass leaves those), and parameters that are
// marked with __amp_dtype__ are float32 again: the caller casts their arrays back. __out_dtype__ and __amp_force__ go,
// too. An output of the graph keeps the name that its cast bears in __output_name__.
//
// Bodies of control flow lose theirs, too; their variables with that mark declare float32 again. What has another dtype
// by itself (by a cast that stays, or an input or a parameter that is bfloat16 without a mark) keeps it; where an
// operator would then refuse its inputs, and where a cast to float32 read such a tensor, a cast to float32 stands.
// `dtypes` are those of variables, where known; else __dtype__ says it, else they are float32.
RewriteResult RemoveAmpCasts(const Graph& graph, const std::map<std::string, DType>& dtypes,
                             RemovedCasts casts = RemovedCasts::kAll);

}  // namespace amp
