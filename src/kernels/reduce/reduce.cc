#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/float_bits.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Elements that are worth a part of their own, and parts that keep all threads busy.
constexpr std::int64_t kWorthAPart = 1 << 14, kBusyParts = 16;

}  // namespace

std::int64_t Reduce::Groups::Size() const {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < count; ++i) size *= group[i].size;
  return size;
}

std::int64_t Reduce::Groups::OffsetOf(std::int64_t index) const {
  std::int64_t offset = 0;
  for (std::size_t i = count; i-- > 0; index /= group[i].size) {
    offset += (i == 0 ? index : index % group[i].size) * group[i].stride;
  }
  return offset;
}

Reduce::Reduce(ReduceOp op, ReduceEpilogue finish, ElementType in, ElementType out, const std::vector<ReduceAxis>& axes)
    : loops_(BestTable<ReduceTable>().loops(op, in == ElementType::kBFloat16)),
      finish_(finish),
      is_bf16_(in == ElementType::kBFloat16),
      gives_bf16_(out == ElementType::kBFloat16) {
  SetGroups(axes);
  SetParts();
}

bool Reduce::IsType(ElementType type) { return type == ElementType::kFloat32 || type == ElementType::kBFloat16; }

void Reduce::SetGroups(const std::vector<ReduceAxis>& axes) {
  std::vector<ReduceAxis> merged;
  std::int64_t stride = 1;
  for (const ReduceAxis& axis : axes) {
    if (axis.size == 1) continue;
    stride *= axis.size;
    if (axis.is_reduced) count_ *= axis.size;
    if (!merged.empty() && merged.back().is_reduced == axis.is_reduced) {
      merged.back().size *= axis.size;
    } else {
      merged.push_back(axis);
    }
  }
  if (!merged.empty() && !merged.back().is_reduced) {
    columns_ = merged.back().size;
    merged.pop_back();
  }
  if (!merged.empty()) {
    rows_ = merged.back().size;
    merged.pop_back();
  }
  for (const ReduceAxis& axis : merged) {
    stride /= axis.size;
    (axis.is_reduced ? reduced_ : kept_).Add({axis.size, stride});
  }
}

void Reduce::SetParts() {
  tiles_ = CeilDiv(columns_, kTile);
  const std::int64_t items = kept_.Size() * tiles_, elements = count_ * std::min(columns_, kTile);
  parts_ = std::clamp<std::int64_t>(std::min(CeilDiv(kBusyParts, items), elements / kWorthAPart), 1, kBusyParts);
}

std::size_t Reduce::ScratchBytes() const {
  if (parts_ == 1) return 0;
  return static_cast<std::size_t>(parts_ * kept_.Size() * columns_) * sizeof(double);
}

Reduce::Item Reduce::ItemOf(std::int64_t index) const {
  const std::int64_t tile = index / parts_, outer = tile / tiles_, column = tile % tiles_ * kTile;
  return {outer, column, std::min(kTile, columns_ - column), index % parts_, outer * columns_ + column};
}

// Rows that are shorter than a few vectors are added several at a time.
void Reduce::AddNarrowRows(const void* x, std::int64_t rows, double* totals) const {
  const std::int64_t together = kNarrow / columns_ + 1, width = together * columns_;
  double wide[2 * kNarrow];
  std::fill_n(wide, width, loops_.start);
  const std::int64_t whole = rows / together;
  loops_.columns(x, width, whole, width, wide);
  const void* rest = static_cast<const char*>(x) + whole * width * BytesOfElement();
  loops_.columns(rest, width, 1, (rows - whole * together) * columns_, wide);
  for (std::int64_t i = 0; i < together; ++i) loops_.join(wide + i * columns_, columns_, totals);
}

void Reduce::AddRows(const void* x, std::int64_t rows, std::int64_t width, double* totals) const {
  if (columns_ == 1) return loops_.run(x, rows, totals);
  if (columns_ < kNarrow && rows > kNarrow / columns_) return AddNarrowRows(x, rows, totals);
  loops_.columns(x, columns_, rows, width, totals);
}

void Reduce::AddItem(const Item& item, const void* x, double* totals) const {
  std::fill_n(totals, item.width, loops_.start);
  const std::int64_t all = reduced_.Size() * rows_, end = all * (item.part + 1) / parts_;
  const std::int64_t first = kept_.OffsetOf(item.outer) + item.column;
  for (std::int64_t row = all * item.part / parts_; row < end;) {
    const std::int64_t in_block = row % rows_, rows = std::min(rows_ - in_block, end - row);
    const std::int64_t offset = first + reduced_.OffsetOf(row / rows_) + in_block * columns_;
    AddRows(static_cast<const char*>(x) + offset * BytesOfElement(), rows, item.width, totals);
    row += rows;
  }
}

void Reduce::StoreResults(const double* totals, std::int64_t first, std::int64_t width, void* y) const {
  for (std::int64_t i = 0; i < width; ++i) {
    double total = totals[i];
    if (finish_ == ReduceEpilogue::kMean) total /= static_cast<double>(count_);
    if (finish_ == ReduceEpilogue::kRoot) total = std::sqrt(total);
    if (gives_bf16_) {
      static_cast<std::uint16_t*>(y)[first + i] = FloatToBF16(static_cast<float>(total));
    } else {
      static_cast<float*>(y)[first + i] = static_cast<float>(total);
    }
  }
}

void Reduce::JoinParts(double* parts, void* y) const {
  const std::int64_t results = kept_.Size() * columns_;
  for (std::int64_t part = 1; part < parts_; ++part) loops_.join(parts + part * results, results, parts);
  StoreResults(parts, 0, results, y);
}

void Reduce::Run(const void* x, void* y, void* scratch) const {
  const std::int64_t results = kept_.Size() * columns_, items = kept_.Size() * tiles_ * parts_;
  const std::int64_t elements = std::max<std::int64_t>(1, count_ * results / items);
  auto* const parts = static_cast<double*>(scratch);
  ParallelFor(items, std::max<std::int64_t>(1, kWorthAPart / elements), [&](std::int64_t i) {
    const Item item = ItemOf(i);
    if (parts_ > 1) return AddItem(item, x, parts + item.part * results + item.first);
    double totals[kTile];
    AddItem(item, x, totals);
    StoreResults(totals, item.first, item.width, y);
  });
  if (parts_ > 1) JoinParts(parts, y);
}

}  // namespace amp::kernels
