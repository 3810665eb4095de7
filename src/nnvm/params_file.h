// MXNet's binary `.params` files: named arrays, little-endian.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnvm/ndarray.h"

namespace amp {

// In file order. A list saved without names has empty ones; a record without a value has an undefined array.
using NamedArrays = std::vector<std::pair<std::string, NDArray>>;

// Reads records of every binary generation (V0 to V3). Throws GraphError, with file and position, for anything that
// is cut off, inconsistent or no such file, and UnsupportedError for sparse records.
NamedArrays LoadParams(const std::string& path);
NamedArrays ParseParams(std::string_view bytes, const std::string& source);

// Writes V2 records, which every MXNet since 1.0 reads; a list without names where all are empty. Atomic. Throws
// ArgumentError for what V2 cannot hold (rank 0 and empty arrays) and for duplicate names.
void SaveParams(const std::string& path, const NamedArrays& arrays);

// The arrays of a checkpoint by role: keys "arg:NAME" and "aux:NAME".
struct ModelParams {
  NDArrayMap args;
  NDArrayMap aux;
};
// Throws GraphError for keys of another form.
ModelParams SplitParams(const NamedArrays& arrays, const std::string& source);
NamedArrays JoinParams(const ModelParams& params);

}  // namespace amp
