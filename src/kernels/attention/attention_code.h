// The blocked kernel of attention, for the vectors of an instruction set and either kind of products. Of internal
// linkage, on purpose: see cast_table.h.
//
// Keys are taken in blocks: what was summed so far is scaled down where a later block has a larger score. A part has
// more queries than one pass over a block takes: keys and values are packed for all of them.
#pragma once

#include "kernels/attention/attention_products_code.h"

namespace amp::kernels {
namespace {

constexpr Int kKeyBlock = 512;
constexpr Int KeyBlock(const Attention& job) { return job.key_block == 0 ? kKeyBlock : job.key_block; }

// How much of a problem is at hand at once.
template <int kLanes>
struct AttentionBlocks {
  static constexpr bool kIsWide = kLanes == 16;
  static constexpr Int kScoreRows = kIsWide ? 192 : kStrip;  // queries of one pass: whole strips of rows
  static constexpr Int kDepth = kIsWide ? 128 : 1 << 30;     // units of values that stay in the first-level cache
  static constexpr int kChains = kIsWide ? 4 : 1;            // sums of a row that do not wait for each other
};

// float32 products; bfloat16 operands are widened on the way.
template <Isa kIsa, int kWidth>
struct SingleAttention : SingleProducts<kIsa, kWidth> {
  using Code = SingleProducts<kIsa, kWidth>;
  using typename Code::Floats, typename Code::Units;

  // A vector of elements of a row of `size` from element i on.
  static Units LoadRow(const char* row, bool is_bf16, Int i, Int size) { return Code::LoadPart(row, is_bf16, i, size); }
  static Units LoadColumns(const char* row, const char*, bool is_bf16, Int i, Int size) {
    return Code::LoadPart(row, is_bf16, i, size);
  }
  static void StoreUnits(float* to, Units x) { Code::Store(to, x); }
  static void StoreWeights(float* weights, Int key, Floats values, bool rounds) {
    Code::Store(weights + key, rounds ? Code::Widened(Code::Rounded(values)) : values);
  }
};

// Scratch memory of one thread, in units.
template <class A>
struct Sizes {
  Int key_units;    // of a key
  Int query_row;    // of a query, padded
  Int block;        // keys of a block, padded
  Int score_row;    // of the scores of a query
  Int value_row;    // of a result, padded
  Int value_units;  // of a block of values: units along the keys
  Int keys, values, queries, scores, sums, total;

  explicit Sizes(const Attention& job) {
    const Int num_queries = Min(job.num_queries, kMaxQueries);
    key_units = UnitsOf(job.size, A::kPerUnit);
    query_row = Padded(key_units, A::kLanes);
    block = Padded(Min(job.num_keys, KeyBlock(job)), kPanel<A>);
    value_row = Padded(job.value_size, kPanel<A>);
    value_units = block / A::kPerUnit;
    score_row = block + A::kLanes;  // neighbours do not meet in the same lines of a cache
    keys = 0;
    values = keys + block * key_units;
    queries = values + value_row * value_units;
    scores = queries + num_queries * query_row;
    sums = scores + Min(num_queries, AttentionBlocks<A::kLanes>::kScoreRows) * score_row;
    total = sums + num_queries * value_row;
  }
};

// What is known of a query after some blocks of keys.
struct RowState {
  float largest, sum;
};

struct AllLanes {};

// Calls f for the vectors of `count` keys: with the first of them, the lanes that are seen, and a number below kChains,
// so that sums need not wait for each other. Most vectors are seen as a whole: code for them needs no lanes.
template <class A, class F>
void ForSeenKeys(const std::uint8_t* mask, Int seen, Int count, F f) {
  constexpr int kChains = AttentionBlocks<A::kLanes>::kChains;
  Int key = 0;
  for (; mask == nullptr && key + kChains * A::kLanes <= seen; key += kChains * A::kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < kChains; ++i) f(key + i * A::kLanes, AllLanes{}, i);
  }
  const Int whole = Max(0, seen) / A::kLanes * A::kLanes, rest = seen - whole;
  const auto last = mask == nullptr ? A::FirstLanes(rest) : A::SeenLanes(mask + whole, rest);
  for (; key < count; key += A::kLanes) {
    const auto in_whole = [&] {
      return mask == nullptr ? A::FirstLanes(A::kLanes) : A::SeenLanes(mask + key, A::kLanes);
    };
    f(key, key < whole ? in_whole() : key == whole ? last : A::FirstLanes(0), 0);
  }
}

// Rows [begin, end) of a head, `distance` elements apart. Inlined: compilers drop calls without an effect.
[[gnu::always_inline]] inline void PrefetchRows(const Attention& job, const void* data, Int distance, Int begin,
                                                Int end, Int size) {
  constexpr Int kLine = 64;
  const Int element = job.is_bf16 ? 2 : 4;
  for (Int row = begin; data != nullptr && row < end; ++row) {
    const char* first = static_cast<const char*>(data) + row * distance * element;
    for (Int at = 0; at < size * element; at += kLine) __builtin_prefetch(first + at, 0, 2);
  }
}

// Beside each query a share of what the next part reads first.
[[gnu::always_inline]] inline void PrefetchNext(const Attention& job, const AttentionPart& part, Int row) {
  const Int keys = Min(job.num_keys, KeyBlock(job));
  const Int begin = row * keys / part.num_queries, end = (row + 1) * keys / part.num_queries;
  PrefetchRows(job, part.next_queries, job.queries.row, row, row + 1, job.size);
  PrefetchRows(job, part.next_keys, job.keys.row, begin, end, job.size);
  PrefetchRows(job, part.next_values, job.values.row, begin, end, job.value_size);
}

template <class A>
class Kernel {
 public:
  Kernel(const Attention& job, const AttentionPart& part, void* scratch)
      : job_(job), part_(part), sizes_(job), units_(static_cast<Unit*>(scratch)) {}

