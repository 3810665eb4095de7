// The points of Winograd's transforms.
#pragma once

namespace amp::kernels {

// Points at which polynomials are evaluated, for tiles of 4: 0, +-5/8, +-25/16 and infinity. They lose half as much
// accuracy as 0, +-1, +-2; all constants are exact. For tiles of 2: 0, +-1 and infinity.
struct WinogradPoints {
  static constexpr float kA = 0.625f, kB = 1.5625f;
  static constexpr float kA2 = kA * kA, kB2 = kB * kB;
};

}  // namespace amp::kernels
