#include "kernels/reduce/integer_reduce.h"

#include <algorithm>
#include <limits>

#include "kernels/base/round_up.h"
#include "kernels/elementwise/element_types.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTile = 512;        // results that are accumulated side by side
constexpr std::int64_t kItemWork = 16384;  // elements that are worth a thread

template <class T>
std::int64_t Number(T x) {
  return static_cast<std::int64_t>(x);
}
std::int64_t Number(Bool x) { return x.byte != 0; }
template <class T>
bool IsSet(T x) {
  return x != 0;
}
bool IsSet(Bool x) { return x.byte != 0; }

// Calls f with a zero of the type; false for another type.
template <class F>
bool WithInteger(ElementType type, const F& f) {
  using enum ElementType;
  return WithTypeAmong<kUInt8, kInt8, kInt32, kInt64, kBool>(type, f);
}

template <IntegerOp kOp>
constexpr std::int64_t Start() {
  if (kOp == IntegerOp::kMax) return std::numeric_limits<std::int64_t>::lowest();
  if (kOp == IntegerOp::kMin) return std::numeric_limits<std::int64_t>::max();
  return kOp == IntegerOp::kProduct || kOp == IntegerOp::kAll ? 1 : 0;
}

template <IntegerOp kOp, class T>
std::int64_t Joined(std::int64_t total, T x) {
  if constexpr (kOp == IntegerOp::kAny) {
    return total | static_cast<std::int64_t>(IsSet(x));
  } else if constexpr (kOp == IntegerOp::kAll) {
    return total & static_cast<std::int64_t>(IsSet(x));
  } else if constexpr (kOp == IntegerOp::kMax) {
    return std::max(total, Number(x));
  } else if constexpr (kOp == IntegerOp::kMin) {
    return std::min(total, Number(x));
  } else {
    const auto a = static_cast<std::uint64_t>(total), b = static_cast<std::uint64_t>(Number(x));
    return static_cast<std::int64_t>(kOp == IntegerOp::kSum ? a + b : a * b);
  }
}

template <IntegerOp kOp, class T>
void RunAs(const IntegerReduce& work, const T* x, std::int64_t* y) {
  if (work.inner == 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, kItemWork / work.count);
    return ParallelFor(work.outer, grain, [&](std::int64_t i) {
      std::int64_t total = Start<kOp>();
      for (std::int64_t k = 0; k < work.count; ++k) total = Joined<kOp>(total, x[i * work.count + k]);
      y[i] = total;
    });
  }
  const std::int64_t tiles = CeilDiv(work.inner, kTile);
  const std::int64_t grain = std::max<std::int64_t>(1, kItemWork / (work.count * std::min(work.inner, kTile)));
  ParallelFor(work.outer * tiles, grain, [&](std::int64_t i) {
    const std::int64_t first = i % tiles * kTile, width = std::min(kTile, work.inner - first);
    const T* from = x + i / tiles * work.count * work.inner + first;
    std::int64_t totals[kTile];
    std::fill_n(totals, width, Start<kOp>());
    for (std::int64_t k = 0; k < work.count; ++k) {
      for (std::int64_t j = 0; j < width; ++j) totals[j] = Joined<kOp>(totals[j], from[k * work.inner + j]);
    }
    std::copy_n(totals, width, y + i / tiles * work.inner + first);
  });
}

// Runs the operation of the work, which is kOp or one behind it.
template <IntegerOp kOp, class T>
void RunOp(const IntegerReduce& work, const void* x, std::int64_t* y) {
  if constexpr (kOp != IntegerOp::kAll) {
    if (work.op != kOp) return RunOp<static_cast<IntegerOp>(static_cast<int>(kOp) + 1), T>(work, x, y);
  }
  RunAs<kOp>(work, static_cast<const T*>(x), y);
}

bool IsLogical(IntegerOp op) { return op == IntegerOp::kAny || op == IntegerOp::kAll; }

}  // namespace

bool IntegerReduce::IsType(ElementType type, IntegerOp op) {
  return WithInteger(type, [](auto) {}) || (type == ElementType::kFloat32 && IsLogical(op));
}

void IntegerReduce::Run(const void* x, std::int64_t* y) const {
  if (type == ElementType::kFloat32) return RunOp<IntegerOp::kAny, float>(*this, x, y);
  WithInteger(type, [&](auto value) { RunOp<IntegerOp::kSum, decltype(value)>(*this, x, y); });
}

}  // namespace amp::kernels
