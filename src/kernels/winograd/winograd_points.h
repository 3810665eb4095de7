// The points of Winograd's transforms: 0, some pairs of a number and its negative, and infinity.
#pragma once

namespace amp::kernels {

// Such numbers, which are exact. Of points that were tried those that lose least: for two pairs half as much accuracy
// as 1 and 2.
template <int kPairs>
struct WinogradPoints;
template <>
struct WinogradPoints<1> {
  static constexpr float kValues[] = {1.0f};
};
template <>
struct WinogradPoints<2> {
  static constexpr float kValues[] = {0.625f, 1.5625f};
};
template <>
struct WinogradPoints<3> {
  static constexpr float kValues[] = {0.5f, 1.0f, 2.0f};
};
template <>
struct WinogradPoints<4> {
  static constexpr float kValues[] = {0.5f, 0.75f, 1.25f, 2.0f};
};

}  // namespace amp::kernels
