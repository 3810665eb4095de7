// The code of maps, for vectors of kLanes numbers; see vector_code.h.
#pragma once

#include "kernels/base/vector_code.h"
#include "kernels/elementwise/map.h"

namespace amp::kernels {

// What the operations do.
template <Isa kIsa, int kLanes>
struct MapOperations {
  using V = VectorCode<kIsa, kLanes>;
  using Floats = typename V::Floats;

  // Inlined into each loop: as a call it would take longer than the work.
  template <MapOp kOp>
  [[gnu::always_inline]] static Floats Apply(const MapStep& step, Floats x, Floats y, Floats z) {
    if constexpr (kOp == MapOp::kAdd) return x + y;
    if constexpr (kOp == MapOp::kSub) return x - y;
    if constexpr (kOp == MapOp::kMul) return x * y;
    if constexpr (kOp == MapOp::kDiv) return x / y;
    if constexpr (kOp == MapOp::kMax) return (x > y) | (x != x) ? x : y;
    if constexpr (kOp == MapOp::kMin) return (x < y) | (x != x) ? x : y;
    if constexpr (kOp == MapOp::kEqual) return V::OneOrZero(x == y);
    if constexpr (kOp == MapOp::kNotEqual) return V::OneOrZero(x != y);
    if constexpr (kOp == MapOp::kGreater) return V::OneOrZero(x > y);
    if constexpr (kOp == MapOp::kGreaterEqual) return V::OneOrZero(x >= y);
    if constexpr (kOp == MapOp::kLess) return V::OneOrZero(x < y);
    if constexpr (kOp == MapOp::kLessEqual) return V::OneOrZero(x <= y);
    if constexpr (kOp == MapOp::kAnd) return V::OneOrZero((x != 0.0f) & (y != 0.0f));
    if constexpr (kOp == MapOp::kOr) return V::OneOrZero((x != 0.0f) | (y != 0.0f));
    if constexpr (kOp == MapOp::kXor) return V::OneOrZero((x != 0.0f) ^ (y != 0.0f));
    if constexpr (kOp == MapOp::kSelect) return x != 0.0f ? y : z;
    if constexpr (kOp == MapOp::kMulAdd) return x * y + z;
    if constexpr (kOp == MapOp::kConstant) return V::All(step.alpha);
    if constexpr (kOp == MapOp::kLinear) return x * step.alpha + step.beta;
    if constexpr (kOp == MapOp::kClip) {
      x = x < step.alpha ? V::All(step.alpha) : x;
      return x > step.beta ? V::All(step.beta) : x;
    }
    if constexpr (kOp == MapOp::kRelu)
      return (x > 0.0f) | (x != x) ? x : step.alpha == 0.0f ? V::All(0) : x * step.alpha;
    if constexpr (kOp == MapOp::kNegative) return V::AsFloats(V::Bits(x) ^ static_cast<std::int32_t>(0x80000000u));
    if constexpr (kOp == MapOp::kAbs) return V::AsFloats(V::Bits(x) & 0x7FFFFFFF);
    if constexpr (kOp == MapOp::kSquare) return x * x;
    if constexpr (kOp == MapOp::kReciprocal) return 1.0f / x;
    if constexpr (kOp == MapOp::kFloor) return V::Floor(x);
    if constexpr (kOp == MapOp::kCeil) return V::Ceil(x);
    if constexpr (kOp == MapOp::kTrunc) return V::Trunc(x);
    if constexpr (kOp == MapOp::kExp) return V::Exp(x);
    if constexpr (kOp == MapOp::kLog) return V::Log(x);
    if constexpr (kOp == MapOp::kSigmoid) return V::Sigmoid(x);
    if constexpr (kOp == MapOp::kTanh) return V::Tanh(x);
    if constexpr (kOp == MapOp::kErf) return V::Erf(x);
    if constexpr (kOp == MapOp::kRoundToBF16) return V::AsFloats(V::RoundedBits(x) << 16);
  }

  template <MapOp kOp>
  static void Loop(const MapStep& step, const float* x, const float* y, const float* z, float* out, std::int64_t n) {
    const MapStep known = step;  // a copy, where `out` does not lie
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Floats result = Apply<kOp>(known, V::Load(x + i), V::Load(y + i), V::Load(z + i));
      std::memcpy(out + i, &result, sizeof result);
    }
  }

