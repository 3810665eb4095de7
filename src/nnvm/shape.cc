#include "nnvm/shape.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp {

bool Shape::fully_known() const {
  return known_ && std::all_of(dims_.begin(), dims_.end(), [](std::int64_t d) { return d >= 0; });
}

std::int64_t Shape::size() const { return SizeOf(0, rank()); }

std::int64_t Shape::SizeOf(int begin, int end) const {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  if (!known_) throw InternalError("size of a shape whose rank is unknown");
  // One 0 among the sizes makes it 0, whatever the others are.
  const bool empty = std::find(dims_.begin() + begin, dims_.begin() + end, 0) != dims_.begin() + end;
  std::int64_t size = empty ? 0 : 1;
  for (int i = begin; i < end; ++i) {
    if (dims_[i] < 0) throw InternalError("size of the partly unknown shape " + ToString());
    if (size != 0 && size > kLimit / dims_[i]) {
      Throw<GraphError>("shape {} has more than 2^62 elements", ToString());
    }
    size *= dims_[i];
  }
  return size;
}

std::string Shape::ToString() const {
  if (!known_) return "?";
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i > kMaxRank) return text + ",...]";  // an absurd attribute must not make an absurd message
    text += (i ? "," : "") + (dims_[i] < 0 ? std::string("?") : std::to_string(dims_[i]));
  }
  return text + "]";
}

std::int64_t TensorType::bytes() const {
  const std::int64_t size = shape.size();
  if (size > (std::int64_t{1} << 58)) Throw<GraphError>("a tensor of type {} is too large", ToString());
  return size * BytesOf(dtype);
}

std::string TensorType::ToString() const { return NameOf(dtype) + shape.ToString(); }

bool MergeShape(Shape* into, const Shape& other, bool* changed) {
  if (!other.rank_known()) return true;
  if (!into->rank_known()) {
    *into = other;
    *changed = true;
    return true;
  }
  if (into->rank() != other.rank()) return false;
  for (int i = 0; i < other.rank(); ++i) {
    if (other[i] >= 0 && (*into)[i] >= 0 && other[i] != (*into)[i]) return false;
  }
  for (int i = 0; i < other.rank(); ++i) {
    if ((*into)[i] < 0 && other[i] >= 0) {
      (*into)[i] = other[i];
      *changed = true;
    }
  }
  return true;
}

std::optional<int> NormalizeAxis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace amp
