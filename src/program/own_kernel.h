// Our own kernels as plans run them. The code of a kernel works on plain pointers and lives in src/kernels; what
// runs it here knows the sizes and strides of one step and hands them over.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "program/kernel_operands.h"

namespace amp {

// The kernel of one step, made when the step is built, for its types, layouts and number of threads. Runs of several
// sessions may use it at the same time.
class OwnKernel {
 public:
  virtual ~OwnKernel() = default;
  // What a run needs beside its operands.
  virtual std::size_t ScratchBytes() const { return 0; }
  // Allocates nothing (reference kernels do). Uses the threads of the scope, see kernels/threads/parallel.h.
  virtual void Run(const KernelOperands& operands) const = 0;
};

// A kernel whose Run is run(operands).
template <class Function>
std::unique_ptr<const OwnKernel> MakeOwnKernel(Function run, std::size_t scratch_bytes = 0) {
  class Kernel : public OwnKernel {
   public:
    Kernel(Function function, std::size_t bytes) : run_(std::move(function)), scratch_bytes_(bytes) {}
    std::size_t ScratchBytes() const override { return scratch_bytes_; }
    void Run(const KernelOperands& operands) const override { run_(operands); }

   private:
    Function run_;
    std::size_t scratch_bytes_;
  };
  return std::make_unique<Kernel>(std::move(run), scratch_bytes);
}

}  // namespace amp
