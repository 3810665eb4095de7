#include "nnvm/named_arrays.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "nnvm/error.h"
#include "nnvm/file_io.h"

namespace amp {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read as they are on disk");

// The number of bytes, or nothing where it is above `limit`.
std::optional<std::uint64_t> BytesWithin(const TensorType& type, std::uint64_t limit) {
  const auto& dims = type.shape.dims();
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  auto bytes = static_cast<std::uint64_t>(BytesOf(type.dtype));
  if (bytes > limit) return std::nullopt;
  for (const std::int64_t dim : dims) {
    if (bytes > limit / static_cast<std::uint64_t>(dim)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(dim);
  }
  return bytes;
}

}  // namespace

bool IsUnnamed(const NamedArrays& arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [](const auto& named) { return named.first.empty(); });
}

NDArray ReadArray(ByteReader* bytes, TensorType type, std::uint64_t limit) {
  const auto size = BytesWithin(type, std::min(limit, bytes->remaining()));
  if (!size) {
    Throw<GraphError>("{} at byte {}: an array of type {} is larger than the rest of the file", bytes->source(),
                      bytes->position(), type.ToString());
  }
  if (std::shared_ptr<void> mapped = bytes->Borrow(*size, static_cast<std::size_t>(BytesOf(type.dtype)))) {
    return NDArray(std::move(type), mapped.get(), mapped);
  }
  NDArray array(type.dtype, std::move(type.shape));
  bytes->Read(array.data(), *size, "an array's data");
  return array;
}

}  // namespace amp
