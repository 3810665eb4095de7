// Our own kernels as plans run them. The code of a kernel works on plain pointers and lives in src/kernels; a class
// here knows the sizes and strides of one step and hands them over.
#pragma once

#include <cstddef>
#include <string>

#include "program/kernel_operands.h"

namespace amp {

// The kernel of one step, made when the step is built, for its types, layouts and number of threads. Runs of several
// sessions may use it at the same time.
class OwnKernel {
 public:
  virtual ~OwnKernel() = default;
  // Which of several implementations it is, for people; "" where there is one.
  virtual std::string Name() const { return ""; }
  // What a run needs beside its operands.
  virtual std::size_t ScratchBytes() const { return 0; }
  // Allocates nothing (reference kernels do). Uses the threads of the scope, see kernels/threads/parallel.h.
  virtual void Run(const KernelOperands& operands) const = 0;
};

}  // namespace amp