  void Run() {
    FindSeen();
    for (Int row = 0; row < part_.num_queries; ++row) Begin(row);
    CopyQueries();
    const Int block = KeyBlock(job_), num_blocks = UnitsOf(most_seen_, block);
    for (Int i = 0; i < num_blocks; ++i) {
      const Int first = (job_.last_key_first ? num_blocks - 1 - i : i) * block;
      const Int count = Min(block, most_seen_ - first);
      PackKeys(first, count);
      PackValues(first, count);
      AddBlock(first, count);
    }
    for (Int row = 0; row < part_.num_queries; ++row) Finish(row);
  }

 private:
  using Blocks = AttentionBlocks<A::kLanes>;
  using Floats = typename A::Floats;
  using Unit = typename A::Unit;
  static constexpr Int kLanes = A::kLanes, kPanel = kernels::kPanel<A>, kScoreRows = Blocks::kScoreRows;
  static constexpr int kChains = Blocks::kChains;

  // How many keys each query sees.
  void FindSeen() {
    most_seen_ = 0;
    for (Int row = 0; row < part_.num_queries; ++row) {
      seen_[row] = NumSeenKeys(job_, part_, row);
      most_seen_ = seen_[row] > most_seen_ ? seen_[row] : most_seen_;
    }
  }

  void Begin(Int row) {
    states_[row] = {-__builtin_inff(), 0};
    const float* before = nullptr;
    if (job_.continues) {
      states_[row] = {part_.data.largest[row * job_.statistics.row], part_.data.sum[row * job_.statistics.row]};
      before = part_.data.sums + row * job_.sums.row;
    }
    for (Int i = 0; i < sizes_.value_row; i += kLanes) {
      A::Store(Sums(row) + i, before == nullptr ? A::All(0) : A::template Load<false>(before + i, job_.value_size - i));
    }
  }

  const char* Row(const void* data, Int distance, Int row) const {
    return static_cast<const char*>(data) + row * distance * (job_.is_bf16 ? 2 : 4);
  }
  float* Sums(Int row) { return reinterpret_cast<float*>(units_ + sizes_.sums + row * sizes_.value_row); }
  // Scores become weights in their place. Those of one pass are there.
  float* Scores(Int row) {
    return reinterpret_cast<float*>(units_ + sizes_.scores + row % kScoreRows * sizes_.score_row);
  }

  // Keys as panels of columns; those beyond the last are 0.
  void PackKeys(Int first, Int count) {
    for (Int key = 0; key < count; key += kLanes) {
      Unit* to = units_ + sizes_.keys + key / kPanel * kPanel * sizes_.key_units + key % kPanel;
      for (Int unit = 0; unit < sizes_.key_units; unit += kLanes) {
        typename A::Units rows[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
          rows[i] = key + i < count ? A::LoadRow(Row(part_.data.keys, job_.keys.row, first + key + i), job_.is_bf16,
                                                 unit, job_.size)
                                    : A::AllUnits(0);
        }
        A::Transpose(rows);
        const Int num_units = Min(kLanes, sizes_.key_units - unit);
        for (Int i = 0; i < num_units; ++i) A::StoreUnits(to + (unit + i) * kPanel, rows[i]);
      }
    }
  }

