// What people want to know about a plan, and about its runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/layer_choice.h"

namespace amp {

// The dtype of an operand, whose role is oneDNN's name: "src", "weights", "bias", "dst", "post_op_0", ... Those of an
// own kernel are "src", "src_1", ..., "dst", "dst_1", ...
struct OperandDType {
  std::string role, dtype;
  bool operator==(const OperandDType&) const = default;
};

struct PlanStep {
  std::string node;  // the graph node that it belongs to
  std::string kind;  // "convolution", "reorder", ...
  // oneDNN's name of the kernel, "own", "own:<which>", "reference" or, of bodies with both, "own+reference".
  std::string implementation;
  std::string layout;                      // of the output
  std::string reason;                      // of reorders and fallbacks
  std::vector<std::string> fused = {};     // the nodes whose work is done with it
  std::optional<LayerChoice> choice = {};  // where several kernels could compute it
  std::size_t constant_bytes = 0;          // of constants that it reads, such as weights, as its kernel reads them
  bool is_backward = false;                // of a plan in two halves: runs in the second one
  // "auto", "f32" or "scaled" where it may not lose small numbers, else "": see passes/alternate.h.
  std::string alternate = {};
  std::vector<OperandDType> dtypes = {};   // of what it reads and writes
  std::vector<std::string> post_ops = {};  // "eltwise_relu", "binary_add", "sum", ...: what is fused, in order
  std::string primitive_kind = {};         // oneDNN's name of the kind; "" of an own kernel
  // A product that reads low precision in the graph computes in float32: why. "" where it computes what the graph says.
  std::string why_float32 = {};
};

// What a run of a step executed: facts of the primitive that ran and of the memory that it worked on, not of the plan.
struct ExecutedStep {
  std::string kind;            // oneDNN's name of the primitive's kind, or that of the own kernel's step
  std::string implementation;  // as in PlanStep
  std::vector<OperandDType> dtypes = {};
  std::vector<std::string> post_ops = {};
  std::string fpmath = {};           // of a primitive: "strict"; "" of an own kernel
  std::string instruction_set = {};  // of an own kernel: "generic", "avx2", "avx512"
  std::string alternate = {};        // what ran in place of the primitive: "f32" or "scaled" (passes/alternate.h)
};

// How often a sum of products that reads bfloat16 ran which implementation: bfloat16 instructions, or one of those that
// keep small numbers (passes/alternate.h).
struct AlternateCounts {
  std::string node;
  bool is_backward = false;
  std::int64_t native = 0, f32 = 0, scaled = 0;
};

// What the bfloat16 instructions of a sum of products made zero: operands that are denormal, and results that are not
// zero when they are computed in float32.
struct FlushedCounts {
  std::string node;
  bool is_backward = false;
  std::int64_t runs = 0, operands = 0, results = 0;
};

// What people want to know about a plan.
struct PlanSummary {
  std::vector<PlanStep> steps;
  std::size_t arena_bytes = 0;
  std::size_t constant_bytes = 0;
  int num_threads = 0;
  int num_reorders = 0;    // run-time ones
  int num_references = 0;  // nodes on reference kernels, ours or oneDNN's
  std::vector<std::string> reference_nodes;

  std::string Print() const;
};

}  // namespace amp