  static void Scalars(const MapStep& step, const float* x, const float* y, float* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (step.op == MapOp::kSqrt) {
        out[i] = __builtin_sqrtf(x[i]);
      } else if (step.op == MapOp::kFunction) {
        out[i] = static_cast<float>(step.function(static_cast<double>(x[i])));
      } else {
        out[i] = static_cast<float>(step.function2(static_cast<double>(x[i]), static_cast<double>(y[i])));
      }
    }
  }

  template <int kFirst>
  static void Dispatch(const MapStep& step, const float* x, const float* y, const float* z, float* out,
                       std::int64_t n) {
    if constexpr (kFirst > static_cast<int>(MapOp::kRoundToBF16)) {
      Scalars(step, x, y, out, n);
    } else {
      if constexpr (kFirst != static_cast<int>(MapOp::kSqrt)) {
        if (static_cast<int>(step.op) == kFirst) return Loop<static_cast<MapOp>(kFirst)>(step, x, y, z, out, n);
      }
      Dispatch<kFirst + 1>(step, x, y, z, out, n);
    }
  }
};

// Numbers of one operand, in the order in which they are walked.
template <Isa kIsa, int kLanes>
struct MapReader {
  using V = VectorCode<kIsa, kLanes>;

  template <class T>
  static void LoadRun(const T* from, std::int64_t stride, std::int64_t count, float* out) {
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = V::Number(from + i);
    } else if (stride == 0) {
      const float number = V::Number(from);
      for (std::int64_t i = 0; i < count; ++i) out[i] = number;
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = V::Number(from + i * stride);
    }
  }

  // The first of so many equal rows is there.
  static void Repeat(float* row, std::int64_t width, std::int64_t rows) {
    if (width % kLanes != 0) {
      for (std::int64_t i = width; i < rows * width; ++i) row[i] = row[i - width];
      return;
    }
    for (std::int64_t column = 0; column < width; column += kLanes) {
      const typename V::Floats numbers = V::Load(row + column);
      for (std::int64_t i = 1; i < rows; ++i) std::memcpy(row + column + i * width, &numbers, sizeof numbers);
    }
  }

  // A place on an operand's way.
  struct Position {
    const void* operand = nullptr;
    const MapWalk* walk = nullptr;
    std::int64_t index[MapWalk::kMaxAxes];
    std::int64_t offset = 0;

    void Seek(const void* first, const MapWalk& way, std::int64_t element) {
      operand = first;
      walk = &way;
      offset = 0;
      for (std::size_t axis = way.num_axes; axis-- > 0; element /= way.sizes[axis]) {
        index[axis] = axis == 0 ? element : element % way.sizes[axis];
        offset += index[axis] * way.strides[axis];
      }
    }

    template <class T>
    void Take(std::int64_t count, float* out) {
      const std::size_t last = walk->num_axes - 1;
      while (count > 0) {
        const std::int64_t rest = walk->sizes[last] - index[last], run = rest < count ? rest : count;
        LoadRun(static_cast<const T*>(operand) + offset, walk->strides[last], run, out);
        const std::int64_t rows = RepeatedRows(count);
        if (rows > 1) Repeat(out, run, rows);
        rows > 1 ? Advance(last - 1, rows) : Advance(last, run);
        const std::int64_t taken = rows > 1 ? rows * run : run;
        out += taken;
        count -= taken;
      }
    }

    // How often the whole row that begins here is read, one time behind the other.
    std::int64_t RepeatedRows(std::int64_t count) const {
      const std::size_t last = walk->num_axes - 1;
      if (last == 0 || walk->strides[last - 1] != 0 || index[last] != 0) return 0;
      const std::int64_t rows = walk->sizes[last - 1] - index[last - 1], whole = count / walk->sizes[last];
      return rows < whole ? rows : whole;
    }

    void Advance(std::size_t axis, std::int64_t steps) {
      index[axis] += steps;
      offset += steps * walk->strides[axis];
      while (index[axis] == walk->sizes[axis] && axis > 0) {
        offset -= index[axis] * walk->strides[axis];
        index[axis] = 0;
        --axis;
        ++index[axis];
        offset += walk->strides[axis];
      }
    }
  };

  static void TakeNumbers(Position* position, std::int64_t count, float* out) {
    switch (position->walk->type) {
      case ElementType::kFloat32:
        return position->template Take<float>(count, out);
      case ElementType::kBFloat16:
        return position->template Take<std::uint16_t>(count, out);
      case ElementType::kInt32:
        return position->template Take<std::int32_t>(count, out);
      case ElementType::kInt64:
        return position->template Take<std::int64_t>(count, out);
      case ElementType::kInt8:
        return position->template Take<std::int8_t>(count, out);
      default:  // uint8 and bool: the map's owner admits no others
        return position->template Take<std::uint8_t>(count, out);
    }
  }
};

template <Isa kIsa, int kLanes>
struct MapCode {
  using V = VectorCode<kIsa, kLanes>;
  using Operations = MapOperations<kIsa, kLanes>;
  using Reader = MapReader<kIsa, kLanes>;
  using Position = typename Reader::Position;

  static constexpr std::int64_t kTile = 512;  // elements; a multiple of every number of lanes
  static constexpr std::size_t kRegisters = Map::kMaxOperands + Map::kMaxSteps;

