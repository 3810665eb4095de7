// One array in NumPy's .npy form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nnvm/file_io.h"
#include "nnvm/named_arrays.h"

namespace amp {

// Whether a file that begins with `start` is in this form.
bool IsNpy(std::string_view start);

// What stands in front of an array's data. bfloat16 is '<b2', which MXNet 2.0 writes; NumPy has no name for it.
std::string NpyHeader(const TensorType& type);

struct NpyFile {
  std::string header;  // what stands in front of the data, as it is in the file
  NDArray data;        // in the file's order
  bool fortran_order = false;
};

// Reads the next `size` bytes, all of which must be the array. Versions 1 to 3 of the form; bfloat16 is known as '<b2',
// as [('bfloat16', '<u2')] (MXNet) and as '<V2' (ml_dtypes). Throws GraphError with the position, and UnsupportedError
// for other dtypes and for big-endian ones.
NpyFile ReadNpyFile(ByteReader* bytes, std::uint64_t size);

// The array, row-major whatever the file's order.
NDArray InRowOrder(NpyFile file);

}  // namespace amp
