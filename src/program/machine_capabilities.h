// What a machine computes with. Plans for this CPU and predictions for a machine file ask the same questions.
#pragma once

#include <cstdint>

namespace amp {

// The blocks of oneDNN's layouts with and without AVX-512: as many channels as a vector register holds floats.
inline constexpr std::int64_t kWideChannelBlock = 16, kNarrowChannelBlock = 8;

// Made by CapabilitiesOfThisCpu (dnnl/cpu_info.h) and by MachineTable, which reads them from a machine file.
struct MachineCapabilities {
  bool has_bf16 = false;                                    // own kernels multiply bfloat16
  bool has_int16 = false;                                   // own kernels multiply int16
  bool has_tiles = false;                                   // own kernels multiply bfloat16 by tile registers
  bool onednn_has_bf16 = false;                             // else it computes in float32 between casts
  bool onednn_is_channels_last = false;                     // its convolutions of images read and write channels last
  std::int64_t onednn_channel_block = kNarrowChannelBlock;  // those that do not: so many channels side by side
  bool winograd_knows_narrow_blocks = true;                 // blocks of kNarrowChannelBlock; vectors of 16 do not
  std::int64_t cache_bytes = 1 << 20;                       // second level, of a core; machine files do not tell it

  // Whether layers between tensors in bfloat16 gain from that: by oneDNN, or by own kernels.
  bool ComputesBF16() const { return onednn_has_bf16 || has_int16; }
};

}  // namespace amp
