// The code that transforms and packs the weights of Winograd convolutions; see winograd_code.h.
#pragma once

#include <cstdint>

#include "kernels/base/int16_products.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_rounding_code.h"
#include "kernels/winograd/winograd_transform_code.h"

namespace amp::kernels {

template <class Ops, class AxisY, class AxisX>
struct WinogradWeightsCode {
  using Int = std::int64_t;
  using Tile = typename Ops::Tile;
  using Doubles [[gnu::vector_size(64)]] = double;
  using Floats [[gnu::vector_size(32)]] = float;

  static constexpr int kInY = AxisY::kIn, kInX = AxisX::kIn, kProducts = kInY * kInX;
  static constexpr int kWindowY = AxisY::kWindow, kWindowX = AxisX::kWindow, kWindow = kWindowY * kWindowX;
  static constexpr Int kColumns = kWinogradColumns, kRows = kWinogradPieceRows, kTogether = 8;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // The windows of one input channel by place in the window; channels beyond the last have weights of zero.
  struct Windows {
    alignas(64) double value[kWindow][kColumns];
  };
  static void Take(const Winograd& job, const WinogradPiece& piece, Int in, Windows* windows) {
    const Int columns = in < job.in_channels ? Min(kColumns, job.out_channels - piece.first) : 0;
    const Int of_slice = job.in_channels / job.slices;
    const double inverse = Ops::kScales && columns > 0 ? 1 / static_cast<double>(piece.factors[in]) : 1;
    for (Int column = 0; column < columns; ++column) {
      const Int numbers = piece.rows.size * piece.columns.size;
      const Int channel = (piece.first + column) * of_slice + in % of_slice;
      const float* window = piece.weights + (channel * job.slices + WinogradSlice(job, in / of_slice)) * numbers;
      for (int k = 0; k < kWindow; ++k) {
        const Int row = piece.rows.At(k / kWindowX), at = piece.columns.At(k % kWindowX);
        const float number = row < 0 || at < 0 ? 0 : window[row * piece.columns.size + at];
        windows->value[k][column] = static_cast<double>(number) * inverse;
      }
    }
    for (Int column = columns; column < kColumns; ++column) {
      for (auto& place : windows->value) place[column] = 0;
    }
  }

  // Transformed weights of some input channels: [product][input channel][column].
  struct Products {
    alignas(64) float value[kProducts][kRows][kColumns];
  };
  static void Transform(const Windows& windows, Int row, Products* products) {
    for (Int column = 0; column < kColumns; column += kTogether) {
      Doubles rows[kWindowY][kInX];
      for (int r = 0; r < kWindowY; ++r) {
        Doubles w[kWindowX];
        for (int k = 0; k < kWindowX; ++k)
          __builtin_memcpy(&w[k], &windows.value[kWindowX * r + k][column], sizeof w[k]);
        WinogradTransform<Ops, AxisX>::Weights(w, rows[r]);
      }
      for (int c = 0; c < kInX; ++c) {
        Doubles x[kWindowY], y[kInY];
        for (int r = 0; r < kWindowY; ++r) x[r] = rows[r][c];
        WinogradTransform<Ops, AxisY>::Weights(x, y);
        for (int r = 0; r < kInY; ++r) {
          const Floats rounded = __builtin_convertvector(y[r], Floats);
          __builtin_memcpy(&products->value[r * kInX + c][row][column], &rounded, sizeof rounded);
        }
      }
    }
  }

