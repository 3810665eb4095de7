#include "kernels/elementwise/scale_shift.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "kernels/base/float_bits.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

float Widen(float x) { return x; }
float Widen(std::uint16_t x) { return BF16ToFloat(x); }

template <class X, class Y>
void Row(const void* x, void* y, std::int64_t count, const float* scale, const float* shift, int step, float low,
         float high) {
  const auto* in = static_cast<const X*>(x);
  auto* out = static_cast<Y*>(y);
  for (std::int64_t i = 0; i < count; ++i) {
    float value = std::fma(Widen(in[i]), scale[i * step], shift[i * step]);
    // Comparisons in this order let a NaN through.
    value = value < low ? low : value;
    value = value > high ? high : value;
    if constexpr (std::is_same_v<Y, float>) {
      out[i] = value;
    } else {
      out[i] = FloatToBF16(value);
    }
  }
}

constexpr ScaleShiftTable kGeneric = {
    Isa::kGeneric,
    {{Row<float, float>, Row<float, std::uint16_t>}, {Row<std::uint16_t, float>, Row<std::uint16_t, std::uint16_t>}}};

// Hardware prefetchers do not follow rows that lie apart.
constexpr std::int64_t kBytesAhead = 2048;

void Prefetch(const void* row, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const char*>(row) + i);
}

const void* At(const void* data, bool is_bf16, std::int64_t index) {
  return static_cast<const char*>(data) + index * (is_bf16 ? 2 : 4);
}

}  // namespace

const ScaleShiftTable* ScaleShiftTable::Generic() { return &kGeneric; }

void RunScaleShift(const ScaleShift& job, const void* x, void* y) {
  const ScaleShiftTable::Row row = BestTable<ScaleShiftTable>().row[job.x_is_bf16][job.y_is_bf16];
  const std::int64_t total = job.batch * job.blocks * job.rows;
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, job.channels));
  const std::int64_t row_bytes = job.channels * (job.x_is_bf16 ? 2 : 4);
  const std::int64_t ahead = job.x_row == job.channels ? 0 : CeilDiv(kBytesAhead, row_bytes);
  ParallelFor(total, grain, [&](std::int64_t i) {
    const std::int64_t r = i % job.rows, block = i / job.rows % job.blocks, n = i / job.rows / job.blocks;
    const std::int64_t first = job.planes ? block : block * job.channels;
    const std::int64_t begin = n * job.x_batch + block * job.x_block + r * job.x_row;
    if (ahead != 0 && r + ahead < job.rows) Prefetch(At(x, job.x_is_bf16, begin + ahead * job.x_row), row_bytes);
    row(At(x, job.x_is_bf16, begin),
        const_cast<void*>(At(y, job.y_is_bf16, n * job.y_batch + block * job.y_block + r * job.y_row)), job.channels,
        job.scale + first, job.shift + first, job.planes ? 0 : 1, job.low, job.high);
  });
}

}  // namespace amp::kernels
