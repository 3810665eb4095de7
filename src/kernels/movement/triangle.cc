#include "kernels/movement/triangle.h"

#include <algorithm>
#include <cstring>

#include "kernels/threads/parallel.h"

namespace amp::kernels {

void Triangle::Run(const void* x, void* y) const {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  ParallelFor(matrices * rows, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, columns * bytes)),
              [&](std::int64_t i) {
                const std::int64_t row = i % rows;
                const char* from = static_cast<const char*>(x) + (i / rows * rows + row) * row_stride * bytes;
                char* to = static_cast<char*>(y) + i * columns * bytes;
                const std::int64_t border = std::clamp<std::int64_t>(row + diagonal + (lower ? 1 : 0), 0, columns);
                const std::int64_t begin = lower ? 0 : border, end = lower ? border : columns;
                std::memset(to, 0, static_cast<std::size_t>(begin * bytes));
                std::memcpy(to + begin * bytes, from + begin * bytes, static_cast<std::size_t>((end - begin) * bytes));
                std::memset(to + end * bytes, 0, static_cast<std::size_t>((columns - end) * bytes));
              });
}

}  // namespace amp::kernels
