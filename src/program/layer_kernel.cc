#include "program/layer_kernel.h"

#include "nnvm/error.h"
#include "program/kernel_chooser.h"

namespace amp {
namespace {

std::map<std::string, LayerKernel>& Registered() {
  static std::map<std::string, LayerKernel> kernels;
  return kernels;
}

// Source and weights.
bool ReadsBF16(const StepTypes& types) {
  return types.inputs[0].dtype == DType::kBFloat16 && types.inputs[1].dtype == DType::kBFloat16;
}

}  // namespace

const char* LayerChoice::name() const { return kernel == nullptr ? kOneDnnKernel : kernel->name; }

bool LayerSite::IsChannelsLast() const {
  if (machine.onednn_is_channels_last) return true;
  return !machine.onednn_has_bf16 && types().inputs[0].dtype == DType::kBFloat16;  // only own kernels read it
}

std::int64_t LayerSite::ChannelBlock() const {
  if (!IsChannelsLast()) return machine.onednn_channel_block;
  const StepTypes types_of_step = types();
  const bool by_tiles = machine.has_tiles && IsLowPrecision(types_of_step.inputs[1].dtype);
  const bool by_onednn = machine.onednn_has_bf16 || types_of_step.inputs[0].dtype != DType::kBFloat16;
  return in_blocks && !by_tiles && by_onednn ? machine.onednn_channel_block : 0;
}

bool LayerSite::Multiplies(DType dtype, const StepTypes& types) const {
  if (dtype == DType::kBFloat16) return machine.has_bf16 && ReadsBF16(types);
  return dtype != DType::kInt16 || (machine.has_int16 && ReadsBF16(types));
}

bool RegisterLayerKernels(std::initializer_list<LayerKernel> kernels) {
  for (const LayerKernel& kernel : kernels) {
    if (!Registered().emplace(kernel.name, kernel).second)
      Throw<InternalError>("layer kernel '{}' is registered twice", kernel.name);
  }
  return true;
}

const std::map<std::string, LayerKernel>& LayerKernels() { return Registered(); }

}  // namespace amp
