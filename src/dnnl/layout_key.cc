#include "dnnl/layout_key.h"

#include <fmt/ranges.h>

namespace amp::onednn {

std::string LayoutKey(const Desc& layout) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked) return "";
  return fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(layout.get_data_type()), layout.get_dims(),
                     layout.get_padded_dims(), layout.get_padded_offsets(), layout.get_strides(),
                     layout.get_inner_blks(), layout.get_inner_idxs(), layout.get_submemory_offset(),
                     layout.get_size());
}

}  // namespace amp::onednn
