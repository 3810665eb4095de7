// Arrays in NumPy's .npz form: a zip file of .npy files.
#pragma once

#include <string_view>

#include "nnvm/npy.h"

namespace amp {

// Whether a file that begins with `start` is a zip file.
bool IsZip(std::string_view start);

// The arrays in the order of the file's directory, under their names without ".npy". Checksums are verified. Throws
// GraphError, with the position, for damage, UnsupportedError for compressed or encrypted entries and sparse arrays.
NamedArrays ReadNpz(ByteReader* bytes);

// Writes uncompressed entries; arrays without names become arr_0, arr_1 and so on, as NumPy calls them. Throws
// ArgumentError for names of more than 65535 bytes and for those that end in "/format", which readers take for a mark.
void WriteNpz(const NamedArrays& arrays, const AppendBytes& append);

}  // namespace amp
