#include "nnvm/ndarray.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "nnvm/error.h"
#include "nnvm/file_io.h"

namespace amp {

namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{1} << 21;

// A wish that need not come true, so a failure changes nothing. Large tensors lie in fewer pages than translations are
// cached for, and prefetchers need not stop every 4 kB.
void WishForHugePages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

}  // namespace

std::shared_ptr<void> AllocateAligned(std::size_t bytes) {
  const bool is_large = bytes >= kHugePage;
  const std::size_t alignment = is_large ? kHugePage : kCacheLine;
  if (bytes > SIZE_MAX - alignment) Throw<Error>("cannot allocate {} bytes", bytes);
  const std::size_t rounded = std::max(kCacheLine, (bytes + kCacheLine - 1) / kCacheLine * kCacheLine);
  void* memory = nullptr;  // aligned_alloc would ask for a multiple of the alignment
  if (posix_memalign(&memory, alignment, rounded) != 0) Throw<Error>("cannot allocate {} bytes", rounded);
  if (is_large) WishForHugePages(memory, rounded);
  return {memory, std::free};
}

NDArray::NDArray(DType dtype, Shape shape) : type_{dtype, std::move(shape)} {
  if (!type_.fully_known()) Throw<ArgumentError>("cannot allocate an array of type {}", type_.ToString());
  auto memory = AllocateAligned(static_cast<std::size_t>(type_.bytes()));
  data_ = memory.get();
  owner_ = std::move(memory);
}

NDArray::NDArray(TensorType type, void* data, std::shared_ptr<const void> owner)
    : type_(std::move(type)), data_(data), owner_(std::move(owner)) {
  if (!type_.fully_known()) Throw<ArgumentError>("cannot wrap an array of type {}", type_.ToString());
}

bool NDArray::is_mapped() const {
  const auto* part = std::get_deleter<MappedPart>(owner_);
  return part != nullptr && part->is_read_alone;
}

void NDArray::LeavePages() const {
  if (is_mapped()) MappedPart::LeavePages(data_, static_cast<std::uint64_t>(bytes()));
}

NDArray NDArray::Zeros(DType dtype, Shape shape) {
  NDArray array(dtype, std::move(shape));
  std::memset(array.data(), 0, array.bytes());
  return array;
}

NDArray NDArray::Reshaped(Shape shape) const {
  if (shape.size() != size()) {
    Throw<ArgumentError>("cannot view an array of shape {} as {}", type_.shape.ToString(), shape.ToString());
  }
  NDArray view = *this;
  view.type_.shape = std::move(shape);
  return view;
}

}  // namespace amp
