#include "kernels/image_convolution.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "kernels/image_convolution_code.h"

namespace amp::kernels {
namespace {

struct MultiplyAdd {
  static __m256 Of(__m256 x, __m256 y, __m256 z) { return _mm256_fmadd_ps(x, y, z); }
};

}  // namespace

const ImageConvolutionTable* ImageConvolutionAvx2() {
  return &ImageConvolutionCode<Isa::kAvx2, 8, 6, 1, MultiplyAdd>::kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ImageConvolutionTable* ImageConvolutionAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
