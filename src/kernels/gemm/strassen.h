// Matrix products by Strassen's algorithm: rows, input channels and output channels are halved, and 7 products of these
// halves take the place of 8 (V. Strassen, Gaussian elimination is not optimal, Numer. Math. 13, 1969).
//
// Rows 2 i and 2 i + 1 are a pair; channels have a first and a second half. Sums of operands are what is multiplied, so
// an error is as large as the largest operand allows. Operands are made alike before, by powers of two: input channels
// by their weights, output channels by their largest weight, rows by their largest number. Then a row's error depends
// on its own numbers. A row with a NaN or an infinity becomes NaNs, and no other row does.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace amp::kernels {

inline constexpr int kStrassenProducts = 7;

// Quarters of an operand or of the result: 2 * (half of the rows, of weights: of the input channels) + (half of the
// columns).
struct StrassenSum {
  int first, second;
  float sign;  // first + sign * second
};
inline constexpr StrassenSum kStrassenRows[kStrassenProducts] = {{0, 3, 1}, {2, 3, 1},  {0, 0, 0}, {3, 3, 0},
                                                                 {0, 1, 1}, {2, 0, -1}, {1, 3, -1}};
inline constexpr StrassenSum kStrassenWeights[kStrassenProducts] = {{0, 3, 1}, {0, 0, 0}, {1, 3, -1}, {2, 0, -1},
                                                                    {3, 3, 0}, {0, 1, 1}, {2, 3, 1}};
// To which quarters of the result a product is added, and how.
enum class StrassenStep : std::uint8_t { kNone, kBegin, kAdd, kSubtract };
struct StrassenTarget {
  int quarter;
  StrassenStep step;
};
inline constexpr StrassenTarget kStrassenTargets[kStrassenProducts][2] = {
    {{0, StrassenStep::kBegin}, {3, StrassenStep::kBegin}},  {{2, StrassenStep::kBegin}, {3, StrassenStep::kSubtract}},
    {{1, StrassenStep::kBegin}, {3, StrassenStep::kAdd}},    {{0, StrassenStep::kAdd}, {2, StrassenStep::kAdd}},
    {{1, StrassenStep::kAdd}, {0, StrassenStep::kSubtract}}, {{3, StrassenStep::kAdd}, {0, StrassenStep::kNone}},
    {{0, StrassenStep::kAdd}, {0, StrassenStep::kNone}}};

// Products of int16 are exact, so are sums of their operands and of the products: int32 may overflow on the way, and
// the result fits. Numbers have at most this magnitude, their sums twice that. It is the one with which numbers and
// weights lose about the same, where both are distributed normally.
inline constexpr std::int64_t kStrassenMaxNumber = 4096;
inline constexpr std::int64_t kStrassenMaxWeight = 16383;  // twice of which is an int16

// One of the products: rows are pairs; channels are halves, of inputs a multiple of 16, or of 32 where int16 is
// multiplied, and of outputs a multiple of 32.
Gemm StrassenHalf(const Gemm& job);

// A power of two, by which numbers up to this magnitude, given as bits, become less than two; 0 where that is none.
float StrassenFactor(std::uint32_t bits);
float StrassenInverse(float factor);  // a NaN where there is no factor

// Packed weights: factors of all input channels, of both halves one after the other; what results of an output channel
// are multiplied by, of both halves; columns: [channel / 32][product], each as GemmColumnElements says.
struct StrassenWeights {
  const float* factors;
  const float* inverses;
  const void* columns;
};
constexpr std::int64_t StrassenFactors(const Gemm& half) { return 2 * half.in_channels; }
constexpr std::int64_t StrassenInverses(const Gemm& half) { return 2 * half.out_channels; }
StrassenWeights StrassenWeightsAt(const Gemm& half, const void* packed);

// Some pairs of rows, and some output channels of either half.
struct StrassenPart {
  std::int64_t first_pair = 0, num_pairs = 0;
  std::int64_t first_channel = 0, num_channels = 0;
};

// The number of input channels of a half that are multiplied before their sums are added up: bits of results do not
// depend on how work is split.
constexpr std::int64_t StrassenDepth(const Gemm& half) { return GemmChunk(half.in_channels); }

// Scratch memory of a part, in this order, each at a multiple of 64 bytes. Sums of products have 4 bytes.
struct StrassenScratch {
  std::int64_t rows = 0;      // factors of rows and their inverses: [2][half][pair], float32
  std::int64_t tile = 0;      // packed rows of one of the products
  std::int64_t quarters = 0;  // sums of 32 output channels: [two vectors][quarter][pair][lane]
  std::int64_t sums = 0;      // of all output channels in float32, where input channels have several stretches
};
StrassenScratch StrassenScratchOf(const Gemm& half, std::int64_t pairs, std::int64_t channels);

std::size_t PackedStrassenBytes(const Gemm& job);
void PackStrassenWeights(const Gemm& job, const float* weights, void* packed);
std::size_t StrassenScratchBytes(const Gemm& job);
void RunStrassen(GemmTable::RunStrassen run, const Gemm& job, const GemmData& data, void* scratch);

}  // namespace amp::kernels
