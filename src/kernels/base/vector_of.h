// The compiler's vectors.
#pragma once

namespace amp::kernels {

// kLanes numbers side by side.
template <class T, int kLanes>
struct VectorOf {
  using Type [[gnu::vector_size(kLanes * sizeof(T))]] = T;
};

}  // namespace amp::kernels
