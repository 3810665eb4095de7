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

// Never inline: where compilers see one end of an allocation they take malloc, or free, for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
