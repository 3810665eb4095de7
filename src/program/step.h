// What operators are lowered to: a straight-line program of steps over values. Nothing here is a dnnl:: type, so that
// cards can describe work without including the library.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "nnvm/graph.h"
#include "nnvm/ndarray.h"

namespace amp {

using ValueId = std::uint32_t;

// What a primitive's layouts are to be, where it has code for that.
enum class LayoutWish : std::uint8_t {
  kLibrarys,         // what the library chooses
  kBlocked,          // blocks of 16 channels
  kChannelsLastOut,  // an output with its channels last
  kRowMajorWeights,  // weights as they are
};
// Inputs: source, weights, [bias]. Channels are axis 1 of the source. Grouped weights have a leading axis of groups:
// (G, O/G, I/G, k...). `dilates` counts skipped elements (0 = dense), as oneDNN does.
struct ConvolutionWork {
  IntTuple strides, dilates, pads_begin, pads_end;
  LayoutWish wish = LayoutWish::kLibrarys;
};
// As a convolution's, with weights (O, I, k...) or (G, O/G, I/G, k...); padding is cut off the output.
struct DeconvolutionWork {
  IntTuple strides, dilates, pads_begin, pads_end;
};
// Inputs: source (M, K), weights (N, K), [bias (N)].
struct InnerProductWork {
  LayoutWish wish = LayoutWish::kLibrarys;
};
// Inputs: a (..., M, K), b (..., K, N), equal leading sizes. y = scale * a b.
struct MatMulWork {
  float scale = 1;
};
enum class PoolingKind { kMax, kAverageIncludePadding, kAverageExcludePadding };
struct PoolingWork {
  PoolingKind kind = PoolingKind::kMax;
  IntTuple kernel, strides, pads_begin, pads_end;
};
enum class EltwiseKind {
  kRelu,
  kLinear,
  kClip,
  kTanh,
  kSigmoid,
  kSoftplus,
  kLogSigmoid,
  kMish,
  kElu,
  kGeluErf,
  kGeluTanh,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kSquare,
  kSwish,
  kHardSigmoid,
  kHardSwish,
};
// y = f(x; alpha, beta) as oneDNN's eltwise defines it; linear is alpha * x + beta, clip has bounds alpha and beta,
// relu and elu a negative slope alpha; swish is x * sigmoid(alpha * x), hard sigmoid clips alpha * x + beta to [0, 1],
// hard swish is x times that.
struct EltwiseWork {
  EltwiseKind kind = EltwiseKind::kRelu;
  float alpha = 0;
  float beta = 0;
};
enum class BinaryKind { kAdd, kSub, kMul, kDiv, kMax, kMin };
// y = a op b; sizes of 1 in b are broadcast to those of a.
struct BinaryWork {
  BinaryKind kind = BinaryKind::kAdd;
};
// Inputs: source, scale, shift (float32, C); channels are axis 1. y = scale * x + shift, clipped to [low, high].
struct ScaleShiftWork {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
struct ConcatWork {
  int axis = 0;
};
struct SoftmaxWork {
  int axis = 0;
  bool logarithm = false;
};
// Inputs: source, scale, shift (float32, size of the last axis, over which the source is normalised).
struct LayerNormWork {
  float epsilon = 0;
};
enum class Masking { kNone, kLength, kMask };
// y = softmax(scale * queries keys^T) values for each of B batches and H heads; own kernel. Inputs: queries (B, H, M,
// D), keys (B, H, N, D) and values (B, H, N, E), giving (B, H, M, E); or `interleaved`, one tensor (L, B, H, 3, D) of
// all three, giving (L, B, H, D). Then lengths (B, H, M) int32, how many keys a query sees, or a mask (B, H, M, N)
// bool, whose first three axes may have size 1: keys where it is false are not seen.
struct AttentionWork {
  bool interleaved = false;
  float scale = 1;
  Masking masking = Masking::kNone;
};
enum class ReductionKind { kSum, kMean };
// Over the axes along which the output has size 1 and the source has not.
struct ReductionWork {
  ReductionKind kind = ReductionKind::kSum;
};
// Repeats elements along the spatial axes; the sizes are those of the types.
struct NearestResampleWork {};
// Inputs: source, slope that broadcasts to it.
struct PReluWork {};
// The elements in another dtype; own kernel.
struct CastWork {};
// The same elements in row-major order under another shape; no work where the layout is row-major.
struct ReshapeWork {};
// Axis i of the output is axis `axes[i]` of the input; costs nothing, only the layout changes.
struct PermuteWork {
  std::vector<int> axes;
};
// The box of the input that begins at `begins` and has the output's sizes, in dense memory.
struct SliceWork {
  IntTuple begins;
};
// The same elements in another layout of memory. Only layout assignment makes these.
struct ReorderWork {};
// A reference kernel on row-major arrays.
struct CallWork {
  std::function<void(std::span<const NDArray> inputs, std::span<NDArray> outputs)> function;
};

using Work =
    std::variant<ConvolutionWork, DeconvolutionWork, InnerProductWork, MatMulWork, PoolingWork, EltwiseWork, BinaryWork,
                 ScaleShiftWork, ConcatWork, SoftmaxWork, LayerNormWork, AttentionWork, ReductionWork,
                 NearestResampleWork, PReluWork, CastWork, ReshapeWork, PermuteWork, SliceWork, ReorderWork, CallWork>;

const char* WorkName(const Work& work);

// y = x + operand, where the primitive adds to what its destination holds already: the operand's memory becomes the
// output's.
struct SumWork {};

// What a primitive does in float32 with its result before it writes it. The operand, where there is one, is an input of
// the step; those of BinaryWork and PReluWork have sizes of 1 where they broadcast.
struct PostOp {
  std::variant<EltwiseWork, BinaryWork, PReluWork, SumWork> work;
  std::size_t operand = 0;  // its place among the step's inputs; unused by EltwiseWork
};

struct Step {
  Work work;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  NodeId node = 0;                   // the graph node that it is part of
  std::string reason;                // why it exists, where that is not obvious
  bool is_shaped_by_inputs = false;  // other input shapes make another result of the same constants
  std::vector<PostOp> post_ops = {};
  std::vector<NodeId> fused = {};  // the nodes that its post-ops, a wider input or a narrower output stand for
};

enum class ValueSource : std::uint8_t { kInput, kConstant, kComputed };

struct Value {
  TensorType type;
  // Unique in the program, and the same whenever the same graph is lowered: the key of constants.
  std::string name;
  ValueSource source = ValueSource::kComputed;
};

// Works whose output is another view of the input's elements: reshape and permute.
inline bool IsViewWork(const Work& work) {
  return std::holds_alternative<ReshapeWork>(work) || std::holds_alternative<PermuteWork>(work);
}

struct Program {
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<ValueId> inputs;   // variables that callers supply, in graph order
  std::vector<ValueId> outputs;  // one per head

  ValueId AddValue(TensorType type, std::string name, ValueSource source);
};

}  // namespace amp
