#include "kernels/elementwise/map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

const MapTable* TableOf(Isa isa) { return testing::TableFor<MapTable>(isa); }

// The result of the last step, in float32.
void RunTable(const MapTable& table, MapView map, const void* const* operands, void* result, std::int64_t begin,
              std::int64_t end) {
  const MapResult last{static_cast<std::uint8_t>(map.num_operands + map.num_steps - 1), ElementType::kFloat32};
  map.results = &last;
  map.num_results = 1;
  table.range(map, operands, &result, begin, end);
}

// ---- an obvious definition ----

float DefineStep(const MapStep& s, float x, float y, float z) {
  const auto real = [](bool value) { return value ? 1.0f : 0.0f; };
  switch (s.op) {
    case MapOp::kAdd:
      return x + y;
    case MapOp::kSub:
      return x - y;
    case MapOp::kMul:
      return x * y;
    case MapOp::kDiv:
      return x / y;
    case MapOp::kMax:
      return x > y || std::isnan(x) ? x : y;
    case MapOp::kMin:
      return x < y || std::isnan(x) ? x : y;
    case MapOp::kEqual:
      return real(x == y);
    case MapOp::kNotEqual:
      return real(x != y);
    case MapOp::kGreater:
      return real(x > y);
    case MapOp::kGreaterEqual:
      return real(x >= y);
    case MapOp::kLess:
      return real(x < y);
    case MapOp::kLessEqual:
      return real(x <= y);
    case MapOp::kAnd:
      return real(x != 0 && y != 0);
    case MapOp::kOr:
      return real(x != 0 || y != 0);
    case MapOp::kXor:
      return real((x != 0) != (y != 0));
    case MapOp::kSelect:
      return x != 0 ? y : z;
    case MapOp::kMulAdd:
      return x * y + z;
    case MapOp::kConstant:
      return s.alpha;
    case MapOp::kLinear:
      return x * s.alpha + s.beta;
    case MapOp::kClip:
      return x < s.alpha ? s.alpha : x > s.beta ? s.beta : x;
    case MapOp::kRelu:
      return x > 0 || std::isnan(x) ? x : s.alpha == 0 ? 0 : x * s.alpha;
    case MapOp::kNegative:
      return -x;
    case MapOp::kAbs:
      return std::fabs(x);
    case MapOp::kSquare:
      return x * x;
    case MapOp::kSqrt:
      return std::sqrt(x);
    case MapOp::kReciprocal:
      return 1 / x;
    case MapOp::kFloor:
      return std::floor(x);
    case MapOp::kCeil:
      return std::ceil(x);
    case MapOp::kTrunc:
      return std::trunc(x);
    case MapOp::kExp:
      return static_cast<float>(std::exp(static_cast<double>(x)));
    case MapOp::kLog:
      return static_cast<float>(std::log(static_cast<double>(x)));
    case MapOp::kSigmoid:
      return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x))));
    case MapOp::kTanh:
      return static_cast<float>(std::tanh(static_cast<double>(x)));
    case MapOp::kErf:
      return static_cast<float>(std::erf(static_cast<double>(x)));
    case MapOp::kRoundToBF16:
      return BF16ToFloat(FloatToBF16(x));
    case MapOp::kFunction:
      return static_cast<float>(s.function(static_cast<double>(x)));
    case MapOp::kFunction2:
      break;
  }
  return static_cast<float>(s.function2(static_cast<double>(x), static_cast<double>(y)));
}

constexpr int kNumOps = static_cast<int>(MapOp::kFunction2) + 1;

// Within four units in the last place, of denormals or of what a fused product rounds away; or both NaN.
bool IsNear(float actual, float expected, float scale) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (actual == expected) return true;
  const float size = std::max({std::fabs(expected), scale, 1e-37f});
  return std::fabs(actual - expected) <= 4 * 1.2e-7f * size;
}

std::vector<float> Interesting(Random& random, std::size_t count) {
  const float special[] = {0.0f,     -0.0f,     1.0f, -1.0f, 0.5f,   -0.5f,   2.5f,  1e-40f, -1e-40f, 3e38f, -3e38f,
                           INFINITY, -INFINITY, NAN,  88.7f, -87.5f, -103.0f, 0.62f, 0.63f,  8388609, 1e9f,  -7.0f};
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& value : values) value = random() % 4 == 0 ? special[random() % std::size(special)] : normal(random);
  return values;
}

// ---- single operations ----

