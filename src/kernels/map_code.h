// The code of maps, for vectors of kLanes numbers. One source for all instruction sets: the compiler's vector types
// become what the translation unit is compiled for. Every name depends on the instruction set, on purpose: the linker
// keeps one copy of an inline function, and that copy must run on every CPU.
#pragma once

#include <cstring>

#include "kernels/map.h"

namespace amp::kernels {

template <int kLanes>
struct MapVectors;
template <>
struct MapVectors<4> {
  using Floats [[gnu::vector_size(16)]] = float;
  using Ints [[gnu::vector_size(16)]] = std::int32_t;
};
template <>
struct MapVectors<8> {
  using Floats [[gnu::vector_size(32)]] = float;
  using Ints [[gnu::vector_size(32)]] = std::int32_t;
};
template <>
struct MapVectors<16> {
  using Floats [[gnu::vector_size(64)]] = float;
  using Ints [[gnu::vector_size(64)]] = std::int32_t;
};

template <Isa kIsa, int kLanes>
struct MapCode {
  using Floats = typename MapVectors<kLanes>::Floats;
  using Ints = typename MapVectors<kLanes>::Ints;

  static constexpr std::int64_t kTile = 512;  // elements; a multiple of every number of lanes
  static constexpr std::size_t kRegisters = Map::kMaxOperands + Map::kMaxSteps;

  // ---- vectors ----

  static Floats Load(const float* x) {
    Floats v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }
  static Ints Bits(Floats x) { return reinterpret_cast<Ints>(x); }
  static Floats AsFloats(Ints x) { return reinterpret_cast<Floats>(x); }
  static Floats All(float x) { return x - Floats{}; }
  static Floats OneOrZero(Ints mask) { return AsFloats(mask & Bits(All(1))); }
  static Floats Convert(Ints x) { return __builtin_convertvector(x, Floats); }

