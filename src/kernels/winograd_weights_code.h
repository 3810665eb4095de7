// The code that transforms and packs the weights of Winograd convolutions; see winograd_code.h.
#pragma once

#include "kernels/winograd_code.h"

namespace amp::kernels {

template <class Ops, int kTileY, int kTileX>
struct WinogradWeightsCode {
  using Int = std::int64_t;
  using Tile = typename Ops::Tile;
  using Doubles [[gnu::vector_size(64)]] = double;
  using Floats [[gnu::vector_size(32)]] = float;

  static constexpr int kInY = kTileY + 2, kInX = kTileX + 2, kProducts = kInY * kInX;
  static constexpr Int kColumns = kWinogradColumns, kRows = kWinogradPieceRows, kTogether = 8;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // The windows of one input channel by place in the window; channels beyond the last have weights of zero.
  struct Windows {
    alignas(64) double value[9][kColumns];
  };
  static void Take(const Winograd& job, const WinogradPiece& piece, Int in, Windows* windows) {
    const Int columns = in < job.in_channels ? Min(kColumns, job.out_channels - piece.first) : 0;
    for (Int column = 0; column < columns; ++column) {
      const float* window = piece.weights + ((piece.first + column) * job.in_channels + in) * 9;
      for (int k = 0; k < 9; ++k) windows->value[job.mirrored ? 8 - k : k][column] = static_cast<double>(window[k]);
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
      Doubles rows[3][kInX];
      for (int r = 0; r < 3; ++r) {
        Doubles w[3];
        for (int k = 0; k < 3; ++k) __builtin_memcpy(&w[k], &windows.value[3 * r + k][column], sizeof w[k]);
        WinogradTransform<Ops, kTileX>::Weights(w[0], w[1], w[2], rows[r]);
      }
      for (int c = 0; c < kInX; ++c) {
        Doubles y[kInY];
        WinogradTransform<Ops, kTileY>::Weights(rows[0][c], rows[1][c], rows[2][c], y);
        for (int r = 0; r < kInY; ++r) {
          const Floats rounded = __builtin_convertvector(y[r], Floats);
          __builtin_memcpy(&products->value[r * kInX + c][row][column], &rounded, sizeof rounded);
        }
      }
    }
  }

  static void Write(const float (&numbers)[kRows][kColumns], Int count, float* to) {
    for (Int row = 0; row < count; ++row, to += kColumns) {
      for (Int column = 0; column < kColumns; column += Ops::kLanes) {
        const auto vector = Ops::template Load<false>(&numbers[row][column], Ops::kLanes);
        Ops::template Store<false>(to + column, Ops::kLanes, vector);
      }
    }
  }
  // Pairs of input channels lie side by side.
  static void Write(const float (&numbers)[kRows][kColumns], Int count, std::uint16_t* to) {
    std::uint16_t rounded[2][kColumns];
    for (Int row = 0; row < count; row += 2, to += 2 * kColumns) {
      for (Int column = 0; column < kColumns; column += Ops::kLanes) {
        for (Int i = 0; i < 2; ++i) {
          const auto vector = Ops::template Load<false>(&numbers[row + i][column], Ops::kLanes);
          Ops::template Store<true>(&rounded[i][column], Ops::kLanes, vector);
        }
      }
      for (Int column = 0; column < kColumns; ++column) {
        to[2 * column] = rounded[0][column];
        to[2 * column + 1] = rounded[1][column];
      }
    }
  }

  static void Pack(const Winograd& job, const WinogradPiece& piece) {
    Windows windows;
    Products products;
    for (Int row = 0; row < piece.count; ++row) {
      Take(job, piece, piece.in + row, &windows);
      Transform(windows, row, &products);
    }
    auto* to = static_cast<Tile*>(piece.packed);
    for (Int p = 0; p < kProducts; ++p) Write(products.value[p], piece.count, to + p * piece.product_stride);
  }
};

}  // namespace amp::kernels
