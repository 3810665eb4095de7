// Memory that is used again by later calls: pages of the operating system cost more than what is computed in some.
#pragma once

#include <cstddef>
#include <memory>

namespace amp::dist {

// Used by one thread at a time. Keeps no more than what was in use at once.
class BufferPool {
 public:
  BufferPool();

  // At least so many bytes, of unknown content. They come back with the last copy of the pointer, which may outlive the
  // pool.
  std::shared_ptr<void> Take(std::size_t bytes);

 private:
  class State;

  std::shared_ptr<State> state_;
};

}  // namespace amp::dist
