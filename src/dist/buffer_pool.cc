#include "dist/buffer_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nnvm/ndarray.h"

namespace amp::dist {

class BufferPool::State {
 public:
  struct Block {
    std::size_t bytes = 0;
    std::shared_ptr<void> memory;

    // Not much larger than what is needed, or it would be missing elsewhere.
    bool Fits(std::size_t needed) const { return bytes >= needed && bytes - needed <= needed / 4; }
  };

  Block Take(std::size_t bytes) {
    const auto found = std::find_if(free_.begin(), free_.end(), [&](const Block& block) { return block.Fits(bytes); });
    Block block = found == free_.end() ? Block{bytes, AllocateAligned(bytes)} : *found;
    if (found != free_.end()) {
      free_.erase(found);
      free_bytes_ -= block.bytes;
    }
    used_bytes_ += block.bytes;
    most_used_ = std::max(most_used_, used_bytes_);
    return block;
  }

  // What has been free for the longest time goes first.
  void Return(Block block) {
    used_bytes_ -= block.bytes;
    free_bytes_ += block.bytes;
    free_.push_back(std::move(block));
    while (free_bytes_ > most_used_) {
      free_bytes_ -= free_.front().bytes;
      free_.erase(free_.begin());
    }
  }

 private:
  std::vector<Block> free_;
  std::size_t free_bytes_ = 0, used_bytes_ = 0, most_used_ = 0;
};

BufferPool::BufferPool() : state_(std::make_shared<State>()) {}

std::shared_ptr<void> BufferPool::Take(std::size_t bytes) {
  State::Block block = state_->Take(bytes);
  void* memory = block.memory.get();
  return {memory, [state = state_, block = std::move(block)](void*) mutable { state->Return(std::move(block)); }};
}

}  // namespace amp::dist
