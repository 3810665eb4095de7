// Elementwise work of any rank with broadcasts: a short program of operations, run over tiles that stay in the nearest
// cache. However many operations it has, memory is read and written once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/cpu.h"
#include "kernels/elementwise/cast.h"

namespace amp::kernels {

// What an operation does with its operands x, y, z, all float32. Comparisons and logic give 1 or 0; any number but 0
// is true.
enum class MapOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,  // the first operand where it is a NaN, else the second where it is one
  kMin,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kXor,
  kSelect,    // x ? y : z
  kMulAdd,    // x * y + z
  kConstant,  // alpha
  kLinear,    // alpha * x + beta
  kClip,      // to [alpha, beta]; a NaN stays one
  kRelu,      // x above 0, else alpha * x
  kNegative,
  kAbs,
  kSquare,
  kSqrt,
  kReciprocal,
  kFloor,
  kCeil,
  kTrunc,
  kExp,
  kLog,
  kSigmoid,
  kTanh,
  kErf,
  kRoundToBF16,  // the nearest bfloat16, as float32
  kFunction,     // function(x) in double, rounded once
  kFunction2,    // function2(x, y) in double, rounded once
};

struct MapStep {
  MapOp op = MapOp::kAdd;
  // Registers: the operands come first, then the results of the steps before this one.
  std::uint8_t x = 0, y = 0, z = 0;
  float alpha = 0, beta = 0;
  double (*function)(double) = nullptr;
  double (*function2)(double, double) = nullptr;
};

// How operands are walked: the output is written element after element, and one step along an axis moves an operand by
// its stride, in elements. The last axis is the innermost; a stride of 0 repeats.
struct MapAxis {
  std::int64_t size = 1;
  std::vector<std::int64_t> strides;  // by operand
};

// One operand's way through memory; neighbouring axes that are one for it are merged.
struct MapWalk {
  static constexpr std::size_t kMaxAxes = 16;

  ElementType type = ElementType::kFloat32;
  std::size_t num_axes = 0;
  std::int64_t sizes[kMaxAxes], strides[kMaxAxes];
};

// A register that is written to memory, element after element.
struct MapResult {
  std::uint8_t from = 0;
  ElementType type = ElementType::kFloat32;
};

class Map {
 public:
  static constexpr std::size_t kMaxOperands = 8, kMaxSteps = 32, kMaxResults = 4;

  // The result is that of the last step. At most MapWalk::kMaxAxes axes are longer than 1.
  Map(std::vector<ElementType> operands, ElementType result, std::vector<MapStep> steps, std::vector<MapAxis> axes);
  // A map with several results.
  Map(std::vector<ElementType> operands, std::vector<MapResult> results, std::vector<MapStep> steps,
      std::vector<MapAxis> axes);

  // `operands`: their first elements. A result may lie where an operand of its type does that is walked element after
  // element, too. Splits the work among the threads of the scope (ParallelFor); results do not depend on their number.
  void Run(const void* const* operands, void* const* results) const;
  void Run(const void* const* operands, void* result) const { Run(operands, &result); }

  // float32, bfloat16, int8, uint8, int32, int64 and bool; results are float32, bfloat16 or bool.
  static bool IsOperandType(ElementType type);
  static bool IsResultType(ElementType type);

 private:
  std::vector<MapWalk> walks_;  // by operand
  std::vector<MapResult> results_;
  std::vector<MapStep> steps_;
  std::int64_t count_ = 1;
};

// The result of so many steps, whose first register is `numbers`, in place of those; at most Map::kMaxSteps. What lies
// up to the next multiple of 16 numbers may be read and changed. On the calling thread.
void ApplyMapSteps(const MapStep* steps, std::size_t num_steps, std::int64_t count, float* numbers);

// A map as its code sees it.
struct MapView {
  const MapWalk* walks = nullptr;  // by operand
  std::size_t num_operands = 0;
  const MapStep* steps = nullptr;
  std::size_t num_steps = 0;
  const MapResult* results = nullptr;
  std::size_t num_results = 0;
};

struct MapTable {
  Isa isa;
  // Elements [begin, end) of the results.
  void (*range)(const MapView& map, const void* const* operands, void* const* results, std::int64_t begin,
                std::int64_t end);
  void (*apply)(const MapStep* steps, std::size_t num_steps, std::int64_t count, float* numbers);  // ApplyMapSteps

  static const MapTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
