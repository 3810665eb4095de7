#include "kernels/vision/deformable_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using testing::NormalFloats;
using Random = std::mt19937;

float SampleAt(const float* plane, const std::array<std::int64_t, 2>& size, float y, float x, bool zeros_outside) {
  const float low = zeros_outside ? -1.f : 0.f;
  if (!(y >= low && x >= low && y < static_cast<float>(size[0]) && x < static_cast<float>(size[1]))) return 0;
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const auto element = [&](std::int64_t r, std::int64_t c) {
    if (!zeros_outside) return plane[std::min(r, size[0] - 1) * size[1] + std::min(c, size[1] - 1)];
    return r >= 0 && c >= 0 && r < size[0] && c < size[1] ? plane[r * size[1] + c] : 0;
  };
  const float down = y - static_cast<float>(top), across = x - static_cast<float>(left);
  return (1 - down) * ((1 - across) * element(top, left) + across * element(top, left + 1)) +
         down * ((1 - across) * element(top + 1, left) + across * element(top + 1, left + 1));
}

DeformableColumns DrawColumns(Random& random) {
  const auto upto = [&](int most) { return static_cast<std::int64_t>(1 + random() % most); };
  DeformableColumns work;
  work.groups = upto(3);
  work.offset_groups = upto(3);
  work.images = upto(2);
  work.channels = 6 * upto(random() % 4 == 0 ? 20 : 3);
  for (std::size_t i = 0; i < 2; ++i) {
    work.size[i] = upto(8);
    work.out_size[i] = upto(5);
    work.kernel[i] = upto(3);
    work.stride[i] = upto(2);
    work.dilate[i] = upto(2);
    work.pad[i] = upto(3) - 1;
  }
  work.zeros_outside = random() % 2 == 0;
  return work;
}

// Samples by (image, row, column, channel, element of the window), where the kernel writes them.
std::vector<float> SampleSlowly(const DeformableColumns& work, const float* x, const float* offsets,
                                const float* mask) {
  const std::int64_t window = work.kernel[0] * work.kernel[1], plane = work.out_size[0] * work.out_size[1];
  const std::int64_t per_group = work.channels / work.groups, per_offset = work.channels / work.offset_groups;
  std::vector<float> columns(static_cast<std::size_t>(work.images * plane * window * work.channels));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(columns.size()); ++i) {
    const std::int64_t k = i % window, c = i / window % work.channels, position = i / (window * work.channels) % plane;
    const std::int64_t image = i / (window * work.channels * plane);
    const std::int64_t sample = (image * work.offset_groups + c / per_offset) * window + k;
    const auto place = [&](std::size_t axis, std::int64_t at, std::int64_t element) {
      return static_cast<float>(at * work.stride[axis] + element * work.dilate[axis] - work.pad[axis]) +
             offsets[(2 * sample + static_cast<std::int64_t>(axis)) * plane + position];
    };
    const float value = SampleAt(x + (image * work.channels + c) * work.size[0] * work.size[1], work.size,
                                 place(0, position / work.out_size[1], k / work.kernel[1]),
                                 place(1, position % work.out_size[1], k % work.kernel[1]), work.zeros_outside);
    const std::int64_t row = (image * plane + position) * work.groups + c / per_group;
    columns[(row * window + k) * per_group + c % per_group] =
        value * (mask == nullptr ? 1 : mask[sample * plane + position]);
  }
  return columns;
}

TEST(DeformableColumns, SamplesAreThoseOfAnObviousLoop) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const DeformableColumns work = DrawColumns(random);
    const std::int64_t samples =
        work.images * work.offset_groups * work.kernel[0] * work.kernel[1] * work.out_size[0] * work.out_size[1];
    const Guarded<float> x(NormalFloats(random, work.images * work.channels * work.size[0] * work.size[1], 1));
    const Guarded<float> offsets(NormalFloats(random, 2 * samples, 2)), mask(NormalFloats(random, samples, 1));
    offsets.data()[0] = std::nanf("");
    const float* factors = random() % 2 == 0 ? mask.data() : nullptr;
    const std::vector<float> expected = SampleSlowly(work, x.data(), offsets.data(), factors);
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      const Guarded<char> scratch(work.ScratchBytes());
      const Guarded<float> columns(expected.size());
      work.Run(x.data(), offsets.data(), factors, columns.data(), scratch.data());
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(columns.data()[i], expected[i], 1e-5) << seed;
      if (first.empty()) first = columns.values();
      ASSERT_EQ(columns.values(), first);
    }
  }
}

}  // namespace
}  // namespace amp::kernels
