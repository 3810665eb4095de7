// Parameter files: named arrays in MXNet's binary container or in NumPy's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nnvm/file_io.h"
#include "nnvm/named_arrays.h"
#include "nnvm/symbol.h"

namespace amp {

// Reads any of the containers, told apart by content: MXNet's binary one (V0 to V3), .npz and .npy. Throws GraphError,
// with file and position, for anything that is cut off, inconsistent or no such file, and UnsupportedError for sparse
// arrays and compressed .npz files. A file that cannot be cut short behind our back (a sealed memory file, a read-only
// file system such as squashfs) is mapped and its arrays share the mapping; changing them does not change the file.
// `rule` maps more files, for callers that write to none of the arrays.
NamedArrays LoadParams(const std::string& path, MapRule rule = MapRule::kIfFixed);
NamedArrays ParseParams(std::string_view bytes, const std::string& source);

enum class ParamsFormat {
  kV2,   // read by every MXNet since 1.0
  kV3,   // MXNet 2.0 and 1.6+ in np mode; holds scalars and empty arrays
  kNpz,  // MXNet 2.0 and NumPy, but for bfloat16 arrays ('<b2', which MXNet 2.0.0b1 writes and cannot read)
};
// V2 where it can hold the arrays, else V3.
ParamsFormat DefaultFormat(const NamedArrays& arrays);
// Throws ArgumentError that lists what there is.
ParamsFormat ParamsFormatFromName(std::string_view name);

// Writes a list without names where all are empty. Atomic. Throws ArgumentError for what the format cannot hold (rank 0
// and empty arrays in V2), for arrays without a value and for duplicate names.
void SaveParams(const std::string& path, const NamedArrays& arrays, std::optional<ParamsFormat> format = std::nullopt);

// The arrays of a checkpoint by role: keys "arg:NAME" and "aux:NAME".
struct ModelParams {
  NDArrayMap args;
  NDArrayMap aux;
};
// Throws GraphError for keys of another form.
ModelParams SplitParams(const NamedArrays& arrays, const std::string& source);
// Splits a symbol's parameters, whose keys may also all be plain names of its variables (save_parameters).
ModelParams SplitParamsOf(const Symbol& symbol, const NamedArrays& arrays, const std::string& source);
NamedArrays JoinParams(const ModelParams& params);

}  // namespace amp
