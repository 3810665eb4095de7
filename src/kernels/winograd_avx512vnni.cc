#include "kernels/winograd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)

#include "kernels/int16_vectors_avx512.h"
#include "kernels/winograd_code.h"
#include "kernels/winograd_int16_code.h"
#include "kernels/winograd_weights_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Integers = WinogradInt16<Int16Vectors>;

constexpr WinogradTable kTable = {
    Isa::kAvx512,
    {nullptr, nullptr, WinogradCode<Integers, 4, 4>::Run, WinogradCode<Integers, 4, 2>::Run,
     WinogradCode<Integers, 2, 2>::Run},
    {nullptr, nullptr, WinogradWeightsCode<Integers, 4, 4>::Pack, WinogradWeightsCode<Integers, 4, 2>::Pack,
     WinogradWeightsCode<Integers, 2, 2>::Pack},
    TileVectors::kRows};

}  // namespace

const WinogradTable* WinogradTableAvx512VNNI() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTableAvx512VNNI() { return nullptr; }

}  // namespace amp::kernels

#endif
