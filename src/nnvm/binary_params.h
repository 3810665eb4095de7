// MXNet's own binary container of arrays, little-endian (see params_file.h for the door to all containers).
#pragma once

#include "nnvm/file_io.h"
#include "nnvm/named_arrays.h"

namespace amp {

// Records of every generation (V0 to V3). Errors as LoadParams.
NamedArrays ReadBinaryParams(ByteReader* bytes);

// V2 records, or V3 ones (np shapes), which may be scalars and empty.
void WriteBinaryParams(const NamedArrays& arrays, bool np_shape, const AppendBytes& append);

}  // namespace amp
