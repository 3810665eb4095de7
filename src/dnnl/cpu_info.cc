#include "dnnl/cpu_info.h"

#include <fmt/format.h>

#include <dnnl.hpp>

#include "dnnl/engine.h"
#include "dnnl/memory_desc.h"
#include "kernels/base/cpu.h"
#include "kernels/gemm/gemm.h"
#include "kernels/winograd/winograd.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "program/machine_capabilities.h"

namespace amp {

namespace {

// The values are bit sets: an ISA contains those that it extends.
bool IsaContains(dnnl::cpu_isa part) {
  const auto bits = static_cast<unsigned>(part);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

}  // namespace

bool OneDnnHasBF16() { return IsaContains(dnnl::cpu_isa::avx512_core_bf16); }
bool OneDnnHasAmx() { return IsaContains(dnnl::cpu_isa::avx512_core_amx); }
bool OneDnnHasAvx512() { return IsaContains(dnnl::cpu_isa::avx512_core); }

namespace {

// Asked of a usual convolution: oneDNN's code for AVX-512 and, since 3.2, for AVX2 has channels last.
bool AskForChannelsLast() {
  using Dims = dnnl::memory::dims;
  const auto any = [](const Dims& dims) {
    return onednn::Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  };
  const dnnl::convolution_forward::primitive_desc pd(onednn::CpuEngine(), dnnl::prop_kind::forward_inference,
                                                     dnnl::algorithm::convolution_direct, any({1, 64, 14, 14}),
                                                     any({64, 64, 3, 3}), any({1, 64, 14, 14}), Dims{1, 1}, Dims{1, 1},
                                                     Dims{1, 1}, onednn::PlainAttributes());
  const onednn::Desc result = pd.dst_desc();
  return result.get_inner_nblks() == 0 && result.get_strides()[1] == 1;
}

}  // namespace

bool OneDnnIsChannelsLast() {
  static const bool kIs = AskForChannelsLast();
  return kIs;
}

MachineCapabilities CapabilitiesOfThisCpu() {
  return {.has_bf16 = kernels::HasGemm(kernels::ComputeType::kBFloat16),
          .has_int16 = kernels::HasWinograd(kernels::WinogradKind::kF4x4Int16),
          .has_tiles = kernels::HasWinograd(kernels::WinogradKind::kF1x4BF16),
          .onednn_has_bf16 = OneDnnHasBF16(),
          .onednn_is_channels_last = OneDnnIsChannelsLast(),
          .onednn_channel_block = OneDnnHasAvx512() ? kWideChannelBlock : kNarrowChannelBlock,
          .winograd_knows_narrow_blocks = kernels::WinogradKnowsBlocksOf8(kernels::WinogradKind::kF4x4),
          .cache_bytes = kernels::SecondLevelCacheBytes()};
}

std::string CpuIsaName() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
    default:
      return "isa_default";
  }
}

std::string OneDnnVersion() {
  const auto* version = dnnl::version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::string NoteOfIgnoredVariables() {
  for (const char* name : {"ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"}) {
    const std::string value = EnvValue(name, "");
    if (value.empty() || value == "STRICT" || value == "strict") continue;
    return fmt::format("{}={} has no effect: float32 is computed as float32 (convert the model to compute otherwise)",
                       name, Quotable(value));
  }
  return "";
}

}  // namespace amp