  // To the nearest whole number, even in the middle; for |x| < 2^22.
  static Floats Nearest(Floats x) {
    const Floats magic = All(12582912.0f);  // 1.5 * 2^23
    return (x + magic) - magic;
  }
  static Floats Trunc(Floats x) {
    const Floats magnitude = AsFloats(Bits(x) & 0x7FFFFFFF);
    const Floats whole = Convert(__builtin_convertvector(magnitude < 8388608.0f ? magnitude : All(0), Ints));
    const Floats result = magnitude < 8388608.0f ? whole : magnitude;  // a NaN, or whole anyway
    return AsFloats(Bits(result) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));
  }
  static Floats Floor(Floats x) {
    const Floats t = Trunc(x);
    return t > x ? t - 1.0f : t;
  }
  static Floats Ceil(Floats x) {
    const Floats t = Trunc(x), up = t < x ? t + 1.0f : t;
    return AsFloats(Bits(up) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));  // -0.5 gives -0
  }

  // 2^n for whole n in [-126, 127].
  static Floats PowerOfTwo(Ints n) { return AsFloats((n + 127) << 23); }

  // To about one unit in the last place, denormal results included. A NaN stays one.
  static Floats Exp(Floats x) {
    const Floats bounded = x < -104.0f ? All(-104.0f) : x > 89.0f ? All(89.0f) : x;
    const Floats safe = bounded == bounded ? bounded : All(0);
    const Floats n = Nearest(safe * 1.44269504088896341f);
    // ln 2 in two parts, the first with zeros at its end.
    const Floats r = (safe - n * 0.693145751953125f) - n * 1.42860682030941723e-6f;
    // Taylor's series: on |r| <= ln(2) / 2 its next term is 5e-9.
    Floats p = All(1.0f / 5040);
    for (const float term : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = p * r + term;
    const Ints exponent = __builtin_convertvector(n, Ints), half = exponent >> 1;
    const Floats result = p * PowerOfTwo(half) * PowerOfTwo(exponent - half);
    return x == x ? result : x;
  }

  // To about one unit in the last place.
  static Floats Log(Floats x) {
    const Ints is_denormal = x < 1.17549435e-38f;
    const Floats normal = is_denormal ? x * 8388608.0f : x;
    // x = 2^n (1 + f), with 1 + f between sqrt(0.5) and sqrt(2).
    const Ints shifted = Bits(normal) - 0x3F3504F3;
    const Ints n = (shifted >> 23) - (is_denormal & 23);
    const Floats f = AsFloats((shifted & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
    // log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| < 0.172: the next term of the series is 5e-10.
    const Floats s = f / (f + 2.0f), z = s * s;
    Floats p = All(2.0f / 11);
    for (const float term : {2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3}) p = p * z + term;
    // f - s f is 2 s, without the rounding of s.
    const Floats log1p = f - s * (f - z * p), whole = Convert(n);
    Floats result = whole * 0.693145751953125f + (log1p + whole * 1.42860682030941723e-6f);
    result = x == 0.0f ? All(-__builtin_inff()) : x < 0.0f ? All(__builtin_nanf("")) : result;
    return (x == x) & (x != __builtin_inff()) ? result : x;
  }

  static Floats Sigmoid(Floats x) { return 1.0f / (1.0f + Exp(-x)); }

  static Floats Tanh(Floats x) {
    const Floats magnitude = AsFloats(Bits(x) & 0x7FFFFFFF);
    // Near 0 the quotient below would cancel: tanh(x) = x + x^3 p(x^2), fitted on [0, 0.625] to 4e-9.
    const Floats z = x * x;
    Floats p = All(-5.7170365610e-3f);
    for (const float term : {2.0650579003e-2f, -5.3743495261e-2f, 1.3331491249e-1f, -3.3333283924e-1f})
      p = p * z + term;
    const Floats small = x + x * z * p;
    const Floats large = 1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f);
    const Floats with_sign = AsFloats(Bits(large) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));
    return magnitude < 0.625f ? small : with_sign;
  }

  static Ints RoundedBits(Floats x) {  // bfloat16 in the lower halves
    const Ints bits = Bits(x);
    const Ints rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF;
    return x == x ? rounded : ((bits >> 16) & 0xFFFF) | 0x40;
  }

  static Floats Apply(const MapStep& step, Floats x, Floats y, Floats z) {
    switch (step.op) {
      case MapOp::kAdd:
        return x + y;
      case MapOp::kSub:
        return x - y;
      case MapOp::kMul:
        return x * y;
      case MapOp::kDiv:
        return x / y;
      case MapOp::kMax:
        return (x > y) | (x != x) ? x : y;
      case MapOp::kMin:
        return (x < y) | (x != x) ? x : y;
      case MapOp::kEqual:
        return OneOrZero(x == y);
      case MapOp::kNotEqual:
        return OneOrZero(x != y);
      case MapOp::kGreater:
        return OneOrZero(x > y);
      case MapOp::kGreaterEqual:
        return OneOrZero(x >= y);
      case MapOp::kLess:
        return OneOrZero(x < y);
      case MapOp::kLessEqual:
        return OneOrZero(x <= y);
      case MapOp::kAnd:
        return OneOrZero((x != 0.0f) & (y != 0.0f));
      case MapOp::kOr:
        return OneOrZero((x != 0.0f) | (y != 0.0f));
      case MapOp::kXor:
        return OneOrZero((x != 0.0f) ^ (y != 0.0f));
      case MapOp::kSelect:
        return x != 0.0f ? y : z;
      case MapOp::kConstant:
        return All(step.alpha);
      case MapOp::kLinear:
        return x * step.alpha + step.beta;
      case MapOp::kClip:
        x = x < step.alpha ? All(step.alpha) : x;
        return x > step.beta ? All(step.beta) : x;
      case MapOp::kRelu:
        return (x > 0.0f) | (x != x) ? x : x * step.alpha;
      case MapOp::kNegative:
        return AsFloats(Bits(x) ^ static_cast<std::int32_t>(0x80000000u));
      case MapOp::kAbs:
        return AsFloats(Bits(x) & 0x7FFFFFFF);
      case MapOp::kSquare:
        return x * x;
      case MapOp::kReciprocal:
        return 1.0f / x;
      case MapOp::kFloor:
        return Floor(x);
      case MapOp::kCeil:
        return Ceil(x);
      case MapOp::kTrunc:
        return Trunc(x);
      case MapOp::kExp:
        return Exp(x);
      case MapOp::kLog:
        return Log(x);
      case MapOp::kSigmoid:
        return Sigmoid(x);
      case MapOp::kTanh:
        return Tanh(x);
      case MapOp::kRoundToBF16:
        return AsFloats(RoundedBits(x) << 16);
      default:
        return x;
    }
  }

  // ---- tiles ----

  // The operation is known while the loop is compiled: Apply becomes its one case.
  template <MapOp kOp>
  static void Loop(const MapStep& step, const float* x, const float* y, const float* z, float* out, std::int64_t n) {
    MapStep known = step;
    known.op = kOp;
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Floats result = Apply(known, Load(x + i), Load(y + i), Load(z + i));
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
    } else if (static_cast<int>(step.op) == kFirst && step.op != MapOp::kSqrt) {
      Loop<static_cast<MapOp>(kFirst)>(step, x, y, z, out, n);
    } else {
      Dispatch<kFirst + 1>(step, x, y, z, out, n);
    }
  }

  // ---- memory ----

  static float Number(const float* x) { return *x; }
  static float Number(const std::uint16_t* x) {  // bfloat16
    const std::uint32_t bits = static_cast<std::uint32_t>(*x) << 16;
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  template <class T>
  static float Number(const T* x) {
    return static_cast<float>(*x);
  }

  template <class T>
  static void LoadRun(const T* from, std::int64_t stride, std::int64_t count, float* out) {
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = Number(from + i);
    } else if (stride == 0) {
      const float number = Number(from);
      for (std::int64_t i = 0; i < count; ++i) out[i] = number;
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = Number(from + i * stride);
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
        Advance(run);
        out += run;
        count -= run;
      }
    }

    void Advance(std::int64_t run) {
      std::size_t axis = walk->num_axes - 1;
      index[axis] += run;
      offset += run * walk->strides[axis];
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

  static void StoreTile(const float* tile, ElementType type, void* result, std::int64_t begin, std::int64_t n) {
    if (type == ElementType::kBFloat16) {
      auto* out = static_cast<std::uint16_t*>(result) + begin;
      for (std::int64_t i = 0; i < n; i += kLanes) {
        const Ints bits = RoundedBits(Load(tile + i));
        const std::int64_t count = n - i < kLanes ? n - i : kLanes;
        for (std::int64_t lane = 0; lane < count; ++lane) out[i + lane] = static_cast<std::uint16_t>(bits[lane]);
      }
    } else if (type == ElementType::kFloat32) {
      std::memcpy(static_cast<float*>(result) + begin, tile, static_cast<std::size_t>(n) * sizeof(float));
    } else {  // truth values
      auto* out = static_cast<std::uint8_t*>(result) + begin;
      for (std::int64_t i = 0; i < n; ++i) out[i] = tile[i] != 0;
    }
  }

  // Plain rows of float32 are read where they lie, if whole vectors fit into them.
  static const float* Operand(Position* position, std::int64_t n, float* tile) {
    const MapWalk& walk = *position->walk;
    const bool is_plain = walk.type == ElementType::kFloat32 && walk.num_axes == 1 && walk.strides[0] == 1;
    if (!is_plain || n % kLanes != 0) {
      TakeNumbers(position, n, tile);
      return tile;
    }
    const float* numbers = static_cast<const float*>(position->operand) + position->offset;
    position->Advance(n);
    return numbers;
  }

  static void Range(const MapView& map, const void* const* operands, void* result, std::int64_t begin,
                    std::int64_t end) {
    alignas(64) float tiles[kRegisters][kTile];
    const float* registers[kRegisters];
    Position positions[Map::kMaxOperands];
    const std::size_t last = map.num_operands + map.num_steps - 1;
    for (std::size_t i = 0; i < map.num_operands; ++i) positions[i].Seek(operands[i], map.walks[i], begin);
    for (; begin < end; begin += kTile) {
      const std::int64_t n = end - begin < kTile ? end - begin : kTile;
      const bool writes_directly = map.result == ElementType::kFloat32 && n % kLanes == 0;
      for (std::size_t i = 0; i < map.num_operands; ++i) registers[i] = Operand(&positions[i], n, tiles[i]);
      for (std::size_t i = 0; i < map.num_steps; ++i) {
        const MapStep& step = map.steps[i];
        const std::size_t to = map.num_operands + i;
        float* out = to == last && writes_directly ? static_cast<float*>(result) + begin : tiles[to];
        Dispatch<0>(step, registers[step.x], registers[step.y], registers[step.z], out, n);
        registers[to] = out;
      }
      if (!writes_directly) StoreTile(tiles[last], map.result, result, begin, n);
    }
  }
};

}  // namespace amp::kernels
