#include "kernels/vision/box_nms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/base/round_up.h"
#include "kernels/reduce/radix_sort.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kChunk = 4096;  // boxes that are looked at together
constexpr std::int64_t kBlock = 64;    // ranked boxes that are decided together
constexpr std::size_t kLists = sizeof(RankedBoxes) / sizeof(float*);

// Larger scores have smaller ranks; of equal scores the first one has the smaller. No NaN.
std::uint64_t RankOf(float score, std::int64_t row) {
  return std::uint64_t{~SortKeyOf(score)} << 32 | static_cast<std::uint32_t>(row);
}

// The largest float that is not above it: no float lies between them.
float RoundDown(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) > value ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                                              : nearest;
}

std::int64_t NumChunks(std::int64_t count) { return CeilDiv(count, kChunk); }
std::int64_t MaxRanked(const BoxNms& work) { return work.topk > 0 ? std::min(work.topk, work.count) : work.count; }

// What one image needs of the scratch memory, in 8 bytes.
std::int64_t ScratchOf(const BoxNms& work) {
  return 2 * work.count + NumChunks(work.count) + (static_cast<std::int64_t>(kLists) * MaxRanked(work) + 1) / 2;
}

using Box = std::array<float, 4>;

// The boxes of one image.
class Image {
 public:
  Image(const BoxNms& work, const float* x, float* y, std::uint64_t* scratch)
      : work_(work), x_(x), y_(y), ranks_(scratch), spare_(scratch + work.count), counts_(spare_ + work.count) {
    auto* list = reinterpret_cast<float*>(counts_ + NumChunks(work.count));
    for (float** to : {&boxes_.left, &boxes_.top, &boxes_.right, &boxes_.bottom, &boxes_.area, &boxes_.id}) {
      *to = list;
      list += MaxRanked(work);
    }
    boxes_.is_left_out = reinterpret_cast<std::int32_t*>(list);
  }

  void Run() {
    Rank();
    Load();
    for (std::int64_t begin = 0; begin < num_ranked_; begin += kBlock) {
      Decide(begin, std::min(num_ranked_, begin + kBlock));
    }
    Write();
  }

 private:
  const float* RowOf(std::int64_t ranked) const { return x_ + (ranks_[ranked] & 0xFFFFFFFFu) * work_.width; }
  bool IsBackground(const float* row) const {
    return work_.id_index >= 0 && row[work_.id_index] == static_cast<float>(work_.background_id);
  }

  // Sorts the ranks of those that count.
  void Rank() {
    ParallelFor(NumChunks(work_.count), 1, [&](std::int64_t chunk) {
      std::uint64_t* to = ranks_ + chunk * kChunk;
      for (std::int64_t i = chunk * kChunk; i < std::min(work_.count, (chunk + 1) * kChunk); ++i) {
        const float* row = x_ + i * work_.width;
        if (row[work_.score_index] > work_.valid_thresh && !IsBackground(row))
          *to++ = RankOf(row[work_.score_index], i);
      }
      counts_[chunk] = static_cast<std::uint64_t>(to - (ranks_ + chunk * kChunk));
    });
    for (std::int64_t chunk = 0; chunk < NumChunks(work_.count); ++chunk) {
      std::copy_n(ranks_ + chunk * kChunk, counts_[chunk], ranks_ + num_ranked_);
      num_ranked_ += static_cast<std::int64_t>(counts_[chunk]);
    }
    num_ranked_ = KeepSmallest(ranks_, num_ranked_, MaxRanked(work_));
    SortByUpperHalf(ranks_, spare_, num_ranked_);
    num_ranked_ = std::min(MaxRanked(work_), num_ranked_);
  }

  Box CornersOf(const float* row) const {
    const float* b = row + work_.coord_start;
    if (!work_.from_center) return {b[0], b[1], b[2], b[3]};
    return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  }

  void Load() {
    ParallelFor(num_ranked_, 1024, [&](std::int64_t i) {
      const float* row = RowOf(i);
      const auto [left, top, right, bottom] = CornersOf(row);
      boxes_.left[i] = left;
      boxes_.top[i] = top;
      boxes_.right[i] = right;
      boxes_.bottom[i] = bottom;
      boxes_.area[i] = std::max(0.f, right - left) * std::max(0.f, bottom - top);
      boxes_.id[i] = work_.id_index >= 0 ? row[work_.id_index] : 0;
      boxes_.is_left_out[i] = 0;
    });
  }

  // Which boxes of [begin, end) stay, and which of the later ones they leave out.
  void Decide(std::int64_t begin, std::int64_t end) {
    const bool of_any_class = work_.force_suppress || work_.id_index < 0;
    const float limit = RoundDown(work_.overlap_thresh);
    const auto suppress = [&](std::int64_t from, std::int64_t to, bool among_themselves) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (boxes_.is_left_out[i]) continue;
        BestTable<BoxNmsTable>().suppress(boxes_, i, among_themselves ? i + 1 : from, to, limit, of_any_class);
      }
    };
    suppress(begin, end, true);
    ParallelFor(NumChunks(num_ranked_ - end), 1, [&](std::int64_t chunk) {
      const std::int64_t from = end + chunk * kChunk;
      suppress(from, std::min(num_ranked_, from + kChunk), false);
    });
  }

  void Write() {
    float* to = y_;
    for (std::int64_t i = 0; i < num_ranked_; ++i) {
      if (boxes_.is_left_out[i]) continue;
      std::copy_n(RowOf(i), work_.width, to);
      if (work_.from_center != work_.to_center) WriteBox(CornersOf(RowOf(i)), to + work_.coord_start);
      to += work_.width;
    }
    const std::int64_t rest = y_ + work_.count * work_.width - to;
    ParallelFor(NumChunks(rest), 8, [&](std::int64_t chunk) {
      std::fill(to + chunk * kChunk, to + std::min(rest, (chunk + 1) * kChunk), -1.f);
    });
  }

  void WriteBox(const Box& b, float* to) const {
    const Box center{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]};
    std::copy_n(work_.to_center ? center.begin() : b.begin(), 4, to);
  }

  const BoxNms& work_;
  const float* x_;
  float* y_;
  std::uint64_t *ranks_, *spare_, *counts_;
  RankedBoxes boxes_;
  std::int64_t num_ranked_ = 0;
};

}  // namespace

std::size_t BoxNms::ScratchBytes() const { return static_cast<std::size_t>(images * ScratchOf(*this)) * 8; }

void BoxNms::Run(const float* x, float* y, void* scratch) const {
  ParallelFor(images, 1, [&](std::int64_t i) {
    const std::int64_t first = i * count * width;
    Image(*this, x + first, y + first, static_cast<std::uint64_t*>(scratch) + i * ScratchOf(*this)).Run();
  });
}

}  // namespace amp::kernels
