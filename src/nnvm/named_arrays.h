// Arrays as files hold them, and what readers of all containers share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/ndarray.h"

namespace amp {

class ByteReader;

// In file order. A list saved without names has empty ones; a record without a value has an undefined array.
using NamedArrays = std::vector<std::pair<std::string, NDArray>>;

// A list of arrays: nothing has a name.
bool IsUnnamed(const NamedArrays& arrays);

// The next type.bytes() bytes, of which at most `limit` belong to the array. They stay in the file's mapping where
// there is one and they are aligned. Throws GraphError, with the position, if they are more than that; nothing is
// allocated then.
NDArray ReadArray(ByteReader* bytes, TensorType type, std::uint64_t limit);

}  // namespace amp
