#include "ops/common/regions.h"

#include <algorithm>

#include <algorithm>

namespace amp {

void CheckPooledSize(const IntTuple& size) {
  constexpr std::int64_t kMaxBins = 1 << 12;
  const bool fits =
      size.size() == 2 && std::all_of(size.begin(), size.end(), [](auto n) { return n > 0 && n <= kMaxBins; });
  if (!fits) Throw<GraphError>("attribute pooled_size: expected (height, width) above 0 and at most {}", kMaxBins);
}

void InferRegionDTypes(DTypeRelation& r) {
  r.Same({0}, {0});
  r.InIsFloat(0);
  if (!IsKnown(r.in(1))) r.In(1, r.in(0));
  r.InIsFloat(1);
}

void InferRegionGradient(ShapeRelation& r, void (*forward)(ShapeRelation&)) {
  r.In(1, r.out(0));
  r.Out(0, r.in(1));
  std::vector<Shape> in{r.in(1), r.in(2)}, out(1);
  ShapeRelation relation(r.node(), in, out);
  forward(relation);
  r.In(0, out[0]);
  r.In(2, in[1]);
}

void InferRegionGradientDTypes(DTypeRelation& r) {
  r.Same({0, 1}, {0});
  r.InIsFloat(0);
  if (!IsKnown(r.in(2))) r.In(2, r.in(0));
}

float SampleOfMap(const float* image, std::int64_t height, std::int64_t width, float y, float x) {
  if (!(y >= -1 && y <= static_cast<float>(height) && x >= -1 && x <= static_cast<float>(width))) return 0;
  y = std::clamp(y, 0.f, static_cast<float>(height - 1));
  x = std::clamp(x, 0.f, static_cast<float>(width - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const float down = y - static_cast<float>(top), across = x - static_cast<float>(left);
  return (1 - down) * ((1 - across) * image[top * width + left] + across * image[top * width + right]) +
         down * ((1 - across) * image[bottom * width + left] + across * image[bottom * width + right]);
}

}  // namespace amp
