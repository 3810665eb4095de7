// What operators that draw numbers as NumPy does have in common with the form in which they run: each parameter is a
// number or an array, arrays are broadcast, and the output has the shape `size` or that of the parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nnvm/op.h"
#include "ops/common/broadcast.h"
#include "ops/common/open_shape.h"
#include "passes/infer.h"

namespace amp {

// `kIsOne`: the first parameter is 1 where nothing is said, and else an array.
template <bool kIsOne>
struct BroadcastDrawParam {
  std::string distribution;
  std::optional<double> first = kIsOne ? std::optional(1.0) : std::nullopt, second;  // nullopt: an array
  std::optional<IntTuple> size;
  bool size_leads = false;  // `size` numbers for each element of the parameters, whose shape follows
  DType dtype = DType::kFloat32;
  std::int64_t stream = 0;
};

// How many of the parameters are arrays, for a distribution that has so many.
template <class P>
int NumArrays(const P& p, int num_parameters) {
  return (p.first ? 0 : 1) + (num_parameters == 2 && !p.second ? 1 : 0);
}

// The first inputs are the parameters that are arrays.
template <class P>
void InferBroadcastDraw(ShapeRelation& r, int num_arrays) {
  const auto& p = r.node().params<P>();
  Shape parameters{std::vector<std::int64_t>{}};
  for (int i = 0; i < num_arrays; ++i) {
    if (!r.in(i).rank_known()) return;
    parameters = BroadcastOf(r.node(), parameters, r.in(i));
  }
  if (!p.size) return r.Out(0, parameters);
  if (p.size_leads) {
    std::vector<std::int64_t> dims = *p.size;
    dims.insert(dims.end(), parameters.dims().begin(), parameters.dims().end());
    return r.Out(0, Shape(std::move(dims)));
  }
  const Shape size(*p.size);
  if (parameters.fully_known() && BroadcastOf(r.node(), parameters, size) != size) {
    FailAt(r.node(), "parameters of shape {} cannot be broadcast to size {}", parameters.ToString(), size.ToString());
  }
  r.Out(0, size);
}

}  // namespace amp
