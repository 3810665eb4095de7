#include "kernels/vision/deformable_columns.h"

#include <algorithm>
#include <cmath>

#include "kernels/movement/transpose.h"
#include "kernels/movement/weighted_rows.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// The two positions along one axis that a sample lies between; those that do not exist are left out.
struct Taps {
  std::array<std::int64_t, 2> at;
  std::array<float, 2> weight;
  int count = 0;

  Taps(float place, std::int64_t size, bool zeros_outside) {
    const float low = zeros_outside ? -1 : 0;
    const bool is_inside = (zeros_outside ? place > low : place >= low) && place < static_cast<float>(size);
    if (!is_inside) return;
    const float floor = std::floor(place);
    const auto first = static_cast<std::int64_t>(floor);
    const float beyond = place - floor;
    if (!zeros_outside && first == size - 1) {
      Add(first, 1);
      return;
    }
    if (first >= 0) Add(first, 1 - beyond);
    if (first + 1 < size) Add(first + 1, beyond);
  }
  void Add(std::int64_t position, float amount) {
    at[static_cast<std::size_t>(count)] = position;
    weight[static_cast<std::size_t>(count++)] = amount;
  }
};

// The elements of the data that a sample is made of, and their weights.
struct Sample {
  std::array<std::int64_t, 4> offsets;
  std::array<float, 4> weights;
  std::int64_t count = 0;

  Sample(const Taps& down, const Taps& across, float amount, std::int64_t row_stride, std::int64_t stride) {
    for (int r = 0; r < down.count; ++r) {
      for (int c = 0; c < across.count; ++c, ++count) {
        offsets[static_cast<std::size_t>(count)] = down.at[r] * row_stride + across.at[c] * stride;
        weights[static_cast<std::size_t>(count)] = down.weight[r] * across.weight[c] * amount;
      }
    }
  }
};

// All samples of one position of the result.
struct Position {
  const DeformableColumns& work;
  const float* image;  // channels last
  const float* offsets;
  const float* mask;  // or null
  std::int64_t row, column;
  float* columns;

  void Run() const {
    const std::int64_t window = work.kernel[0] * work.kernel[1], plane = work.out_size[0] * work.out_size[1];
    for (std::int64_t group = 0; group < work.offset_groups; ++group) {
      for (std::int64_t k = 0; k < window; ++k) {
        const std::int64_t sample = group * window + k;
        const float* moved = offsets + 2 * sample * plane;
        const float down = Place(0, row, k / work.kernel[1]) + moved[0];
        const float across = Place(1, column, k % work.kernel[1]) + moved[plane];
        Write(Sample(Taps(down, work.size[0], work.zeros_outside), Taps(across, work.size[1], work.zeros_outside),
                     mask == nullptr ? 1 : mask[sample * plane], work.size[1] * work.channels, work.channels),
              group, k);
      }
    }
  }

  // Where an element of the window lies without an offset.
  float Place(std::size_t axis, std::int64_t position, std::int64_t element) const {
    return static_cast<float>(position * work.stride[axis] + element * work.dilate[axis] - work.pad[axis]);
  }

  // The channels that have the offset, each to its group of the product.
  void Write(const Sample& sample, std::int64_t offset_group, std::int64_t k) const {
    const std::int64_t window = work.kernel[0] * work.kernel[1], per_group = work.channels / work.groups;
    const std::int64_t count = work.channels / work.offset_groups, end = (offset_group + 1) * count;
    for (std::int64_t c = offset_group * count; c < end;) {
      const std::int64_t group = c / per_group, next = std::min(end, (group + 1) * per_group);
      BestTable<WeightedRowsTable>().sum(image + c, sample.offsets.data(), sample.weights.data(), sample.count, false,
                                         columns + (group * window + k) * per_group + c % per_group, next - c);
      c = next;
    }
  }
};

}  // namespace

std::size_t DeformableColumns::ScratchBytes() const {
  return static_cast<std::size_t>(images * channels * size[0] * size[1]) * sizeof(float);
}

void DeformableColumns::Run(const float* x, const float* offsets, const float* mask, float* columns,
                            void* scratch) const {
  auto* data = static_cast<float*>(scratch);
  ChannelsLast(x, data, images, channels, size[0] * size[1]);
  const std::int64_t window = kernel[0] * kernel[1], plane = out_size[0] * out_size[1];
  const std::int64_t image_samples = offset_groups * window * plane;
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / (window * channels));
  ParallelFor(images * plane, grain, [&](std::int64_t i) {
    const std::int64_t image = i / plane, position = i % plane;
    Position{*this,
             data + image * channels * size[0] * size[1],
             offsets + 2 * image * image_samples + position,
             mask == nullptr ? nullptr : mask + image * image_samples + position,
             position / out_size[1],
             position % out_size[1],
             columns + i * window * channels}
        .Run();
  });
}

}  // namespace amp::kernels
