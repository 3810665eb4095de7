#include "kernels/image_convolution.h"
#include "kernels/image_convolution_code.h"
#include "kernels/product_vectors_generic.h"

namespace amp::kernels {
namespace {

constexpr ImageConvolutionTable kTable = {Isa::kGeneric, {ImageConvolutionCode<ProductVectors>::Run, nullptr}};

}  // namespace

const ImageConvolutionTable* ImageConvolutionTableGeneric() { return &kTable; }

}  // namespace amp::kernels