TEST(Map, EachOperationIsItsDefinition) {
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    const MapTable* table = TableOf(isa);
    if (table == nullptr) continue;
    Random random(7);
    for (int op = 0; op < kNumOps; ++op) {
      const MapStep step{static_cast<MapOp>(op), 0, 1, 2, 0.75f, 1.5f, std::sinh, std::atan2};
      constexpr std::size_t kCount = 3000;
      const Guarded<float> x(Interesting(random, kCount)), y(Interesting(random, kCount)),
          z(Interesting(random, kCount));
      const Guarded<float> out(kCount);
      const std::int64_t count = kCount;
      MapWalk walk{ElementType::kFloat32, 1, {count}, {1}};
      const MapWalk walks[] = {walk, walk, walk};
      const void* operands[] = {x.data(), y.data(), z.data()};
      RunTable(*table, {walks, 3, &step, 1}, operands, out.data(), 0, count);
      for (std::size_t i = 0; i < kCount; ++i) {
        const float expected = DefineStep(step, x.data()[i], y.data()[i], z.data()[i]);
        const float scale = step.op == MapOp::kLinear   ? std::fabs(x.data()[i])
                            : step.op == MapOp::kMulAdd ? std::fabs(x.data()[i] * y.data()[i])
                                                        : 0;
        ASSERT_TRUE(IsNear(out.data()[i], expected, scale))
            << IsaName(isa) << " operation " << op << " of " << x.data()[i] << ", " << y.data()[i] << ": "
            << out.data()[i] << ", expected " << expected;
      }
    }
  }
}

// ---- walks, dtypes and chains ----

struct TestMap {
  std::vector<ElementType> types;
  ElementType result = ElementType::kFloat32;
  std::vector<MapStep> steps;
  std::vector<MapAxis> axes;
  std::vector<std::int64_t> extents;  // elements of each operand's memory
  std::int64_t count = 1;
};

// Operands are dense in an order of their own, with some axes broadcast.
void DrawMapAxes(Random& random, std::size_t num_operands, TestMap* map) {
  map->axes.resize(1 + random() % 5);
  for (MapAxis& axis : map->axes) {
    axis.size = random() % 3 == 0 ? 1 + random() % 40 : 1 + random() % 5;
    axis.strides.resize(num_operands);
    map->count *= axis.size;
  }
  for (std::size_t operand = 0; operand < num_operands; ++operand) {
    std::vector<MapAxis*> order;
    for (MapAxis& axis : map->axes) order.push_back(&axis);
    if (random() % 3 == 0) std::shuffle(order.begin(), order.end(), random);
    std::int64_t stride = 1;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      const bool is_broadcast = random() % 4 == 0;
      (*axis)->strides[operand] = is_broadcast ? 0 : stride;
      if (!is_broadcast) stride *= (*axis)->size;
    }
    map->extents.push_back(stride);
  }
}

TestMap DrawMap(Random& random) {
  constexpr ElementType kOperandTypes[] = {ElementType::kFloat32, ElementType::kFloat32, ElementType::kBFloat16,
                                           ElementType::kInt8,    ElementType::kUInt8,   ElementType::kInt32,
                                           ElementType::kInt64,   ElementType::kBool};
  constexpr ElementType kResultTypes[] = {ElementType::kFloat32, ElementType::kBFloat16, ElementType::kBool};
  // Exact operations: every instruction set gives the same bits.
  constexpr MapOp kOps[] = {MapOp::kAdd,     MapOp::kSub, MapOp::kMax,        MapOp::kSelect,
                            MapOp::kGreater, MapOp::kAbs, MapOp::kRoundToBF16};
  TestMap map;
  const std::size_t num_operands = 1 + random() % 4;
  for (std::size_t i = 0; i < num_operands; ++i)
    map.types.push_back(kOperandTypes[random() % std::size(kOperandTypes)]);
  map.result = kResultTypes[random() % std::size(kResultTypes)];
  DrawMapAxes(random, num_operands, &map);
  const std::size_t num_steps = 1 + random() % 6;
  for (std::size_t i = 0; i < num_steps; ++i) {
    const auto any = [&] { return static_cast<std::uint8_t>(random() % (num_operands + i)); };
    map.steps.push_back({kOps[random() % std::size(kOps)], any(), any(), any()});
  }
  return map;
}

float NumberAt(ElementType type, const char* data, std::int64_t i) {
  float number = 0;
  Cast(type, data + static_cast<std::size_t>(i) * ElementBytes(type), ElementType::kFloat32, &number, 1);
  return number;
}

