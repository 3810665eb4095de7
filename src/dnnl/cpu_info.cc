#include "dnnl/cpu_info.h"

#include <fmt/format.h>

#include <dnnl.hpp>

#include "kernels/pointwise.h"
#include "kernels/winograd.h"
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

MachineCapabilities CapabilitiesOfThisCpu() {
  return {.has_bf16 = kernels::HasPointwise(kernels::Multiplies::kBFloat16),
          .has_int16 = kernels::HasWinograd(kernels::WinogradKind::kF4x4Int16),
          .has_tiles = kernels::HasWinograd(kernels::WinogradKind::kF1x4BF16),
          .onednn_has_bf16 = OneDnnHasBF16(),
          .onednn_is_channels_last = OneDnnHasAvx512()};
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

}  // namespace amp