  // Values are right-hand sides as they lie, but that units go along the keys.
  void PackValues(Int first, Int count) {
    constexpr Int kPer = A::kPerUnit;
    for (Int key = 0; key < count; key += kPer) {
      const char* row = Row(part_.data.values, job_.values.row, first + key);
      const char* next = key + 1 < count ? Row(part_.data.values, job_.values.row, first + key + 1) : nullptr;
      for (Int column = 0; column < job_.value_size; column += kLanes) {
        Unit* to =
            units_ + sizes_.values + (column / kPanel * sizes_.value_units + key / kPer) * kPanel + column % kPanel;
        A::StoreUnits(to, A::LoadColumns(row, next, job_.is_bf16, column, job_.value_size));
      }
    }
  }

  void AddBlock(Int first, Int count) {
    FindBlockSeen(first, count);
    for (Int row = 0; row < part_.num_queries; row += kScoreRows) {
      AddRows(row, Min(part_.num_queries, row + kScoreRows), first, count);
    }
  }

  // The queries from `begin` on, before `end`.
  void AddRows(Int begin, Int end, Int first, Int count) {
    MultiplyByKeys(begin, end, count);
    for (Int row = begin; row < end; ++row) {
      const Int seen = strip_seen_[row / kStrip];
      if (seen > 0) factors_[row] = Weigh(row, first, seen);
      if (Blocks::kIsWide && first == 0) PrefetchNext(job_, part_, row);
    }
    for (Int unit = 0; unit * A::kPerUnit < count; unit += Blocks::kDepth) MultiplyByValues(begin, end, unit);
  }

  // How many keys of the block any row of a strip sees.
  void FindBlockSeen(Int first, Int count) {
    for (Int row = 0; row < part_.num_queries; ++row) {
      const Int own = Min(seen_[row] - first, count);
      Int& seen = strip_seen_[row / kStrip];
      seen = row % kStrip == 0 || own > seen ? own : seen;
    }
  }

  // A panel of keys stays in the first-level cache while all queries meet it; so does a part of a panel of values.
  void MultiplyByKeys(Int begin, Int end, Int count) {
    for (Int key = 0; key < count; key += kPanel) {
      const Unit* panel = units_ + sizes_.keys + key * sizes_.key_units;
      for (Int row = begin; row < end; row += kStrip) {
        const Int seen = Min(kPanel, strip_seen_[row / kStrip] - key);
        if (seen <= 0) continue;
        const Left<A> queries{units_ + sizes_.queries + row * sizes_.query_row, sizes_.query_row, 1};
        StripOf<A>(Min(kStrip, end - row), seen)(queries, panel, kPanel, sizes_.key_units, nullptr, Scores(row) + key,
                                                 sizes_.score_row);
      }
    }
  }

  // Adds what some units of weights give, from `unit` on; the first ones scale what is there.
  void MultiplyByValues(Int begin, Int end, Int unit) {
    for (Int column = 0; column < job_.value_size; column += kPanel) {
      const Unit* panel = units_ + sizes_.values + (column / kPanel * sizes_.value_units + unit) * kPanel;
      for (Int row = begin; row < end; row += kStrip) {
        const Int seen = strip_seen_[row / kStrip];
        const Int num_units = Min(Blocks::kDepth, UnitsOf(seen, A::kPerUnit) - unit);
        if (seen <= 0 || num_units <= 0) continue;
        const Left<A> weights{reinterpret_cast<Unit*>(Scores(row)) + unit, sizes_.score_row, 1};
        StripOf<A>(Min(kStrip, end - row), Min(kPanel, job_.value_size - column))(weights, panel, kPanel, num_units,
                                                                                  unit == 0 ? factors_ + row : kOnes,
                                                                                  Sums(row) + column, sizes_.value_row);
      }
    }
  }

  void CopyQueries() {
    for (Int row = 0; row < part_.num_queries; ++row) {
      for (Int unit = 0; unit < sizes_.key_units; unit += kLanes) {
        A::StoreUnits(units_ + sizes_.queries + row * sizes_.query_row + unit,
                      A::LoadRow(Row(part_.data.queries, job_.queries.row, row), job_.is_bf16, unit, job_.size));
      }
    }
  }

  template <class F>
  void ForSeen(Int row, Int first, Int count, F f) const {
    const std::uint8_t* mask = part_.data.mask == nullptr ? nullptr : part_.data.mask + row * job_.seen.row + first;
    ForSeenKeys<A>(mask, Min(seen_[row] - first, count), count, f);
  }

