#include "kernels/base/product_vectors.h"
#include "kernels/gemm/image_convolution.h"
#include "kernels/gemm/image_convolution_code.h"

namespace amp::kernels {
namespace {

constexpr ImageConvolutionTable kTable = {Isa::kGeneric, {ImageConvolutionCode<ProductVectors>::Run, nullptr}};

}  // namespace

const ImageConvolutionTable* ImageConvolutionTableGeneric() { return &kTable; }

}  // namespace amp::kernels