std::vector<char> MapSlowly(const TestMap& map, const std::vector<const char*>& operands) {
  std::vector<float> results;
  std::vector<std::int64_t> index(map.axes.size());
  for (std::int64_t n = 0; n < map.count; ++n) {
    std::vector<float> registers;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      std::int64_t offset = 0;
      for (std::size_t a = 0; a < index.size(); ++a) offset += index[a] * map.axes[a].strides[o];
      registers.push_back(NumberAt(map.types[o], operands[o], offset));
    }
    for (const MapStep& s : map.steps)
      registers.push_back(DefineStep(s, registers[s.x], registers[s.y], registers[s.z]));
    results.push_back(registers.back());
    for (std::size_t a = index.size(); a-- > 0 && ++index[a] == map.axes[a].size;) index[a] = 0;
  }
  std::vector<char> bytes(results.size() * ElementBytes(map.result));
  Cast(ElementType::kFloat32, results.data(), map.result, bytes.data(), results.size());
  return bytes;
}

TEST(Map, WalksDTypesAndChainsAreThoseOfTheDefinition) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const TestMap test = DrawMap(random);
    std::vector<std::unique_ptr<Guarded<char>>> memory;
    std::vector<const void*> pointers;
    std::vector<const char*> operands;
    for (std::size_t i = 0; i < test.types.size(); ++i) {
      std::vector<float> values(static_cast<std::size_t>(test.extents[i]));
      for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 21) - 10);
      std::vector<char> bytes(values.size() * ElementBytes(test.types[i]));
      Cast(ElementType::kFloat32, values.data(), test.types[i], bytes.data(), values.size());
      memory.push_back(std::make_unique<Guarded<char>>(bytes));
      pointers.push_back(memory.back()->data());
      operands.push_back(memory.back()->data());
    }
    const std::vector<char> expected = MapSlowly(test, operands);
    const Map map(test.types, test.result, test.steps, test.axes);
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      const Guarded<char> out(expected.size());
      map.Run(pointers.data(), out.data());
      ASSERT_EQ(out.values(), expected) << "seed " << seed;
    }
  }
}

// Blocks of channels: their numbers repeat for each row of a plane.
TEST(Map, NumbersOfBlockedChannels) {
  constexpr ElementType kF32 = ElementType::kFloat32;
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    const MapTable* table = TableOf(isa);
    if (table == nullptr) continue;
    for (const std::int64_t block : {3, 8, 16}) {
      for (const std::int64_t rows : {1, 2, 49, 200}) {
        constexpr std::int64_t kBatch = 2, kBlocks = 5;
        const std::int64_t count = kBatch * kBlocks * rows * block;
        std::vector<float> numbers(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
        const Guarded<float> x(numbers),
            of_channel(std::vector<float>(numbers.begin(), numbers.begin() + kBlocks * block));
        const MapWalk walks[] = {{kF32, 1, {count}, {1}}, {kF32, 4, {kBatch, kBlocks, rows, block}, {0, block, 0, 1}}};
        const MapStep step{MapOp::kAdd, 0, 1};
        const void* operands[] = {x.data(), of_channel.data()};
        const Guarded<float> out(numbers.size());
        RunTable(*table, {walks, 2, &step, 1}, operands, out.data(), 0, count);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(i / (rows * block) % kBlocks * block + i % block);
          ASSERT_EQ(out.data()[i], numbers[static_cast<std::size_t>(i)] + numbers[at])
              << IsaName(isa) << " blocks of " << block << ", " << rows << " rows, element " << i;
        }
      }
    }
  }
}

// Rows that fit into a tile a whole number of times, that do not, and that are longer than one.
TEST(Map, RowsMayRepeat) {
  constexpr ElementType kF32 = ElementType::kFloat32;
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    const MapTable* table = TableOf(isa);
    if (table == nullptr) continue;
    for (const std::int64_t columns : {1, 16, 64, 96, 500, 512, 1024, 1040}) {
      const std::int64_t rows = 3 + 2000 / columns, count = rows * columns;
      Random random(3);
      std::vector<float> numbers(static_cast<std::size_t>(count));
      for (float& number : numbers) number = static_cast<float>(static_cast<int>(random() % 21) - 10);
      const auto first = [&](std::int64_t n) {
        return Guarded<float>(std::vector<float>(numbers.begin(), numbers.begin() + n));
      };
      const Guarded<float> x(numbers), of_column = first(columns), of_row = first(rows), one = first(1);
      const MapWalk walks[] = {{kF32, 1, {count}, {1}},
                               {kF32, 2, {rows, columns}, {0, 1}},
                               {kF32, 2, {rows, columns}, {1, 0}},
                               {kF32, 1, {count}, {0}}};
      const MapStep steps[] = {{MapOp::kMulAdd, 0, 1, 2}, {MapOp::kAdd, 4, 3}};
      const void* operands[] = {x.data(), of_column.data(), of_row.data(), one.data()};
      const Guarded<float> out(numbers.size());
      const std::int64_t middle = count / 2;
      RunTable(*table, {walks, 4, steps, 2}, operands, out.data(), 0, middle);
      RunTable(*table, {walks, 4, steps, 2}, operands, out.data(), middle, count);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto width = static_cast<std::size_t>(columns);
        const float expected = numbers[i] * numbers[i % width] + numbers[i / width] + numbers[0];
        ASSERT_EQ(out.data()[i], expected) << IsaName(isa) << " " << columns << " columns, element " << i;
      }
    }
  }
}

