// Sums over ranks.
#pragma once

#include <cstdint>

#include "dist/comm.h"
#include "kernels/elementwise/cast.h"

namespace amp::dist {

// `result` (of `dtype`) becomes the sum of all ranks' arrays, each first converted to `dtype`. Elements are added in
// the order of ranks; for bfloat16 and float16 each sum is rounded. So the bits depend neither on the engine nor on who
// comes first. Each rank adds one slice: it receives that slice of all others, and sends them the sum.
//
// A rank sends (W - 1) / W of the array, in its own dtype where `dtype` holds its values exactly and else in `dtype`,
// and as many elements of the sum. Throws ArgumentError for what is no float.
void AllReduce(Comm* comm, kernels::ElementType from, const void* array, kernels::ElementType dtype, void* result,
               std::int64_t count);

// All ranks get the bytes of rank `root`. They go from rank to rank in pieces: a rank sends all of them at most once.
void Broadcast(Comm* comm, int root, std::span<std::byte> bytes);

}  // namespace amp::dist
