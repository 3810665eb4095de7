#include "dnnl/memory_desc.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "nnvm/error.h"

namespace amp::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

struct NamedTag {
  int rank;
  Tag tag;
  const char* name;
};

// The layouts of activations that primitives choose on x86-64.
constexpr std::array kTags{
    NamedTag{1, Tag::a, "a"},           NamedTag{2, Tag::ab, "ab"},           NamedTag{2, Tag::ba, "ba"},
    NamedTag{3, Tag::abc, "abc"},       NamedTag{3, Tag::acb, "acb"},         NamedTag{3, Tag::aBc8b, "aBc8b"},
    NamedTag{3, Tag::aBc16b, "aBc16b"}, NamedTag{4, Tag::abcd, "abcd"},       NamedTag{4, Tag::acdb, "acdb"},
    NamedTag{4, Tag::aBcd8b, "aBcd8b"}, NamedTag{4, Tag::aBcd16b, "aBcd16b"}, NamedTag{5, Tag::abcde, "abcde"},
    NamedTag{5, Tag::acdeb, "acdeb"},   NamedTag{5, Tag::aBcde8b, "aBcde8b"}, NamedTag{5, Tag::aBcde16b, "aBcde16b"},
    NamedTag{6, Tag::abcdef, "abcdef"},
};

const NamedTag* FindTag(const Desc& desc) {
  for (const NamedTag& candidate : kTags) {
    if (candidate.rank != desc.get_ndims()) continue;
    const std::optional<Desc> tagged = TaggedDesc(desc.get_dims(), desc.get_data_type(), candidate.tag);
    if (tagged && desc == *tagged) return &candidate;
  }
  return nullptr;
}

bool IsStrided(const Desc& desc) {
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked && desc.get_inner_nblks() == 0;
}

}  // namespace

dnnl::memory::data_type DataType(DType dtype) {
  using Type = dnnl::memory::data_type;
  switch (BytesOf(dtype)) {
    case 4:
      return dtype == DType::kFloat32 ? Type::f32 : Type::s32;
    case 2:
      return dtype == DType::kFloat16 ? Type::f16 : Type::bf16;
    case 1:
      return dtype == DType::kInt8 ? Type::s8 : Type::u8;
    default:
      break;
  }
  return Type::f64;
}

dnnl::memory::dims DimsOf(const Shape& shape) {
  return shape.rank() == 0 ? dnnl::memory::dims{1} : dnnl::memory::dims(shape.dims());
}

Desc PlainDesc(const TensorType& type) {
  if (type.shape.rank() > DNNL_MAX_NDIMS) {
    Throw<UnsupportedError>("tensors of rank above {} cannot be executed, got {}", DNNL_MAX_NDIMS, type.ToString());
  }
  const dnnl::memory::dims dims = DimsOf(type.shape);
  dnnl::memory::dims strides(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<dnnl::memory::dim>(1, dims[i]);
  }
  return Desc(dims, DataType(type.dtype), strides);
}

std::optional<Desc> TaggedDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type, Tag tag) {
  const Desc desc(dims, type, tag, /*allow_empty=*/true);
  return desc.get(true) == nullptr ? std::nullopt : std::optional(desc);
}

Desc AnyDesc(const TensorType& type) { return Desc(DimsOf(type.shape), DataType(type.dtype), Tag::any); }

bool IsRowMajor(const Desc& desc) {
  if (!IsStrided(desc) || desc.get_dims() != desc.get_padded_dims() || desc.get_submemory_offset() != 0) return false;
  const auto dims = desc.get_dims();
  const auto strides = desc.get_strides();
  dnnl::memory::dim expected = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= std::max<dnnl::memory::dim>(1, dims[i]);  // as PlainDesc counts
  }
  return true;
}

Desc WithDType(const Desc& desc, DType dtype) {
  const auto type = DataType(dtype);
  if (desc.get_data_type() == type) return desc;
  if (IsStrided(desc) && desc.get_dims() == desc.get_padded_dims()) {
    return Desc(desc.get_dims(), type, desc.get_strides());
  }
  const NamedTag* tag = FindTag(desc);
  return tag ? TaggedDesc(desc.get_dims(), type, tag->tag).value_or(Desc()) : Desc();
}

bool HaveSameOrder(const Desc& a, const Desc& b) {
  constexpr auto kBlocked = dnnl::memory::format_kind::blocked;
  return a.get_format_kind() == kBlocked && b.get_format_kind() == kBlocked && a.get_dims() == b.get_dims() &&
         a.get_padded_dims() == b.get_padded_dims() && a.get_submemory_offset() == b.get_submemory_offset() &&
         a.get_strides() == b.get_strides() && a.get_inner_blks() == b.get_inner_blks() &&
         a.get_inner_idxs() == b.get_inner_idxs();
}

Desc DenseLike(const Desc& like, const TensorType& type) {
  if (!IsStrided(like)) return PlainDesc(type);
  const auto order = like.get_strides();
  const dnnl::memory::dims dims = DimsOf(type.shape);
  std::vector<std::size_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return order[a] > order[b]; });
  dnnl::memory::dims strides(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = stride;
    stride *= std::max<dnnl::memory::dim>(1, dims[axes[i]]);
  }
  return Desc(dims, DataType(type.dtype), strides);
}

Desc DenseWithBlocksOf(const Desc& like, const TensorType& type) {
  const NamedTag* tag = IsStrided(like) ? nullptr : FindTag(like);
  std::optional<Desc> blocked;
  if (tag != nullptr) blocked = TaggedDesc(DimsOf(type.shape), DataType(type.dtype), tag->tag);
  return blocked ? *blocked : DenseLike(like, type);
}

Desc ChannelsLast(const TensorType& type) {
  const dnnl::memory::dims dims = DimsOf(type.shape);
  dnnl::memory::dims strides(dims.size());
  strides[1] = 1;
  dnnl::memory::dim stride = std::max<dnnl::memory::dim>(1, dims[1]);
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (i == 1) continue;
    strides[i] = stride;
    stride *= std::max<dnnl::memory::dim>(1, dims[i]);
  }
  return Desc(dims, DataType(type.dtype), strides);
}

std::size_t FirstByte(const Desc& desc, DType dtype) {
  return static_cast<std::size_t>(desc.get_submemory_offset()) * BytesOf(dtype);
}

bool IsDense(const Desc& desc, DType dtype) {
  if (desc.get_submemory_offset() != 0) return false;
  dnnl::memory::dim elements = 1;
  for (const auto dim : desc.get_padded_dims()) elements *= dim;
  return desc.get_size() == static_cast<std::size_t>(elements) * BytesOf(dtype);
}

std::string LayoutName(const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return "packed";
  if (const NamedTag* tag = FindTag(desc)) return tag->name;
  if (!IsStrided(desc)) return "packed";
  std::string text;
  for (const auto stride : desc.get_strides()) text += fmt::format("{}{}", text.empty() ? "" : ",", stride);
  return "strides[" + text + "]";
}

}  // namespace amp::onednn
