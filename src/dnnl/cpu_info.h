// What oneDNN makes of the CPU.
#pragma once

#include <string>

namespace amp {

struct MachineCapabilities;

// Whether oneDNN computes bfloat16 in hardware here (AVX-512 BF16 or AMX). ONEDNN_MAX_CPU_ISA has a say in this;
// compare kernels::CpuHasBF16, which asks the CPU alone.
bool OneDnnHasBF16();
// Whether it computes bfloat16 in tiles (AMX).
bool OneDnnHasAmx();
// Whether its vectors are 512 bits wide.
bool OneDnnHasAvx512();
// Whether its convolutions of images read and write channels last by default.
bool OneDnnIsChannelsLast();

// The capabilities of own kernels and of oneDNN, with the limits that the environment sets for each.
MachineCapabilities CapabilitiesOfThisCpu();

// "avx512_core_bf16" and so on: the instruction set that oneDNN uses, as it names it.
std::string CpuIsaName();
std::string OneDnnVersion();
// A sentence for the user where ONEDNN_DEFAULT_FPMATH_MODE asks for something else, else "".
std::string NoteOfIgnoredVariables();

}  // namespace amp
