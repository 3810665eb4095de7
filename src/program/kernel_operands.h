// Where the operands of a step lie in one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace amp {

using ValueId = std::uint32_t;

class KernelOperands {
 public:
  // `memory` and `first_bytes` by value: where its memory begins, and how far behind that its elements begin.
  KernelOperands(std::span<const ValueId> inputs, std::span<const ValueId> outputs, std::span<void* const> memory,
                 std::span<const std::size_t> first_bytes, void* scratch)
      : inputs_(inputs), outputs_(outputs), memory_(memory), first_bytes_(first_bytes), scratch_(scratch) {}

  // The first element.
  const void* input(std::size_t i) const { return Begin(inputs_[i]); }
  void* output(std::size_t i = 0) const { return Begin(outputs_[i]); }
  std::size_t num_inputs() const { return inputs_.size(); }
  std::size_t num_outputs() const { return outputs_.size(); }
  // The bytes that the kernel asked for; they may hold anything.
  void* scratch() const { return scratch_; }

 private:
  char* Begin(ValueId v) const { return static_cast<char*>(memory_[v]) + first_bytes_[v]; }

  std::span<const ValueId> inputs_, outputs_;
  std::span<void* const> memory_;
  std::span<const std::size_t> first_bytes_;
  void* scratch_;
};

}  // namespace amp
