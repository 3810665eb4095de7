#include "kernels/reduce/row_gradients.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Elements that are worth a thread, and stretches of rows whose shares are added up before they join the others.
constexpr std::int64_t kWorthAThread = 1 << 12, kStretches = 32;

std::int64_t RowsOfStretch(const LayerNormGradient& job) { return CeilDiv(job.rows, kStretches); }

template <class Data>
Data* Row(Data* data, bool is_bf16, std::int64_t element) {
  using Bytes = std::conditional_t<std::is_const_v<Data>, const char, char>;
  return static_cast<Bytes*>(data) + element * (is_bf16 ? 2 : 4);
}

}  // namespace

void RunSoftmaxGradient(const SoftmaxGradient& job, const void* g, const void* y, const std::int64_t* lengths,
                        void* result) {
  const auto run = BestTable<RowGradientsTable>().softmax[job.is_bf16];
  const std::int64_t grain = std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, job.size));
  ParallelFor(job.rows, grain, [&](std::int64_t row) {
    const std::int64_t used = lengths == nullptr ? job.size : std::clamp<std::int64_t>(lengths[row], 0, job.size);
    const std::int64_t first = row * job.size;
    run(job, Row(g, job.is_bf16, first), Row(y, job.is_bf16, first), used, Row(result, job.is_bf16, first));
    std::memset(Row(result, job.is_bf16, first + used), 0,
                static_cast<std::size_t>((job.size - used) * (job.is_bf16 ? 2 : 4)));
  });
}

std::size_t LayerNormGradientScratchBytes(const LayerNormGradient& job) {
  return static_cast<std::size_t>(2 * kStretches * job.size) * sizeof(float);
}

void RunLayerNormGradient(const LayerNormGradient& job, const void* g, const void* x, const float* gamma, void* result,
                          float* gamma_gradient, float* beta_gradient, void* scratch) {
  const auto run = BestTable<RowGradientsTable>().layer_norm[job.is_bf16];
  auto* shares = static_cast<float*>(scratch);
  const std::int64_t rows = RowsOfStretch(job);
  const std::int64_t stretches = rows == 0 ? 0 : CeilDiv(job.rows, rows);
  const std::int64_t grain = std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, rows * job.size));
  ParallelFor(stretches, grain, [&](std::int64_t s) {
    float* of_gamma = shares + 2 * s * job.size;
    std::fill_n(of_gamma, 2 * job.size, 0.0f);
    for (std::int64_t row = s * rows; row < std::min(job.rows, (s + 1) * rows); ++row) {
      const std::int64_t first = row * job.size;
      run(job, Row(g, job.is_bf16, first), Row(x, job.is_bf16, first), gamma, Row(result, job.is_bf16, first), of_gamma,
          of_gamma + job.size);
    }
  });
  for (float* sums : {gamma_gradient, beta_gradient}) {
    const std::int64_t offset = sums == gamma_gradient ? 0 : job.size;
    std::fill_n(sums, job.size, 0.0f);
    for (std::int64_t s = 0; s < stretches; ++s) {
      const float* share = shares + 2 * s * job.size + offset;
      for (std::int64_t i = 0; i < job.size; ++i) sums[i] += share[i];
    }
  }
}

}  // namespace amp::kernels
