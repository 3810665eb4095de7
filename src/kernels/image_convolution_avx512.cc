#include "kernels/image_convolution.h"

#ifdef __AVX512F__

#include <immintrin.h>

#include "kernels/image_convolution_code.h"

namespace amp::kernels {
namespace {

struct MultiplyAdd {
  static __m512 Of(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
};

}  // namespace

const ImageConvolutionTable* ImageConvolutionAvx512() {
  return &ImageConvolutionCode<Isa::kAvx512, 16, 14, 2, MultiplyAdd>::kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ImageConvolutionTable* ImageConvolutionAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
