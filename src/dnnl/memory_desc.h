// Types, shapes and layouts as oneDNN describes memory.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <string>

#include "nnvm/ndarray.h"

namespace amp::onednn {

using Desc = dnnl::memory::desc;

dnnl::memory::data_type DataType(DType dtype);
dnnl::memory::dims DimsOf(const Shape& shape);  // rank 0 becomes {1}
Desc PlainDesc(const TensorType& type);         // row-major
Desc AnyDesc(const TensorType& type);           // layout left to the primitive

// nullopt where a layout in blocks would be too large: oneDNN 3.13 refuses it, and 3.2 does not.
std::optional<Desc> TaggedDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                               dnnl::memory::format_tag tag);

// The bytes of a tensor lie in row-major order without gaps (sizes of 1 do not matter).
bool IsRowMajor(const Desc& desc);
// `desc` with another element type; an empty descriptor where its layout cannot be named.
Desc WithDType(const Desc& desc, DType dtype);
// Element i of both lies in the same place, counted in elements; their types may differ.
bool HaveSameOrder(const Desc& a, const Desc& b);
// Row-major with the channels (axis 1) moved behind everything else.
Desc ChannelsLast(const TensorType& type);
// Dense memory for `type` with the axes in the same order as in `like`; row-major where `like` is blocked.
Desc DenseLike(const Desc& like, const TensorType& type);
// Dense memory for `type` with the axes and blocks of `like`, which has other sizes; row-major where that cannot be.
Desc DenseWithBlocksOf(const Desc& like, const TensorType& type);
// How far behind the beginning of its memory the elements begin, in bytes.
std::size_t FirstByte(const Desc& desc, DType dtype);
// The elements, padding included, fill their memory from its beginning to its end.
bool IsDense(const Desc& desc, DType dtype);
// "abcd", "acdb", "aBcd16b", "strides[...]" or "packed": for people.
std::string LayoutName(const Desc& desc);

}  // namespace amp::onednn
