// The Int16Vectors of the target, where it multiplies int16.
#pragma once

#include "kernels/base/target.h"

#if defined(__AVX512VNNI__)
#include "kernels/base/int16_vectors_avx512.h"
#elif defined(__AVX2__) && AMP_COMPUTES_INT16
#include "kernels/base/int16_vectors_avx2.h"
#endif
