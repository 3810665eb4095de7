#include "dnnl/strided_copy.h"

#include <cstring>

#include "dnnl/engine.h"
#include "dnnl/models.h"

namespace amp::onednn {
namespace {

using namespace testing;
using Tag = dnnl::memory::format_tag;

constexpr auto kBF16 = dnnl::memory::data_type::bf16;

// What oneDNN's reorder gives; there is no denormal in `from`.
std::vector<std::uint16_t> Reordered(const Desc& from, const Desc& to, const std::vector<std::uint16_t>& data) {
  std::vector<std::uint16_t> in = data, out(to.get_size() / 2);
  dnnl::memory source(from, CpuEngine(), in.data()), target(to, CpuEngine(), out.data());
  dnnl::stream stream(CpuEngine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return out;
}

TEST(StridedCopy, GoesWhereReordersOfTheLibraryGo) {
  const dnnl::memory::dims dims{2, 16, 5, 3};
  for (const Tag a : {Tag::abcd, Tag::acdb, Tag::cdba, Tag::aBcd8b, Tag::aBcd16b}) {
    for (const Tag b : {Tag::abcd, Tag::acdb, Tag::bacd, Tag::aBcd8b, Tag::aBcd16b}) {
      const Desc from(dims, kBF16, a), to(dims, kBF16, b);
      const auto copy = StridedCopyOf(from, to);
      const bool is_possible = a == b || !((a == Tag::aBcd8b && b == Tag::aBcd16b) ||  // blocks of two sizes
                                           (a == Tag::aBcd16b && b == Tag::aBcd8b));
      ASSERT_EQ(copy.has_value(), is_possible) << LayoutName(from) << " " << LayoutName(to);
      if (!copy) continue;
      std::vector<std::uint16_t> data(from.get_size() / 2), actual(data.size());
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint16_t>(0x3F80 + i);
      copy->Run(data.data(), actual.data());
      EXPECT_EQ(actual, Reordered(from, to, data)) << LayoutName(from) << " " << LayoutName(to);
    }
  }
}

// The results of first convolutions with few channels.
TEST(StridedCopy, ReadsBlocksThatAreNotFull) {
  for (const Tag b : {Tag::abcd, Tag::acdb}) {
    const dnnl::memory::dims dims{2, 10, 5, 3};
    const Desc from(dims, kBF16, Tag::aBcd16b), to(dims, kBF16, b);
    const auto copy = StridedCopyOf(from, to);
    ASSERT_TRUE(copy);
    std::vector<std::uint16_t> data(from.get_size() / 2), actual(to.get_size() / 2);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint16_t>(0x3F80 + i);
    copy->Run(data.data(), actual.data());
    EXPECT_EQ(actual, Reordered(from, to, data)) << LayoutName(to);
    EXPECT_FALSE(StridedCopyOf(to, from));  // its padding would have to become zero
  }
}

TEST(StridedCopy, LeavesOtherPaddedMemoryAndTypesToTheLibrary) {
  const dnnl::memory::dims dims{2, 12, 5, 3};
  const Desc plain(dims, kBF16, Tag::abcd);
  EXPECT_FALSE(StridedCopyOf(Desc(dims, kBF16, Tag::aBcd8b), plain));
  EXPECT_FALSE(StridedCopyOf(plain, Desc(dims, dnnl::memory::data_type::f32, Tag::acdb)));
}

// A transposed tensor with bfloat16 denormals, and a slice of it, on whatever CPU.
TEST(StridedCopy, TransposesAndSlicesKeepDenormals) {
  TestModel m;
  m.types["x"] = {DType::kBFloat16, {5, 4, 6}};
  const Symbol turned = Op("transpose", "turned", {Var("x")}, {{"axes", "(2, 0, 1)"}});
  m.symbol = Symbol::Group({turned, Op("slice_axis", "part", {turned}, {{"axis", "1"}, {"begin", "1"}, {"end", "4"}})});
  NDArray x(DType::kBFloat16, {5, 4, 6});
  for (int i = 0; i < 120; ++i) static_cast<std::uint16_t*>(x.data())[i] = static_cast<std::uint16_t>(i + 1);
  const auto outputs = Bind(m)->Run(std::vector<NDArray>{x});
  const auto at = [](const NDArray& array, int i) { return static_cast<const std::uint16_t*>(array.data())[i]; };
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int k = 0; k < 4; ++k) {
        const int value = (j * 4 + k) * 6 + i + 1;
        EXPECT_EQ(at(outputs[0], (i * 5 + j) * 4 + k), value);
        const bool is_in_slice = j >= 1 && j < 4;
        if (is_in_slice) {
          EXPECT_EQ(at(outputs[1], (i * 3 + j - 1) * 4 + k), value);
        }
      }
    }
  }
}

}  // namespace
}  // namespace amp::onednn
