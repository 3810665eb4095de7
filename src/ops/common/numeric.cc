#include "ops/common/numeric.h"

#include <cstring>

namespace amp {

NDArray Transposed(const NDArray& in, const std::vector<int>& axes) {
  const int rank = in.shape().rank();
  std::vector<std::int64_t> dims, strides;
  for (const int axis : axes) {
    dims.push_back(in.shape()[axis]);
    strides.push_back(in.shape().SizeOf(axis + 1, rank));
  }
  NDArray out(in.dtype(), Shape(dims));
  const std::size_t bytes = static_cast<std::size_t>(BytesOf(in.dtype()));
  std::vector<std::int64_t> index(axes.size(), 0);
  for (std::int64_t i = 0; i < in.size(); ++i) {
    std::int64_t source = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) source += index[a] * strides[a];
    std::memcpy(out.As<char>() + i * bytes, in.As<char>() + source * bytes, bytes);
    for (std::size_t a = axes.size(); a-- > 0 && ++index[a] == dims[a];) index[a] = 0;
  }
  return out;
}

void CopyElements(const NDArray& from, NDArray& to) {
  if (from.bytes() != 0) std::memcpy(to.data(), from.data(), from.bytes());
}

}  // namespace amp