  static void StoreTile(const float* tile, ElementType type, void* result, std::int64_t begin, std::int64_t n) {
    if (type == ElementType::kBFloat16) {
      auto* out = static_cast<std::uint16_t*>(result) + begin;
      for (std::int64_t i = 0; i < n; i += kLanes) {
        const auto bits = __builtin_convertvector(V::RoundedBits(V::Load(tile + i)), typename V::Halves);
        const std::int64_t count = n - i < kLanes ? n - i : kLanes;
        std::memcpy(out + i, &bits, static_cast<std::size_t>(count) * sizeof(*out));
      }
    } else if (type == ElementType::kFloat32) {
      std::memcpy(static_cast<float*>(result) + begin, tile, static_cast<std::size_t>(n) * sizeof(float));
    } else {  // truth values
      auto* out = static_cast<std::uint8_t*>(result) + begin;
      for (std::int64_t i = 0; i < n; ++i) out[i] = tile[i] != 0;
    }
  }

  // Rows that are shorter than a tile, or single numbers, may be the same in every tile.
  static bool Repeats(const MapWalk& walk) {
    if (walk.strides[0] != 0) return false;
    return walk.num_axes == 1 || (walk.num_axes == 2 && kTile % walk.sizes[1] == 0);
  }

  // What is written as it was read is copied before: a result may lie where it does.
  static bool IsResult(const MapView& map, std::size_t operand) {
    for (std::size_t i = 0; i < map.num_results; ++i) {
      if (map.results[i].from == operand) return true;
    }
    return false;
  }

  // Rows of float32 are read where they lie, if the tile is within one and whole vectors fit into it.
  static const float* Operand(Position* position, std::int64_t n, bool is_result, float* tile) {
    const MapWalk& walk = *position->walk;
    const std::size_t last = walk.num_axes - 1;
    const bool is_within_row = walk.strides[last] == 1 && position->index[last] + n <= walk.sizes[last];
    if (walk.type != ElementType::kFloat32 || !is_within_row || n % kLanes != 0 || is_result) {
      Reader::TakeNumbers(position, n, tile);
      return tile;
    }
    const float* numbers = static_cast<const float*>(position->operand) + position->offset;
    position->Advance(last, n);
    return numbers;
  }

  // The result of the last step may be written directly: nothing is read behind it.
  static bool WritesDirectly(const MapView& map, std::int64_t n) {
    return map.num_results == 1 && map.results[0].from == map.num_operands + map.num_steps - 1 &&
           map.results[0].type == ElementType::kFloat32 && n % kLanes == 0;
  }

  static void Range(const MapView& map, const void* const* operands, void* const* results, std::int64_t begin,
                    std::int64_t end) {
    alignas(64) float tiles[kRegisters][kTile];
    const float* registers[kRegisters];
    Position positions[Map::kMaxOperands];
    const std::size_t last = map.num_operands + map.num_steps - 1;
    for (std::size_t i = 0; i < map.num_operands; ++i) positions[i].Seek(operands[i], map.walks[i], begin);
    bool is_first = true;
    for (; begin < end; begin += kTile, is_first = false) {
      const std::int64_t n = end - begin < kTile ? end - begin : kTile;
      const bool writes_directly = WritesDirectly(map, n);
      for (std::size_t i = 0; i < map.num_operands; ++i) {
        if (is_first || !Repeats(map.walks[i])) {
          registers[i] = Operand(&positions[i], n, IsResult(map, i), tiles[i]);
        }
      }
      for (std::size_t i = 0; i < map.num_steps; ++i) {
        const MapStep& step = map.steps[i];
        const std::size_t to = map.num_operands + i;
        float* out = to == last && writes_directly ? static_cast<float*>(results[0]) + begin : tiles[to];
        Operations::template Dispatch<0>(step, registers[step.x], registers[step.y], registers[step.z], out, n);
        registers[to] = out;
      }
      for (std::size_t i = 0; i < map.num_results && !writes_directly; ++i) {
        StoreTile(registers[map.results[i].from], map.results[i].type, results[i], begin, n);
      }
    }
  }

  static void Apply(const MapStep* steps, std::size_t num_steps, std::int64_t count, float* numbers) {
    alignas(64) float tiles[Map::kMaxSteps][kTile];
    const float* registers[1 + Map::kMaxSteps];
    for (; count > 0; count -= kTile, numbers += kTile) {
      const std::int64_t n = count < kTile ? count : kTile;
      registers[0] = numbers;
      for (std::size_t i = 0; i < num_steps; ++i) {
        const MapStep& step = steps[i];
        float* out = i + 1 == num_steps ? numbers : tiles[i];
        Operations::template Dispatch<0>(step, registers[step.x], registers[step.y], registers[step.z], out, n);
        registers[i + 1] = out;
      }
    }
  }
};

}  // namespace amp::kernels