  // In float32.
  static void Write(const float (&numbers)[kRows][kColumns], Int count, float* to) {
    for (Int row = 0; row < count; ++row, to += kColumns) {
      for (Int column = 0; column < kColumns; column += Ops::kLanes) {
        const auto vector = Ops::template Load<false>(&numbers[row][column], Ops::kLanes);
        Ops::template Store<false>(to + column, Ops::kLanes, vector);
      }
    }
  }
  // To bfloat16: the products of a row of the window together.
  static void RoundRows(Int count, Products* products) {
    for (Int first = 0; first < kProducts; first += kInX) {
      for (Int row = 0; row < count; ++row) {
        for (Int column = 0; column < kColumns; column += Ops::kLanes) {
          const auto at = [&](Int i) { return &products->value[first + i][row][column]; };
          typename Ops::Vector numbers[kInX];
          for (Int i = 0; i < kInX; ++i) numbers[i] = Ops::template Load<false>(at(i), Ops::kLanes);
          WinogradRoundingCode<Ops>::Round(WinogradRounding::kOfWeights, numbers);
          for (Int i = 0; i < kInX; ++i) Ops::template Store<false>(at(i), Ops::kLanes, numbers[i]);
        }
      }
    }
  }
  // Pairs of input channels side by side.
  static void Write(const float (&numbers)[kRows][kColumns], Int count, std::uint16_t* to) {
    for (Int row = 0; row < count; row += 2, to += 2 * kColumns) {
      for (Int column = 0; column < kColumns; column += Ops::kLanes) {
        const auto pair = [&](Int r) {
          return typename Ops::Row{reinterpret_cast<const char*>(&numbers[r][column]), 0, Ops::kLanes};
        };
        Ops::template StorePairs<false>(to + 2 * column, Ops::kLanes, pair(row), pair(row + 1));
      }
    }
  }
  // `count` input channels from `in` on.
  static void TransformSome(const Winograd& job, const WinogradPiece& piece, Int in, Int count, Products* products) {
    Windows windows;
    for (Int row = 0; row < count; ++row) {
      Take(job, piece, in + row, &windows);
      Transform(windows, row, products);
    }
  }

  // ---- int16 ----

  // [product][column]
  using Scales = float[kProducts][kColumns];

  // Magnitudes of a chunk of input channels add up to what may be multiplied with the largest tiles; with room for
  // rounding.
  static void ScalesOf(const Winograd& job, const WinogradPiece& piece, Scales& scales) {
    constexpr float kMaxSum = kInt16MaxWeights - kWinogradChunk;
    Scales sums = {};
    Products products;
    for (auto& product : scales) {
      for (float& scale : product) scale = kInt16LeastScale;
    }
    for (Int in = 0; in < piece.count; in += kRows) {
      TransformSome(job, piece, in, Min(kRows, piece.count - in), &products);
      const bool ends = (in + kRows) % kWinogradChunk == 0 || in + kRows >= piece.count;
      for (Int p = 0; p < kProducts; ++p) {
        for (Int column = 0; column < kColumns; ++column) {
          float &sum = sums[p][column], *scale = &scales[p][column];
          for (Int row = 0; row < Min(kRows, piece.count - in); ++row) {
            const float magnitude = __builtin_fabsf(products.value[p][row][column]);
            RaiseInt16Scale(magnitude / kInt16MaxWeight, scale);
            sum += magnitude;
          }
          if (!ends) continue;
          RaiseInt16Scale(sum / kMaxSum, scale);
          sum = 0;
        }
      }
    }
  }

  // All input channels of a column; scales behind each product.
  static void PackScaled(const Winograd& job, const WinogradPiece& piece) {
    Scales scales;
    Products products;
    ScalesOf(job, piece, scales);
    auto* packed = static_cast<Tile*>(piece.packed);
    for (Int p = 0; p < kProducts; ++p) {
      __builtin_memcpy(packed + (p + 1) * piece.product_stride - 2 * kColumns, scales[p], sizeof scales[p]);
    }
    for (Int in = 0; in < piece.count; in += kRows) {
      const Int count = Min(kRows, piece.count - in);
      TransformSome(job, piece, in, count, &products);
      for (Int p = 0; p < kProducts; ++p) {
        Tile* to = packed + p * piece.product_stride + in * kColumns;
        for (Int column = 0; column < kColumns; ++column) {
          const float inverse = 1 / scales[p][column];
          for (Int row = 0; row < count; ++row) {
            to[row / 2 * 2 * kColumns + 2 * column + row % 2] = RoundToInt16(products.value[p][row][column] * inverse);
          }
        }
      }
    }
  }

  static void Pack(const Winograd& job, const WinogradPiece& piece) {
    if constexpr (Ops::kScales) {
      PackScaled(job, piece);
    } else {
      Products products;
      TransformSome(job, piece, piece.in, piece.count, &products);
      if constexpr (Ops::kPerUnit == 2) RoundRows(piece.count, &products);
      auto* to = static_cast<Tile*>(piece.packed);
      for (Int p = 0; p < kProducts; ++p) Write(products.value[p], piece.count, to + p * piece.product_stride);
    }
  }
};

}  // namespace amp::kernels
