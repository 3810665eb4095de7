#include "kernels/depthwise/fused_depthwise.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)

#include "kernels/base/int16_vectors_avx512.h"
#include "kernels/depthwise/fused_depthwise_int16_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr FusedDepthwiseTable kTable = {Isa::kAvx512,
                                        {nullptr, nullptr, FusedDepthwiseCode<Int16Blocks<Int16Vectors>>::Run}};

}  // namespace

const FusedDepthwiseTable* FusedDepthwiseTableAvx512VNNI() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const FusedDepthwiseTable* FusedDepthwiseTableAvx512VNNI() { return nullptr; }

}  // namespace amp::kernels

#endif
