// How the six numbers of a transform of F(4) are rounded to bfloat16.
#pragma once

namespace amp::kernels {

// One after another: what a number lost is made up for by those that are not rounded yet. Each result of a tile is a
// sum of their products, so errors of them can cancel. With the output transform A, an error e of transformed numbers
// adds e' M e to the mean square of the results' errors, M = (A' A) * S element by element, where S is what the numbers
// that they are multiplied with are on average: S(p, q) is the mean of the p-th times the q-th. After an error of the
// first number the best errors of the others are -inv(M22) M21 times it. (Babai's nearest plane. It leaves 0.55 to 0.65
// of the mean square error of rounding to nearest.)
struct WinogradRounding {
  // The order in which numbers are rounded; the best of all 720.
  static constexpr int kOrder[6] = {3, 1, 0, 2, 5, 4};
  // [i][j]: how much of the i-th error in the order is added to the j-th number. Tiles are multiplied with transformed
  // weights that have nothing in common.
  static constexpr float kOfTiles[5][6] = {{0, 1.037490f, 0.560151f, 0.017221f, -1.138707f, -0.289635f},
                                           {0, 0, 0.901318f, 0.551547f, 0.243709f, 0.233335f},
                                           {0, 0, 0, 0.925122f, 0.279345f, 0.359559f},
                                           {0, 0, 0, 0, 0.378185f, 0.470625f},
                                           {0, 0, 0, 0, 0, 0.414096f}};
  // Weights are multiplied with transformed rows of an image whose numbers have a mean of 0.63 deviations, and a
  // correlation of 0.4 from one to the next.
  static constexpr float kOfWeights[5][6] = {{0, -0.451913f, 0.793360f, -0.785815f, 3.402285f, 0.649562f},
                                             {0, 0, -1.406306f, 0.635941f, -0.067909f, -0.083562f},
                                             {0, 0, 0, -0.732247f, 0.173811f, 0.139760f},
                                             {0, 0, 0, 0, -0.385321f, -0.273968f},
                                             {0, 0, 0, 0, 0, 0.233669f}};
};

// `Ops` has Vector, All, MultiplyAdd and ToBF16, which gives numbers of float32 that are bfloat16. An infinity and a
// NaN make the numbers behind them NaNs.
template <class Ops>
struct WinogradRoundingCode {
  using V = typename Ops::Vector;

  [[gnu::always_inline]] static void Round(const float (&shares)[5][6], V (&x)[6]) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) {
      V& number = x[WinogradRounding::kOrder[i]];
      const V rounded = Ops::ToBF16(number), error = rounded - number;
      number = rounded;
#pragma GCC unroll 6
      for (int j = i + 1; j < 6; ++j) {
        V& other = x[WinogradRounding::kOrder[j]];
        other = Ops::MultiplyAdd(Ops::All(shares[i][j]), error, other);
      }
    }
  }
};

}  // namespace amp::kernels
