#include "kernels/recurrence.h"

#include <array>
#include <cmath>

namespace amp::kernels {
namespace {

// Sums in 16 lanes: compilers can use vector instructions.
float Dot(const float* a, const float* b, std::int64_t size) {
  constexpr std::int64_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += a[i + j] * b[i + j];
  }
  float sum = 0;
  for (; i < size; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

void Products(const RowProducts& job) {
  for (std::int64_t r = 0; r < job.rows; ++r) {
    for (std::int64_t c = 0; c < job.columns; ++c) {
      job.y[r * job.y_row + c] = Dot(job.a + r * job.a_row, job.b + c * job.b_row, job.size);
    }
  }
}

void GenericSigmoid(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = 1 / (1 + std::exp(-x[i]));
}
void GenericTanh(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = std::tanh(x[i]);
}

constexpr RecurrenceTable kGeneric = {Isa::kGeneric, Products, GenericSigmoid, GenericTanh};

const RecurrenceTable& Active() {
  static const RecurrenceTable& table =
      BestTable<RecurrenceTable>({{Isa::kGeneric, RecurrenceTableGeneric}, {Isa::kAvx512, RecurrenceTableAvx512}});
  return table;
}

}  // namespace

const RecurrenceTable* RecurrenceTableGeneric() { return &kGeneric; }

void MultiplyRows(const RowProducts& job) { Active().products(job); }
void Sigmoid(float* x, std::int64_t count) { Active().sigmoid(x, count); }
void Tanh(float* x, std::int64_t count) { Active().tanh(x, count); }

}  // namespace amp::kernels
