#include "kernels/gemm/image_convolution.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/base/product_vectors.h"
#include "kernels/gemm/image_convolution_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr ImageConvolutionTable kTable = {Isa::kAvx512, {ImageConvolutionCode<ProductVectors>::Run, nullptr}};

}  // namespace

const ImageConvolutionTable* ImageConvolutionTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ImageConvolutionTable* ImageConvolutionTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
