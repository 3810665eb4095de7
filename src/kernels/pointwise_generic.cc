#include "kernels/pointwise.h"
#include "kernels/pointwise_code.h"
#include "kernels/tile_vectors_generic.h"

namespace amp::kernels {
namespace {

struct Ops : TileVectors {
  using Factor = Vector;
  using Column = Vector;

  static Vector Broadcast(const float* from) { return All(*from); }
  static Vector LoadColumn(const float* from) { return Code::Load(from); }
  static Vector Accumulate(Vector factor, Vector column, Vector sum) { return factor * column + sum; }
};

constexpr PointwiseTable kTable = {Isa::kGeneric, {PointwiseCode<Ops>::Run, nullptr}, Ops::kRows};

}  // namespace

const PointwiseTable* PointwiseTableGeneric() { return &kTable; }

}  // namespace amp::kernels
