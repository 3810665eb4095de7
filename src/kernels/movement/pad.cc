#include "kernels/movement/pad.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/elements.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// The number of bytes of the result that are worth a call.
constexpr std::int64_t kBlockBytes = 1 << 14;

bool HasBorders(const PadAxis& axis) { return axis.before != 0 || axis.after != 0; }
std::int64_t PaddedSize(const PadAxis& axis) { return axis.before + axis.size + axis.after; }

// Neighbours without borders are one axis.
std::vector<PadAxis> Merged(const std::vector<PadAxis>& axes) {
  std::vector<PadAxis> merged;
  for (const PadAxis& axis : axes) {
    if (!merged.empty() && !HasBorders(axis) && !HasBorders(merged.back())) {
      merged.back().size *= axis.size;
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

template <class T>
void Copy(const T* from, T* to, std::int64_t count) {
  if (count != 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

}  // namespace

std::int64_t ShownPosition(PadMode mode, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return std::clamp<std::int64_t>(i, 0, size - 1);
  const std::int64_t once = mode == PadMode::kReflect ? 1 : 0, period = std::max<std::int64_t>(1, 2 * (size - once));
  const std::int64_t phase = (i % period + period) % period;
  return phase < size ? phase : period - phase - 1 + once;
}

Pad::Places::Places(PadMode mode, const PadAxis& axis, std::int64_t stride) : axis_(axis), stride_(stride) {
  const auto add = [&](std::int64_t i) {
    const std::int64_t shown = ShownPosition(mode, i, axis.size);
    borders_.push_back(shown < 0 ? -1 : shown * stride);
  };
  for (std::int64_t i = -axis.before; i < 0; ++i) add(i);
  for (std::int64_t i = axis.size; i < axis.size + axis.after; ++i) add(i);
}

Pad::Pad(PadMode mode, std::vector<PadAxis> axes, std::size_t element_bytes, std::uint64_t constant)
    : element_bytes_(element_bytes), constant_(constant) {
  axes = Merged(axes);
  if (!axes.empty() && !HasBorders(axes.back())) {
    chunk_ = axes.back().size;
    axes.pop_back();
  }
  if (!axes.empty()) {
    row_ = axes.back();
    axes.pop_back();
  }
  row_places_ = Places(mode, row_, chunk_);
  std::int64_t stride = row_.size * chunk_;
  for (std::size_t i = axes.size(); i-- > 0; stride *= axes[i].size) {
    outer_.insert(outer_.begin(), Places(mode, axes[i], stride));
  }
}

void Pad::Run(const void* from, void* to) const {
  WithElementOf(element_bytes_, [&](auto zero) {
    using T = decltype(zero);
    RunAs(static_cast<const T*>(from), static_cast<T*>(to));
  });
}

// The place of position `outer` along all axes but that of rows and the one before it.
std::int64_t Pad::PlaceOf(std::int64_t outer) const {
  std::int64_t place = 0;
  for (std::size_t i = outer_.size() < 2 ? 0 : outer_.size() - 1; i-- > 0;) {
    const std::int64_t here = outer_[i].At(outer % outer_[i].size());
    if (here < 0) return -1;
    place += here;
    outer /= outer_[i].size();
  }
  return place;
}

template <class T>
void Pad::WriteRow(const T* from, T* to) const {
  const T constant = static_cast<T>(constant_);
  const auto border = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t place = row_places_.At(i);
      if (place < 0) {
        std::fill_n(to + i * chunk_, chunk_, constant);
      } else {
        Copy(from + place, to + i * chunk_, chunk_);
      }
    }
  };
  border(0, row_.before);
  Copy(from, to + row_.before * chunk_, row_.size * chunk_);
  border(row_.before + row_.size, PaddedSize(row_));
}

template <class T>
void Pad::RunAs(const T* from, T* to) const {
  static const Places kOne(PadMode::kConstant, {}, 0);
  const Places& rows = outer_.empty() ? kOne : outer_.back();
  const std::int64_t num_rows = rows.size();
  const std::int64_t row_size = PaddedSize(row_) * chunk_;
  std::int64_t planes = 1;
  for (std::size_t i = 0; i + 1 < outer_.size(); ++i) planes *= outer_[i].size();
  if (planes * num_rows * row_size == 0) return;
  const std::int64_t row_bytes = row_size * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t block = std::min(num_rows, std::max<std::int64_t>(1, kBlockBytes / row_bytes));
  const std::int64_t blocks = CeilDiv(num_rows, block);
  ParallelFor(planes * blocks, std::max<std::int64_t>(1, kBlockBytes / (block * row_bytes)), [&](std::int64_t i) {
    const std::int64_t plane = i / blocks, first = i % blocks * block, last = std::min(num_rows, first + block);
    const std::int64_t base = PlaceOf(plane);
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t place = rows.At(r);
      T* row = to + (plane * num_rows + r) * row_size;
      if (base < 0 || place < 0) {
        std::fill_n(row, row_size, static_cast<T>(constant_));
      } else {
        WriteRow(from + base + place, row);
      }
    }
  });
}

}  // namespace amp::kernels
