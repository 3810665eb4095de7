// The TileVectors of the target.
#pragma once

#if defined(__AVX512F__)
#include "kernels/base/tile_vectors_avx512.h"
#elif defined(__AVX2__)
#include "kernels/base/tile_vectors_avx2.h"
#else
#include "kernels/base/tile_vectors_generic.h"
#endif

namespace amp::kernels {
namespace {

// The vectors with tiles of float32.
#if defined(__AVX512F__)
using FloatTileVectors = SingleTileVectors;
#else
using FloatTileVectors = TileVectors;
#endif

}  // namespace
}  // namespace amp::kernels
