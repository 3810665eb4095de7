// targets: generic avx2 avx512 avx512bf16
#include "kernels/base/product_vectors.h"
#include "kernels/gemm/image_convolution_code.h"

namespace amp::kernels {
namespace {

constexpr ImageConvolutionTable ImageConvolutionTableOfTarget() {
  constexpr auto kRun = ImageConvolutionCode<ProductVectors>::Run;
  return AMP_COMPUTES_BF16 ? ImageConvolutionTable{kIsa, {nullptr, kRun}}
                           : ImageConvolutionTable{kIsa, {kRun, nullptr}};
}

}  // namespace

AMP_KERNEL_TABLE(ImageConvolutionTable, ImageConvolutionTableOfTarget())

}  // namespace amp::kernels
