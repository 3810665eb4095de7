// In a file of its own: where compilers see both ends of an allocation they take malloc for a mistake.
#include "dnnl/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> allocations{0};
}  // namespace

namespace amp::onednn::testing {
long CountedAllocations() { return allocations; }
}  // namespace amp::onednn::testing

#if !defined(__SANITIZE_ADDRESS__)

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