  static Floats Kept(AllLanes, Floats x) { return x; }
  static Floats Kept(typename A::Mask lanes, Floats x) { return A::Keep(lanes, x); }
  static Floats Chosen(AllLanes, Floats x, Floats) { return x; }
  static Floats Chosen(typename A::Mask lanes, Floats x, Floats other) { return A::Choose(lanes, x, other); }
  // f of all lanes of all chains.
  template <class F>
  static float Joined(const Floats (&x)[kChains], F f) {
    if constexpr (kChains == 1)
      return A::Fold(x[0], f);
    else
      return A::Fold(f(f(x[0], x[1]), f(x[2], x[3])), f);
  }

  // What the query has seen so far now is relative to its largest score; returns the factor of what was summed up.
  float FindLargest(Int row, Int first, Int count) {
    const float* scores = Scores(row);
    Floats largest[kChains];
    for (Floats& x : largest) x = A::All(-__builtin_inff());
    ForSeen(row, first, count, [&](Int key, auto seen, int i) {
      largest[i] = Chosen(seen, A::Max(A::Load(scores + key) * job_.scale, largest[i]), largest[i]);
    });
    RowState& state = states_[row];
    const float before = state.largest, now = Joined(largest, A::Max);
    if (!(now > before)) return 1;
    state.largest = now;
    const float factor = before == -__builtin_inff() ? 0 : A::Exp2(A::All((before - now) * kLog2E))[0];
    state.sum *= factor;
    return factor;
  }

  // Scores become weights, relative to the largest score so far; returns what earlier sums are to be multiplied by.
  float Weigh(Int row, Int first, Int count) {
    const float factor = FindLargest(row, first, count);
    RowState& state = states_[row];
    float* scores = Scores(row);
    const float base = state.largest == -__builtin_inff() ? 0 : state.largest;
    const Floats binary_base = A::All(-base * kLog2E);
    Floats sums[kChains];
    for (Floats& x : sums) x = A::All(0);
    auto* weights = reinterpret_cast<Unit*>(scores);  // those of a vector are no longer than its scores
    ForSeen(row, first, count, [&](Int key, auto seen, int i) {
      const Floats score = A::Load(scores + key);
      const Floats x = Blocks::kIsWide ? A::MultiplyAdd(score, A::All(job_.scale * kLog2E), binary_base)
                                       : A::MultiplyAdd(score * job_.scale, A::All(kLog2E), binary_base);
      const Floats weight = Kept(seen, A::Exp2(x));
      sums[i] += weight;
      A::StoreWeights(weights, key, weight, job_.p_is_bf16);
    });
    state.sum += Joined(sums, [](Floats a, Floats b) { return a + b; });
    return factor;
  }

  void Finish(Int row) {
    const RowState& state = states_[row];
    const bool sees_nothing = state.sum == 0 && (seen_[row] == 0 || part_.data.mask != nullptr);
    if (part_.data.out != nullptr) StoreResult(row, sees_nothing);
    const Int statistic = row * job_.statistics.row;
    if (part_.data.lse != nullptr) {
      part_.data.lse[statistic] = sees_nothing ? -__builtin_inff() : state.largest + __builtin_logf(state.sum);
    }
    if (part_.data.sums == nullptr) return;
    part_.data.largest[statistic] = state.largest;
    part_.data.sum[statistic] = state.sum;
    float* sums = part_.data.sums + row * job_.sums.row;
    for (Int i = 0; i < job_.value_size; i += kLanes) {
      A::template Store<false>(sums + i, job_.value_size - i, A::Load(Sums(row) + i));
    }
  }

  void StoreResult(Int row, bool sees_nothing) {
    char* to = static_cast<char*>(part_.data.out) + row * job_.out.row * (job_.out_is_bf16 ? 2 : 4);
    for (Int i = 0; i < job_.value_size; i += kLanes) {
      const Floats y = sees_nothing ? A::All(0) : A::Load(Sums(row) + i) / states_[row].sum;
      A::StorePart(to, job_.out_is_bf16, i, job_.value_size, y);
    }
  }

  const Attention& job_;
  const AttentionPart& part_;
  const Sizes<A> sizes_;
  Unit* const units_;
  Int most_seen_ = 0;
  Int seen_[kMaxQueries], strip_seen_[kMaxQueries / kStrip];
  RowState states_[kMaxQueries];
  float factors_[kMaxQueries];
};

template <class A>
std::size_t ScratchBytes(const Attention& job) {
  return static_cast<std::size_t>(Sizes<A>(job).total) * sizeof(typename A::Unit);
}

template <class A>
void RunPart(const Attention& job, const AttentionPart& part, void* scratch) {
  Kernel<A>(job, part, scratch).Run();
}

template <class A>
constexpr AttentionTable AttentionTableOf(Isa isa) {
  return {isa, A::kPerUnit > 1, ScratchBytes<A>, RunPart<A>};
}

}  // namespace
}  // namespace amp::kernels
