#include "kernels/image_convolution_code.h"

namespace amp::kernels {
namespace {

struct MultiplyAdd {
  template <class V>
  static V Of(V x, V y, V z) {
    return x * y + z;
  }
};

}  // namespace

const ImageConvolutionTable* ImageConvolutionGeneric() {
  return &ImageConvolutionCode<Isa::kGeneric, 4, 2, 1, MultiplyAdd>::kTable;
}

}  // namespace amp::kernels
