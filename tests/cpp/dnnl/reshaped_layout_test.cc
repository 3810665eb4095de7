#include "dnnl/reshaped_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

TensorType Floats(std::vector<std::int64_t> dims) { return {DType::kFloat32, Shape(std::move(dims))}; }

Desc InOrder(const Dims& dims, const std::vector<std::size_t>& outermost_first) {
  Dims strides(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[outermost_first[i]] = stride;
    stride *= dims[outermost_first[i]];
  }
  return Desc(dims, dnnl::memory::data_type::f32, strides);
}

TEST(ReshapedLayout, SplitChannelsOfChannelsLastStay) {
  const Desc from = ChannelsLast(Floats({2, 12, 5, 7}));
  const TensorType split = Floats({2, 3, 4, 5, 7});
  EXPECT_EQ(LayoutToReshape(from, split), from);
  EXPECT_EQ(ReshapedLayout(from, split).get_strides(), (Dims{420, 4, 1, 84, 12}));
}

TEST(ReshapedLayout, ShuffledChannelsAreCopiedToChannelsLast) {
  const Desc split = Desc({2, 4, 3, 5, 7}, dnnl::memory::data_type::f32, Dims{420, 1, 4, 84, 12});  // permuted
  const TensorType merged = Floats({2, 12, 5, 7});
  const Desc readable = LayoutToReshape(split, merged);
  EXPECT_EQ(readable.get_strides(), (Dims{420, 3, 1, 84, 12}));
  EXPECT_EQ(ReshapedLayout(readable, merged), ChannelsLast(merged));
}

TEST(ReshapedLayout, FlattenedChannelsLastBecomesRowMajor) {
  const TensorType image = Floats({2, 12, 5, 7}), flat = Floats({2, 420});
  EXPECT_TRUE(IsRowMajor(LayoutToReshape(ChannelsLast(image), flat)));
  EXPECT_TRUE(IsRowMajor(ReshapedLayout(PlainDesc(image), flat)));
}

TEST(ReshapedLayout, PartsOfTensorsAndBlocksBecomeRowMajor) {
  const Desc whole = ChannelsLast(Floats({2, 12, 5, 7}));
  const Desc part = whole.submemory_desc({2, 6, 5, 7}, {0, 6, 0, 0});
  EXPECT_TRUE(IsRowMajor(LayoutToReshape(part, Floats({2, 2, 3, 5, 7}))));
  const Desc blocks({2, 16, 5, 7}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::aBcd16b);
  EXPECT_TRUE(IsRowMajor(LayoutToReshape(blocks, Floats({2, 4, 4, 5, 7}))));
  EXPECT_TRUE(IsRowMajor(LayoutToReshape(ChannelsLast(Floats({2, 0, 5, 7})), Floats({0, 3}))));
}

// The place of the element with that number in row-major order.
dnnl::memory::dim PlaceOf(const Desc& desc, dnnl::memory::dim number) {
  const Dims dims = desc.get_dims(), strides = desc.get_strides();
  dnnl::memory::dim place = 0;
  for (std::size_t i = dims.size(); i-- > 0;) {
    place += number % dims[i] * strides[i];
    number /= dims[i];
  }
  return place;
}

// Factors of 2, 3 and 5 and ones, shared out among axes.
Dims Shuffled(std::vector<int> factors, std::mt19937* random) {
  std::shuffle(factors.begin(), factors.end(), *random);
  Dims dims;
  while (!factors.empty()) {
    dims.push_back(1);
    const std::size_t count = std::min<std::size_t>((*random)() % 3, factors.size());
    for (std::size_t i = 0; i < count; ++i) {
      dims.back() *= factors.back();
      factors.pop_back();
    }
    if (dims.size() == 9) break;
  }
  for (const int factor : factors) dims.back() *= factor;
  return dims;
}

TEST(ReshapedLayout, RandomShapesOverPermutedMemory) {
  std::mt19937 random(3);
  int kept = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<int> factors{2, 2, 3, 5, 2, 3};
    const Dims dims = Shuffled(factors, &random);
    std::vector<std::size_t> order(dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const Desc from = InOrder(dims, order);
    const Dims out = Shuffled(factors, &random);
    const TensorType type = Floats(std::vector<std::int64_t>(out.begin(), out.end()));
    const Desc readable = LayoutToReshape(from, type);
    const Desc reshaped = ReshapedLayout(readable, type);
    ASSERT_EQ(readable.get_dims(), dims);
    ASSERT_TRUE(IsDense(readable, DType::kFloat32));
    kept += readable == from && !IsRowMajor(from);
    for (dnnl::memory::dim number = 0; number < 360; ++number) {
      ASSERT_EQ(PlaceOf(reshaped, number), PlaceOf(readable, number)) << "draw " << i << ", element " << number;
    }
  }
  EXPECT_GT(kept, 50);  // not all draws were copies
}

}  // namespace
}  // namespace amp::onednn
