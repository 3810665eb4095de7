// What recurrent layers spend their time in, float32. Single-threaded: callers share out columns or units; no result
// depends on how.
#pragma once

#include <cstdint>

#include "kernels/cpu.h"

namespace amp::kernels {

// y[r][c] = sum over k of a[r][k] * b[c][k]: products of rows, as in a matrix product with transposed weights.
struct RowProducts {
  const float* a = nullptr;  // rows * size, `a_row` apart
  const float* b = nullptr;  // columns * size, `b_row` apart
  float* y = nullptr;        // rows * columns, `y_row` apart
  std::int64_t rows = 0, columns = 0, size = 0;
  std::int64_t a_row = 0, b_row = 0, y_row = 0;
};

void MultiplyRows(const RowProducts& job);

// In place; to 2^-22 absolutely. A NaN stays one.
void Sigmoid(float* x, std::int64_t count);
void Tanh(float* x, std::int64_t count);

struct RecurrenceTable {
  Isa isa;
  void (*products)(const RowProducts& job);
  void (*sigmoid)(float* x, std::int64_t count);
  void (*tanh)(float* x, std::int64_t count);
};

const RecurrenceTable* RecurrenceTableGeneric();
// Null where the compiler was not told to generate code for AVX-512. Its functions demand a CPU that has it.
const RecurrenceTable* RecurrenceTableAvx512();

}  // namespace amp::kernels
