#include "dist/all_reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/base/float_bits.h"
#include "nnvm/error.h"

namespace amp::dist {
namespace {

using kernels::Cast;
using kernels::ElementBytes;
using kernels::ElementType;

// The elements that a rank adds: equal parts, the last ones shorter.
struct Slice {
  std::size_t begin, count;
};

Slice SliceOf(int rank, int size, std::size_t count) {
  const std::size_t part = (count + size - 1) / size;
  const std::size_t begin = std::min(count, part * rank);
  return {begin, std::min(part, count - begin)};
}

bool Is16Bit(ElementType type) { return type == ElementType::kBFloat16 || type == ElementType::kFloat16; }

bool IsFloat(ElementType type) {
  return Is16Bit(type) || type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

bool HoldsExactly(ElementType type, ElementType from) {
  return type == from || type == ElementType::kFloat64 || (type == ElementType::kFloat32 && Is16Bit(from));
}

template <class T, class Add>
void AddElements(const std::byte* term, std::byte* sum, std::size_t count, const Add& add) {
  const T* from = reinterpret_cast<const T*>(term);
  T* to = reinterpret_cast<T*>(sum);
  for (std::size_t i = 0; i < count; ++i) to[i] = add(to[i], from[i]);
}

// sum += term, rounded to the type.
void Add(ElementType type, const std::byte* term, std::byte* sum, std::size_t count) {
  using namespace kernels;
  const auto plain = [](auto a, auto b) { return a + b; };
  const auto bf16 = [](std::uint16_t a, std::uint16_t b) { return FloatToBF16(BF16ToFloat(a) + BF16ToFloat(b)); };
  const auto half = [](std::uint16_t a, std::uint16_t b) { return FloatToHalf(HalfToFloat(a) + HalfToFloat(b)); };
  if (type == ElementType::kFloat32) return AddElements<float>(term, sum, count, plain);
  if (type == ElementType::kFloat64) return AddElements<double>(term, sum, count, plain);
  if (type == ElementType::kBFloat16) return AddElements<std::uint16_t>(term, sum, count, bf16);
  AddElements<std::uint16_t>(term, sum, count, half);
}

// One rank's part of the work. `wire` is the dtype of what ranks tell each other in front of the sum.
class Reduction {
 public:
  Reduction(Comm* comm, ElementType wire, const std::byte* array, ElementType dtype, std::byte* result,
            std::size_t count)
      : comm_(*comm), wire_(wire), array_(array), dtype_(dtype), result_(result), count_(count) {}

  void Run() {
    ReceiveTerms();
    AddInOrder();
    SpreadSums();
  }

 private:
  Slice SliceOfRank(int rank) const { return SliceOf(rank, comm_.size(), count_); }
  int RankAt(int distance) const { return (comm_.rank() + distance + comm_.size()) % comm_.size(); }

  void ReceiveTerms() {
    const std::size_t bytes = ElementBytes(wire_), own = SliceOfRank(comm_.rank()).count;
    terms_.resize(own * bytes * comm_.size());
    for (int distance = 1; distance < comm_.size(); ++distance) {
      const int to = RankAt(distance), source = RankAt(-distance);
      const Slice slice = SliceOfRank(to);
      comm_.SendRecv({{array_ + slice.begin * bytes, slice.count * bytes}, to, {TermOf(source), own * bytes}, source});
    }
  }

  void AddInOrder() {
    const Slice own = SliceOfRank(comm_.rank());
    std::byte* sum = result_ + own.begin * ElementBytes(dtype_);
    if (own.count > 0)
      std::memcpy(TermOf(comm_.rank()), array_ + own.begin * ElementBytes(wire_), own.count * ElementBytes(wire_));
    Cast(wire_, TermOf(0), dtype_, sum, own.count);
    std::vector<std::byte> converted(wire_ == dtype_ ? 0 : own.count * ElementBytes(dtype_));
    for (int rank = 1; rank < comm_.size(); ++rank) {
      const std::byte* term = TermOf(rank);
      if (wire_ != dtype_) {
        Cast(wire_, term, dtype_, converted.data(), own.count);
        term = converted.data();
      }
      Add(dtype_, term, sum, own.count);
    }
  }

  void SpreadSums() {
    const std::size_t bytes = ElementBytes(dtype_);
    const Slice own = SliceOfRank(comm_.rank());
    for (int distance = 1; distance < comm_.size(); ++distance) {
      const int to = RankAt(distance), source = RankAt(-distance);
      const Slice slice = SliceOfRank(source);
      comm_.SendRecv({{result_ + own.begin * bytes, own.count * bytes},
                      to,
                      {result_ + slice.begin * bytes, slice.count * bytes},
                      source});
    }
  }

  std::byte* TermOf(int rank) { return terms_.data() + SliceOfRank(comm_.rank()).count * ElementBytes(wire_) * rank; }

  Comm& comm_;
  const ElementType wire_;
  const std::byte* array_;
  const ElementType dtype_;
  std::byte* result_;
  const std::size_t count_;
  std::vector<std::byte> terms_;  // this rank's slice of each rank's array
};

}  // namespace

void AllReduce(Comm* comm, ElementType from, const void* array, ElementType dtype, void* result, std::int64_t count) {
  if (!IsFloat(from) || !IsFloat(dtype))
    throw ArgumentError("all_reduce: sums are of floats: float32, bfloat16, float16 and float64");
  const auto size = static_cast<std::size_t>(count);
  const auto* bytes = static_cast<const std::byte*>(array);
  const ElementType wire = HoldsExactly(dtype, from) ? from : dtype;
  std::vector<std::byte> rounded(wire == from ? 0 : size * ElementBytes(wire));
  if (wire != from) {
    Cast(from, array, wire, rounded.data(), size);
    bytes = rounded.data();
  }
  Reduction(comm, wire, bytes, dtype, static_cast<std::byte*>(result), size).Run();
}

void Broadcast(Comm* comm, int root, std::span<std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  const int size = comm->size(), next = (comm->rank() + 1) % size, before = (comm->rank() + size - 1) % size;
  const int place = (comm->rank() + size - root) % size;  // how far from the root
  const std::size_t pieces = (bytes.size() + kPiece - 1) / kPiece;
  const auto piece = [&](std::size_t i) {
    return i < pieces ? bytes.subspan(i * kPiece, std::min(kPiece, bytes.size() - i * kPiece)) : bytes.first(0);
  };
  // At time t the rank at place p sends piece t - p; the last one sends nothing, and nothing goes to the root.
  for (std::size_t time = 0; size > 1 && time < pieces + size - 2; ++time) {
    const bool sends = place < size - 1 && time >= static_cast<std::size_t>(place);
    const bool receives = place > 0 && time + 1 >= static_cast<std::size_t>(place);
    comm->SendRecv({sends ? piece(time - place) : piece(pieces), next,
                    receives ? piece(time + 1 - place) : piece(pieces), before});
  }
}

}  // namespace amp::dist
