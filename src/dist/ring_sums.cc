#include "dist/ring_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/float_bits.h"
#include "kernels/threads/parallel.h"

namespace amp::dist {
namespace {

using kernels::Cast;
using kernels::ElementBytes;
using kernels::ElementType;
using kernels::ParallelFor;

constexpr std::int64_t kBlock = 4096;  // elements that a thread adds at once

// Conversions between float32 and what is stored.
struct Float32 {
  using Stored = float;
  static float Read(float value) { return value; }
  static float Write(float value) { return value; }
};
struct BFloat16 {
  using Stored = std::uint16_t;
  static float Read(std::uint16_t value) { return kernels::BF16ToFloat(value); }
  static std::uint16_t Write(float value) { return kernels::FloatToBF16(value); }
};
struct Float16 {
  using Stored = std::uint16_t;
  static float Read(std::uint16_t value) { return kernels::HalfToFloat(value); }
  static std::uint16_t Write(float value) { return kernels::FloatToHalf(value); }
};

template <class Function>
void WithFormat(ElementType type, const Function& function) {
  if (type == ElementType::kFloat32) return function(Float32());
  if (type == ElementType::kBFloat16) return function(BFloat16());
  function(Float16());
}

template <class Partial, class Accum>
void AddStretch(const float* term, typename Accum::Stored* sum, std::int64_t count) {
  ParallelFor((count + kBlock - 1) / kBlock, 4, [&](std::int64_t block) {
    const std::int64_t end = std::min(count, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i)
      sum[i] = Accum::Write(Accum::Read(sum[i]) + Partial::Read(Partial::Write(term[i])));
  });
}

double LogAddExp(double a, double b) {
  const double larger = std::max(a, b), smaller = std::min(a, b);
  return std::isinf(smaller) ? larger : larger + std::log1p(std::exp(smaller - larger));
}

// One row of one head, merged.
class RowMerger {
 public:
  RowMerger(const RingAttention& ring, const RingArrays& arrays, const std::vector<RingPartial>& partials)
      : ring_(ring), out_(arrays.out.strides), statistics_(StatisticsOf(ring)), partials_(partials) {}

  void Merge(std::int64_t batch, std::int64_t head, std::int64_t row, std::byte* out, float* lse) const {
    const std::int64_t place = batch * statistics_.batch + head * statistics_.head + row;
    const std::int64_t begin = batch * out_.batch + head * out_.head + row * out_.row;
    double total = -std::numeric_limits<double>::infinity();
    for (const RingPartial& partial : partials_) {
      if (Sees(partial, row)) total = LogAddExp(total, partial.lse.As<float>()[place]);
    }
    lse[place] = static_cast<float>(total);
    std::vector<float> sum(ring_.value_size), term(ring_.value_size);
    for (const RingPartial& partial : partials_) {
      if (!Sees(partial, row)) continue;
      Cast(ring_.partial, partial.out.At(begin), ElementType::kFloat32, term.data(), term.size());
      Add(term, WeightOf(partial.lse.As<float>()[place], lse[place]), &sum);
    }
    Cast(ElementType::kFloat32, sum.data(), ring_.dtype,
         out + begin * static_cast<std::int64_t>(ElementBytes(ring_.dtype)), sum.size());
  }

 private:
  static bool Sees(const RingPartial& partial, std::int64_t row) { return row >= partial.step.first_query; }

  static float WeightOf(float part, float whole) { return std::isinf(part) ? 0 : std::exp(part - whole); }

  void Add(const std::vector<float>& term, float weight, std::vector<float>* sum) const {
    WithFormat(ring_.accum, [&](auto format) {
      for (std::size_t i = 0; i < term.size(); ++i) (*sum)[i] = format.Read(format.Write((*sum)[i] + term[i] * weight));
    });
  }

  const RingAttention& ring_;
  const kernels::HeadRows out_, statistics_;
  const std::vector<RingPartial>& partials_;
};

}  // namespace

void AddRows(const RingAttention& ring, const RingArray& array, std::int64_t first, std::int64_t count,
             const float* term, std::byte* sum) {
  WithFormat(ring.accum, [&](auto accum) {
    WithFormat(ring.partial, [&](auto partial) {
      using Accum = decltype(accum);
      auto* sums = reinterpret_cast<typename Accum::Stored*>(sum);
      for (std::int64_t stretch = 0; stretch < array.stretches; ++stretch) {
        const std::int64_t begin = stretch * array.from_stretch_to_next + first * array.strides.row;
        AddStretch<decltype(partial), Accum>(term + begin, sums + begin, count * array.strides.row);
      }
    });
  });
}

void MergePartials(const RingAttention& ring, const RingArrays& arrays, const std::vector<RingPartial>& partials,
                   void* out, float* lse) {
  const RowMerger merger(ring, arrays, partials);
  ParallelFor(ring.num_batch * ring.num_heads * ring.num_queries, 64, [&](std::int64_t index) {
    const std::int64_t row = index % ring.num_queries, head = index / ring.num_queries % ring.num_heads;
    merger.Merge(index / ring.num_queries / ring.num_heads, head, row, static_cast<std::byte*>(out), lse);
  });
}

}  // namespace amp::dist