// Two of them lie where operands do, and what is written is not read again.
TEST(Map, SeveralResultsMayBeInPlace) {
  constexpr ElementType kF32 = ElementType::kFloat32, kBF16 = ElementType::kBFloat16;
  for (const std::size_t count : {1u, 15u, 512u, 1300u, 40000u}) {
    std::vector<float> x(count), y(count);
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<float>(i % 77);
      y[i] = static_cast<float>(i % 13) - 6;
    }
    const Guarded<float> first(x), second(y);
    const Guarded<std::uint16_t> low(count);
    const Map map({kF32, kF32}, {{2, kF32}, {3, kF32}, {3, kBF16}}, {{MapOp::kAdd, 0, 1}, {MapOp::kMulAdd, 0, 1, 2}},
                  {{static_cast<std::int64_t>(count), {1, 1}}});
    const void* operands[] = {first.data(), second.data()};
    void* results[] = {first.data(), second.data(), low.data()};
    map.Run(operands, results);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(first.data()[i], x[i] + y[i]) << i;
      ASSERT_EQ(second.data()[i], x[i] * y[i] + x[i] + y[i]) << i;
      ASSERT_EQ(low.data()[i], FloatToBF16(x[i] * y[i] + x[i] + y[i])) << i;
    }
  }
}

TEST(Map, ResultsMayTradePlaces) {
  constexpr ElementType kF32 = ElementType::kFloat32;
  const Guarded<float> first(std::vector<float>(1040, 1)), second(std::vector<float>(1040, 2));
  const Map map({kF32, kF32}, {{1, kF32}, {0, kF32}}, {{MapOp::kAdd, 0, 1}}, {{1040, {1, 1}}});
  const void* operands[] = {first.data(), second.data()};
  void* results[] = {first.data(), second.data()};
  map.Run(operands, results);
  EXPECT_EQ(first.values(), std::vector<float>(1040, 2));
  EXPECT_EQ(second.values(), std::vector<float>(1040, 1));
}

// Steps in place: of whole tiles, and of what is left.
TEST(Map, StepsAreAppliedInPlace) {
  const std::vector<MapStep> steps{{MapOp::kLinear, 0, 0, 0, 0.5f, 1}, {MapOp::kTanh, 1}, {MapOp::kMul, 2, 0}};
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    const MapTable* table = TableOf(isa);
    if (table == nullptr) continue;
    for (const std::int64_t count : {1, 15, 16, 448, 512, 1300}) {
      const auto padded = static_cast<std::size_t>((count + 15) / 16 * 16);
      std::vector<float> x(padded);
      for (std::size_t i = 0; i < padded; ++i) x[i] = 0.01f * static_cast<float>(i) - 2;
      const Guarded<float> numbers(x);
      table->apply(steps.data(), steps.size(), count, numbers.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const double half = 0.5 * static_cast<double>(x[i]) + 1;
        EXPECT_NEAR(numbers.data()[i], std::tanh(half) * static_cast<double>(x[i]), 2e-6) << IsaName(isa) << " " << i;
      }
    }
  }
}

TEST(Map, LargeOnesDoNotDependOnThreads) {
  constexpr std::int64_t kRows = 301, kColumns = 257;
  Random random(1);
  const std::vector<float> x = Interesting(random, kRows * kColumns), y = Interesting(random, kColumns);
  const Map map({ElementType::kFloat32, ElementType::kFloat32}, ElementType::kFloat32,
                {{MapOp::kMul, 0, 1}, {MapOp::kTanh, 2}, {MapOp::kLinear, 3, 0, 0, 2, 1}},
                {{kRows, {kColumns, 0}}, {kColumns, {1, 1}}});
  const void* operands[] = {x.data(), y.data()};
  std::vector<std::vector<std::uint32_t>> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    results.emplace_back(x.size());
    map.Run(operands, results.back().data());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace amp::kernels
