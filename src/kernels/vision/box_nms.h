// Boxes in order of their scores, without those that overlap a better one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

struct BoxNms {
  std::int64_t images = 0, count = 0, width = 0;  // so many boxes of an image, so many values of a box
  std::int64_t coord_start = 0, score_index = 0;
  std::int64_t id_index = -1;                   // the value that tells classes apart; below 0: all boxes are of one
  std::int64_t background_id = -1;              // boxes of this class do not count
  std::int64_t topk = -1;                       // how many of the best count; below 1: all
  double overlap_thresh = 0;                    // intersection over union beyond which a box is left out
  float valid_thresh = 0;                       // scores up to here do not count
  bool force_suppress = false;                  // boxes of other classes are left out, too
  bool from_center = false, to_center = false;  // boxes are middle, width and height, not left, top, right and bottom

  // More boxes than this do not fit.
  static constexpr std::int64_t kMaxCount = std::int64_t{1} << 31;

  std::size_t ScratchBytes() const;
  // Rows of -1 follow the boxes that are kept. Splits the work among the threads of the scope (ParallelFor); the result
  // does not depend on their number.
  void Run(const float* x, float* y, void* scratch) const;
};

// Boxes of one image in order of their scores.
struct RankedBoxes {
  float *left, *top, *right, *bottom, *area, *id;
  std::int32_t* is_left_out;
};

struct BoxNmsTable {
  Isa isa;
  // Leaves out boxes [begin, end) that overlap box i by more than `limit`, of any class or of its own.
  void (*suppress)(const RankedBoxes& boxes, std::int64_t i, std::int64_t begin, std::int64_t end, float limit,
                   bool of_any_class);

  static const BoxNmsTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
