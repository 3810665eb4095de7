// The ProductVectors of the target.
#pragma once

#include "kernels/base/target.h"

#if defined(__AVX512BF16__) && AMP_COMPUTES_BF16
#include "kernels/base/product_vectors_avx512bf16.h"
#else
#include "kernels/base/product_vectors.h"
#endif
