// Our own kernels as plans run them. The code of a kernel works on plain pointers and lives in src/kernels; a class
// here knows the sizes and strides of one step and hands them over.
#pragma once

#include <cstddef>
#include <span>

#include "program/step.h"

namespace amp::onednn {

// Where the operands of a step lie in one run.
class KernelOperands {
 public:
  // `memory` and `first_bytes` by value: where its memory begins, and how far behind that its elements begin.
  KernelOperands(std::span<const ValueId> inputs, std::span<const ValueId> outputs, std::span<void* const> memory,
                 std::span<const std::size_t> first_bytes, void* scratch)
      : inputs_(inputs), outputs_(outputs), memory_(memory), first_bytes_(first_bytes), scratch_(scratch) {}

  // The first element.
  const void* input(std::size_t i) const { return Begin(inputs_[i]); }
  void* output(std::size_t i = 0) const { return Begin(outputs_[i]); }
  std::size_t num_outputs() const { return outputs_.size(); }
  // As many bytes as the kernel asked for; they may hold anything.
  void* scratch() const { return scratch_; }

 private:
  char* Begin(ValueId v) const { return static_cast<char*>(memory_[v]) + first_bytes_[v]; }

  std::span<const ValueId> inputs_, outputs_;
  std::span<void* const> memory_;
  std::span<const std::size_t> first_bytes_;
  void* scratch_;
};

// The kernel of one step, made when the step is built, for its types, layouts and number of threads. Runs of several
// sessions may use it at the same time.
class OwnKernel {
 public:
  virtual ~OwnKernel() = default;
  // What a run needs beside its operands.
  virtual std::size_t ScratchBytes() const { return 0; }
  // Allocates nothing (reference kernels do). Uses the threads of the scope, see kernels/parallel.h.
  virtual void Run(const KernelOperands& operands) const = 0;
};

}  // namespace amp::onednn
