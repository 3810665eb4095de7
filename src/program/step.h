// What operators are lowered to: a straight-line program of steps over values. Nothing here is a oneDNN type: operator
// definitions say what is to be done without including oneDNN.
//
// Each kind of step is one struct, its spec. `kKind` holds what generic code asks of the kind; a member Flops, where
// there is one, counts the operations (see step_cost.h). A new kind is a struct and its name in StepSpec;
// src/dnnl/step_kinds holds the half that needs oneDNN.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/elementwise/map.h"
#include "kernels/movement/pad.h"
#include "kernels/rnn/recurrence.h"
#include "nnvm/graph.h"
#include "nnvm/ndarray.h"
#include "passes/alternate.h"
#include "program/kernel_operands.h"
#include "program/layer_choice.h"

namespace amp {

// The types of a step's operands and results.
struct StepTypes {
  std::vector<TensorType> inputs, outputs;
};

// What generic code asks of a kind of step.
struct StepKind {
  const char* name;
  bool is_view = false;          // the output is another view of the input's elements
  bool chooses_layouts = false;  // a sum of products: oneDNN says in which layouts it is fast
  bool keeps_inputs = false;     // plans for other shapes may need the constants that it reads
  bool by_onednn = false;        // oneDNN computes it, in the dtype of its operands
};

struct PackedWeights;
struct StepCost;

// Which layouts a primitive is to have, if oneDNN has code for them.
enum class LayoutHint : std::uint8_t {
  kAny,              // what oneDNN chooses
  kBlocked,          // blocks of 16 channels
  kChannelsLastOut,  // an output with its channels last
  kRowMajorWeights,  // weights as they are
};
// Inputs: source, weights, [bias]. Channels are axis 1 of the source. Grouped weights have a leading axis of groups:
// (G, O/G, I/G, k...). `dilates` counts skipped elements (0 = dense), as oneDNN does.
struct ConvolutionSpec {
  static constexpr StepKind kKind{.name = "convolution", .chooses_layouts = true, .by_onednn = true};
  IntTuple strides, dilates, pads_begin, pads_end;
  LayoutHint layout_hint = LayoutHint::kAny;
  double Flops(const StepTypes& types) const;
};
// Several steps that one own kernel computes at once; what they are only the step's layer knows (layer_kernel.h).
struct FusedLayerSpec {
  static constexpr StepKind kKind{.name = "fused_layer"};
  const char* name;  // of the work, for people
};
// Weights of a layer in the form that an own kernel reads; own kernel. The result has the shape and dtype of the
// weights, and memory that only that kernel reads.
struct PackWeightsSpec {
  static constexpr StepKind kKind{.name = "pack_weights", .keeps_inputs = true};
  std::shared_ptr<const PackedWeights> packed;
  void Refine(const StepTypes& types, StepCost* cost) const;
};
// The fields are a convolution's. Weights are (O, I, k...) or (G, O/G, I/G, k...); padding is cut off the output.
struct DeconvolutionSpec {
  static constexpr StepKind kKind{.name = "deconvolution", .chooses_layouts = true, .by_onednn = true};
  IntTuple strides, dilates, pads_begin, pads_end;
  LayoutHint layout_hint = LayoutHint::kAny;
  double Flops(const StepTypes& types) const;
};
// What a convolution's weights have met: the gradient of its weights. Inputs: its source and the gradient of its
// result; the result has the shape of its weights.
struct WeightGradientSpec {
  static constexpr StepKind kKind{.name = "weight_gradient", .chooses_layouts = true};
  IntTuple strides, dilates, pads_begin, pads_end;  // of the convolution
  LayoutHint layout_hint = LayoutHint::kAny;
  double Flops(const StepTypes& types) const;
};
// Inputs: source (M, K), weights (N, K), [bias (N)].
struct InnerProductSpec {
  static constexpr StepKind kKind{.name = "inner_product", .chooses_layouts = true, .by_onednn = true};
  LayoutHint layout_hint = LayoutHint::kAny;
  double Flops(const StepTypes& types) const;
};
// Inputs: a (..., M, K), b (..., K, N), equal leading sizes. y = scale * a b.
struct MatMulSpec {
  static constexpr StepKind kKind{.name = "matmul", .chooses_layouts = true, .by_onednn = true};
  float scale = 1;
  double Flops(const StepTypes& types) const;
};
enum class PoolingKind { kMax, kAverageIncludePadding, kAverageExcludePadding };
struct PoolingSpec {
  static constexpr StepKind kKind{.name = "pooling", .by_onednn = true};
  PoolingKind kind = PoolingKind::kMax;
  IntTuple kernel, strides, pads_begin, pads_end;
};
// The gradient of a pooling's source; own kernel. Inputs: the gradient of its result and, of the largest elements,
// source and result: the first of several largest ones gets all. Windows end with the padding, `pads` on both sides.
struct PoolingGradientSpec {
  static constexpr StepKind kKind{.name = "pooling_gradient"};
  PoolingKind kind = PoolingKind::kMax;
  IntTuple kernel, strides, pads;
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
struct EltwiseSpec {
  static constexpr StepKind kKind{.name = "eltwise", .by_onednn = true};
  EltwiseKind kind = EltwiseKind::kRelu;
  float alpha = 0;
  float beta = 0;
};
enum class BinaryKind { kAdd, kSub, kMul, kDiv, kMax, kMin };
// y = a op b; sizes of 1 in b are broadcast to those of a.
struct BinarySpec {
  static constexpr StepKind kKind{.name = "binary", .by_onednn = true};
  BinaryKind kind = BinaryKind::kAdd;
};
// Inputs: source, scale, shift (float32, C); channels are axis 1. y = scale * x + shift, clipped to [low, high].
struct ScaleShiftSpec {
  static constexpr StepKind kKind{.name = "scale_shift"};
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
// What a batch norm in training needs to know of each channel (axis 1); own kernel. All numbers of channels are
// float32.
enum class ChannelSums {
  kSum,         // of the source
  kStatistics,  // source, gamma, beta -> mean, 1 / deviation, variance, scale and shift of the normalised result
  // Gradient g of the result, source x, gamma, mean, 1 / deviation -> gradients of gamma and beta, and a, b, c of the
  // source's gradient a g + b x + c.
  kGradient,
};
struct ChannelSumsSpec {
  static constexpr StepKind kKind{.name = "channel_sums"};
  ChannelSums kind = ChannelSums::kSum;
  float epsilon = 0;  // of kStatistics: added to the variance
};
struct ConcatSpec {
  static constexpr StepKind kKind{.name = "concat"};
  int axis = 0;
};
struct SoftmaxSpec {
  static constexpr StepKind kKind{.name = "softmax", .by_onednn = true};
  int axis = 0;
  bool logarithm = false;
};
// Inputs: source, and where it is scaled scale and shift (float32, size of the last axis, over which the source is
// normalised).
struct LayerNormSpec {
  static constexpr StepKind kKind{.name = "layer_norm", .by_onednn = true};
  float epsilon = 0;
  bool is_scaled = true;
};
enum class Masking { kNone, kLength, kMask };
// y = softmax(scale * queries keys^T) values for each of B batches and H heads; own kernel. Inputs: queries (B, H, M,
// D), keys (B, H, N, D) and values (B, H, N, E), giving (B, H, M, E); or `interleaved`, one tensor (L, B, H, 3, D) of
// all three, giving (L, B, H, D). Then lengths (B, H, M) int32, how many keys a query sees, or a mask (B, H, M, N)
// bool, whose first three axes may have size 1: keys where it is false are not seen. Where it is causal, query i sees
// keys up to i + row_offset. A second output, where there is one, is the log-sum-exp of a query's scores (B, H, M),
// float32.
struct AttentionSpec {
  static constexpr StepKind kKind{.name = "attention"};
  bool interleaved = false;
  float scale = 1;
  Masking masking = Masking::kNone;
  bool causal = false;
  std::int64_t row_offset = 0;
  double Flops(const StepTypes& types) const;
};
using kernels::RecurrentCell;
// Layers of recurrent cells over T steps of B sequences, in float32; own kernel. Inputs: data (T, B, I), parameters in
// the kernel's panels, states (layers * directions, B, H), for LSTM those of the cell, [lengths (B), int64]. Outputs:
// (T, B, directions * H), [last states, for LSTM those of the cell].
struct RecurrenceSpec {
  static constexpr StepKind kKind{.name = "recurrence"};
  RecurrentCell cell = RecurrentCell::kTanh;
  bool bidirectional = false;
  bool has_lengths = false;
  // Bounds of an LSTM's cell state.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  bool nan_becomes_low = false;
  double Flops(const StepTypes& types) const;
};
enum class ReductionKind { kSum, kMean };
// Over the axes along which the output has size 1 and the source has not.
struct ReductionSpec {
  static constexpr StepKind kKind{.name = "reduction"};
  ReductionKind kind = ReductionKind::kSum;
};
// Repeats elements along the spatial axes; the sizes are those of the types.
struct NearestResampleSpec {
  static constexpr StepKind kKind{.name = "resample"};
};
// Inputs: source, slope that broadcasts to it.
struct PReluSpec {
  static constexpr StepKind kKind{.name = "prelu"};
};
// The elements in another dtype; own kernel.
struct CastSpec {
  static constexpr StepKind kKind{.name = "cast"};
  bool is_of_program = false;  // what it reads and writes has the values of its dtype, see Value::is_exact
  bool stays_finite = false;   // to float16: finite numbers that are too large become the largest one
};
// The elements in row-major order under another shape; no work where the layout is row-major.
struct ReshapeSpec {
  static constexpr StepKind kKind{.name = "reshape", .is_view = true};
};
// Axis i of the output is axis `axes[i]` of the input; costs nothing, only the layout changes.
struct PermuteSpec {
  static constexpr StepKind kKind{.name = "permute", .is_view = true};
  std::vector<int> axes;
};
// The input between borders of `before` and `after` positions along each axis; own kernel.
struct PadSpec {
  static constexpr StepKind kKind{.name = "pad"};
  kernels::PadMode mode = kernels::PadMode::kConstant;
  IntTuple before, after;
  std::uint64_t constant = 0;  // the bytes of an element
};
// The box of the input that begins at `begins` and has the output's sizes, in dense memory.
struct SliceSpec {
  static constexpr StepKind kKind{.name = "slice"};
  IntTuple begins;
};
// The elements in another layout of memory. Only layout assignment makes these.
struct ReorderSpec {
  static constexpr StepKind kKind{.name = "reorder"};
};
// A reference kernel on row-major arrays.
struct CallSpec {
  static constexpr StepKind kKind{.name = "call"};
  std::function<void(std::span<const NDArray> inputs, std::span<NDArray> outputs)> function;
  std::string op = {};  // the operator's name
};
// Elementwise work in float32; own kernel. Inputs have the output's rank, and sizes of 1 where they are broadcast. The
// registers of the first `steps` are the inputs.
struct MapSpec {
  static constexpr StepKind kKind{.name = "map"};
  std::vector<kernels::MapStep> steps;
};
// An own kernel on row-major arrays. It uses the threads of the scope and allocates nothing.
struct KernelSpec {
  static constexpr StepKind kKind{.name = "kernel"};
  std::string name;  // what it does, such as "gather"
  std::function<void(const KernelOperands& operands)> run;
  std::size_t scratch_bytes = 0;
  std::optional<std::size_t> bytes_read = {};  // where it does not read all of its inputs
  double flops = 0;                            // of sums of products
  std::string references = {};                 // which of its work is done by reference code, for people
  double Flops(const StepTypes&) const { return flops; }
};

using StepSpec = std::variant<ConvolutionSpec, FusedLayerSpec, PackWeightsSpec, DeconvolutionSpec, WeightGradientSpec,
                              InnerProductSpec, MatMulSpec, PoolingSpec, PoolingGradientSpec, EltwiseSpec, BinarySpec,
                              ScaleShiftSpec, ChannelSumsSpec, ConcatSpec, SoftmaxSpec, LayerNormSpec, AttentionSpec,
                              RecurrenceSpec, ReductionSpec, NearestResampleSpec, PReluSpec, CastSpec, ReshapeSpec,
                              PermuteSpec, PadSpec, SliceSpec, ReorderSpec, CallSpec, MapSpec, KernelSpec>;

// The kind of step that a spec describes.
inline const StepKind& KindOf(const StepSpec& spec) {
  return std::visit([](const auto& of_kind) -> const StepKind& { return of_kind.kKind; }, spec);
}

// What people call the step: the name of its kind or kernel.
const char* NameOf(const StepSpec& spec);

// y = x + operand, where the primitive adds to what its destination holds already: the operand's memory becomes the
// output's.
struct SumSpec {};

// What a primitive does in float32 with its result before it writes it. The operand, where there is one, is an input of
// the step; those of BinarySpec and PReluSpec have sizes of 1 where they broadcast.
struct PostOp {
  std::variant<EltwiseSpec, BinarySpec, PReluSpec, SumSpec> spec;
  std::size_t operand = 0;  // its place among the step's inputs; unused by EltwiseSpec
};

struct Step {
  StepSpec spec;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  NodeId node = 0;                      // the graph node that it is part of
  std::string reason;                   // why it exists, where that is not obvious
  bool depends_on_input_shape = false;  // other input shapes make another result of the same constants
  std::vector<PostOp> post_ops = {};
  std::vector<NodeId> fused = {};          // the nodes that its post-ops, a wider input or a narrower output stand for
  std::optional<LayerChoice> choice = {};  // where several kernels can compute it and someone chose
  bool is_backward = false;                // of a program in two halves: runs in the second one
  // It may not lose denormals (passes/alternate.h). kF32: nothing of it is bfloat16 arithmetic, and casts round.
  std::optional<AlternateMode> alternate = {};

  // The layer of the chosen own kernel; null: the step is computed as its spec says.
  const Layer* layer() const { return choice ? choice->layer.get() : nullptr; }
};

enum class ValueSource : std::uint8_t { kInput, kConstant, kComputed };

struct Value {
  TensorType type;
  // Unique in the program, and the same whenever the same graph is lowered: the key of constants.
  std::string name;
  ValueSource source = ValueSource::kComputed;
  // In low precision, and the program casts to it or from it (passes/whose_cast.h): whoever computes what reads it,
  // too, without writing it, rounds it to its dtype nevertheless.
  bool is_exact = false;
};

struct Program {
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<ValueId> inputs;   // variables that callers supply, in graph order
  std::vector<ValueId> outputs;  // one per output of the graph

  ValueId AddValue(TensorType type, std::string name, ValueSource source);
  StepTypes TypesOf(const Step& step) const;
  // What such a step reads and writes is exact.
  void MarkCast(const CastSpec& spec, ValueId from, ValueId to);
};

}  // namespace amp
