// Memory seen as rows of channels, for our own kernels.
#pragma once

#include <optional>

#include "dnnl/memory_desc.h"

namespace amp::onednn {

// Element (n, block, row, channel) of a tensor (N, C, spatial...) lies `batch * n + block * .. + row * .. + channel`
// elements from the beginning. Channels-last: one block. Blocked channels: rows of one block. Channels first: blocks of
// one channel each, whose one row is the plane.
struct ChannelRows {
  std::int64_t num_batch = 1, num_blocks = 1, num_rows = 1, row_length = 1;
  std::int64_t batch = 0, block = 0, row = 0;
  bool planes = false;
};

// nullopt for other layouts.
std::optional<ChannelRows> ChannelRowsOf(const Desc& desc);

// Both are seen as the same rows, at other distances perhaps.
bool HaveSameRows(const Desc& a, const Desc& b);

// Dense memory in the same order of axes and blocks, of another dtype perhaps; row-major where that cannot be.
Desc DenseCopy(const Desc& desc, const TensorType& type);

}  // namespace amp::onednn
