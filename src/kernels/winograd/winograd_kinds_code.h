// Tables of the code of Winograd convolutions; see winograd_code.h.
#pragma once

#include "kernels/winograd/winograd_code.h"
#include "kernels/winograd/winograd_weights_code.h"

namespace amp::kernels {

template <class Ops, WinogradKind kKind>
struct WinogradKindCode {
  static constexpr WinogradShape kShape = WinogradShapeOf(kKind);
  using AxisY = WinogradAxis<static_cast<int>(kShape.tile_height), static_cast<int>(kShape.window_height)>;
  using AxisX = WinogradAxis<static_cast<int>(kShape.tile_width), static_cast<int>(kShape.window_width)>;

  static constexpr void AddTo(WinogradTable* table) {
    table->run[static_cast<int>(kKind)] = WinogradCode<Ops, AxisY, AxisX>::Run;
    table->pack[static_cast<int>(kKind)] = WinogradWeightsCode<Ops, AxisY, AxisX>::Pack;
  }
};

template <class Ops>  // of float32
constexpr void AddWinogradFloats(WinogradTable* table) {
  WinogradKindCode<Ops, WinogradKind::kF4x4>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::kF2x2>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k1x7>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k1x3>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k5x5>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k2x2>::AddTo(table);
}

template <class Ops>  // of int16
constexpr void AddWinogradIntegers(WinogradTable* table) {
  WinogradKindCode<Ops, WinogradKind::kF4x4Int16>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::kF4x2Int16>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::kF2x2Int16>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k1x7Int16>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k1x3Int16>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k5x5Int16>::AddTo(table);
  WinogradKindCode<Ops, WinogradKind::k2x2Int16>::AddTo(table);
}

}  // namespace amp::kernels
