// The ProductVectors of the target.
#pragma once

#include "kernels/base/target.h"

#if defined(__AVX512BF16__) && AMP_COMPUTES_BF16
#include "kernels/base/product_vectors_avx512bf16.h"
#elif defined(__AVX512F__)
#include "kernels/base/product_vectors_avx512.h"
#elif defined(__AVX2__)
#include "kernels/base/product_vectors_avx2.h"
#else
#include "kernels/base/product_vectors_generic.h"
#endif
