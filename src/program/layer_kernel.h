// Own kernels that compute a layer in place of oneDNN. Each is one object, which a file of layer_kernels/
// registers. Generic code asks the objects and names no kernel.
//
// A new kernel is a file there: a Layer, which knows one layer as the kernel computes it, and a LayerKernel with the
// function that makes it. `amp calibrate` measures it, tune=True times it, and plans, records and machine files call it
// by its name.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/machine_capabilities.h"
#include "program/own_kernel.h"
#include "program/step.h"

namespace amp {

// A step that a kernel may compute, with what is around it.
struct LayerSite {
  const Program& program;
  const std::vector<bool>& constant;  // by value: it is computed once, whatever the shapes of the inputs are
  const MachineCapabilities& machine;
  const Step& step;
  // The step that makes the first input, which nothing else reads, and the step before that one; as many as there are.
  std::vector<const Step*> producers = {};
  bool in_blocks = false;  // oneDNN's convolutions around it have hints to read and write blocks of channels

  StepTypes TypesOf(const Step& of) const { return program.TypesOf(of); }
  StepTypes types() const { return TypesOf(step); }
  bool HasConstantWeights() const { return HasConstantWeights(step); }
  bool HasConstantWeights(const Step& of) const { return of.inputs.size() > 1 && constant[of.inputs[1]]; }
  // Whether what is around the step can have its channels last.
  bool IsChannelsLast() const;
  // How many channels lie side by side around the step; 0: channels last.
  std::int64_t ChannelBlock() const;
  // Whether kernels on the machine multiply the dtype, and a layer of such types may be multiplied so.
  bool Multiplies(DType dtype, const StepTypes& types) const;
};

// A tensor in memory.
struct StridedTensor {
  TensorType type;
  IntTuple strides;                // in elements, by axis; of blocked channels from one block to the next
  std::int64_t channel_block = 0;  // so many elements of axis 1 lie side by side; 0: it is an axis like others

  bool is_bf16() const { return type.dtype == DType::kBFloat16; }
};

enum class OperandLayout : std::uint8_t { kRowMajor, kChannelsLast, kBlocksOf8, kBlocksOf16, kPacked };

// Weights in the form that a kernel reads.
struct PackedWeights {
  std::string key;  // weights of one name and key are packed once
  std::size_t bytes = 0;
  std::function<void(const float* weights, void* packed)> pack;
};

// Operands in memory; nullopt where that is no strided tensor.
struct LayerOperands {
  std::vector<std::optional<StridedTensor>> inputs;
  StridedTensor result;
};

// A layer, as a kernel computes it. Immutable.
class Layer {
 public:
  virtual ~Layer() = default;

  // Refines a cost that has the bytes of all operands: operations, the dtype that is multiplied, packed weights.
  virtual void Price(StepCost* cost) const = 0;
  // Where the layer lies among the measured ones of its kernel: logarithms (base 2) of sizes.
  virtual std::vector<float> Features() const = 0;

  // Whether an input can be read where it lies. Otherwise it is brought into LayoutOfInput.
  virtual bool Reads(std::size_t input, const StridedTensor& tensor) const = 0;
  virtual OperandLayout LayoutOfInput(std::size_t input) const = 0;
  // Whether the result can be written so. It is asked for in LayoutOfResult.
  virtual bool Writes(const StridedTensor& result) const = 0;
  virtual OperandLayout LayoutOfResult() const = 0;
  // The packing of an input whose layout is kPacked.
  virtual PackedWeights Pack(std::size_t input) const = 0;
  // A kernel for operands that are as the layer asked for. Threads are those of the scope.
  virtual std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const = 0;
};

struct LayerMatch {
  Step step;  // that is computed instead of the site's step and the producers that the kernel takes
  std::shared_ptr<const Layer> layer;
};

// Predictions err: a smaller gain may be a loss.
inline constexpr double kMaxTimeRatio = 0.92;

struct LayerKernel {
  const char* name;
  // The layer of a site; nullopt where the kernel cannot compute it, or loses accuracy. The only place that says no:
  // what it accepts is laid out, packed and run.
  std::optional<LayerMatch> (*match)(const LayerSite& site);
  // While the kernel is not measured on the machine, it has to take less than this part of oneDNN's time.
  double max_time_ratio;
  // How many producers it computes, too: the one that makes the first input, and so on. They are removed.
  std::size_t fused_producers = 0;
  // It has no formula that holds on every machine: without samples nothing is predicted.
  bool needs_samples = false;
  // Where one computes a layer, oneDNN's convolutions keep channels last.
  bool keeps_channels_last = false;
  const char* samples = nullptr;   // of which kernel times are measured; null: of this one
  const char* fallback = nullptr;  // whose samples stand in where there are none

  const char* samples_name() const { return samples == nullptr ? name : samples; }
};

// More producers than any kernel takes.
inline constexpr std::size_t kMaxTakenSteps = 2;

// For a static variable: [[maybe_unused]] const bool kFoo = RegisterLayerKernels({...}).
bool RegisterLayerKernels(std::initializer_list<LayerKernel> kernels);

// All of them, by name; of equally fast ones the first is taken.
const std::map<std::string, LayerKernel>& LayerKernels();

}  // namespace amp
