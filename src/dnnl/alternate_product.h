// What a sum of products of bfloat16 operands runs instead of its primitive where bfloat16 instructions, which treat
// denormals as zero, would lose too much of the operands at hand. docs/denormals.md has the bounds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dnnl/laid_out_program.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/reduce/denormal_scan.h"

namespace amp::onednn {

// Which implementation of a product ran.
enum class Implementation : std::uint8_t { kNative, kF32, kScaled };
inline constexpr std::size_t kNumImplementations = 3;

// Memory of a session for what alternate implementations need; it grows when one of them runs for the first time.
class AlternateMemory {
 public:
  char* AtLeast(std::size_t bytes);

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

// What runs of a product lost.
struct Flushed {
  std::int64_t runs = 0, operands = 0, results = 0;
  Flushed& operator+=(const Flushed& other);
};

class AlternateProduct {
 public:
  // `step` multiplies bfloat16, by the primitive `native`. `prefers_scaled`: scaling is the faster way. Throws
  // UnsupportedError where oneDNN has no float32 primitive for it.
  AlternateProduct(const Step& step, const PreparedPrimitive& native, const LaidOutProgram& program,
                   bool prefers_scaled);

  // What to run for these operands; `data`: memory by value.
  Implementation Choose(const std::vector<void*>& data) const;
  // `implementation` is not kNative.
  void Run(Implementation implementation, const std::vector<void*>& data, const dnnl::stream& stream,
           AlternateMemory* memory) const;

  // What Run runs for it.
  const dnnl::primitive& PrimitiveOf(Implementation implementation) const {
    return implementation == Implementation::kScaled ? scaled_->primitive : f32_.primitive;
  }

  // What the primitive lost, which has just run. Results that lie in a part of a larger tensor are not compared.
  Flushed CountFlushed(const std::vector<void*>& data, const dnnl::stream& stream, AlternateMemory* memory) const;

  // Whether one can be made.
  static bool IsPossible(const Step& step, const PreparedPrimitive& native, const std::vector<TensorType>& in_types,
                         const TensorType& out_type);

 private:
  // How an operand gets from where it lies to what a primitive reads.
  struct Reorder {
    dnnl::primitive primitive;  // empty: it lies as it should
    Desc scratchpad;
    std::size_t offset = 0;  // of the copy in the memory
  };
  struct Way {
    PreparedPrimitive prepared;
    dnnl::primitive primitive;
    std::vector<Reorder> reorders;                                 // by input
    std::size_t scratchpad = 0, spare = 0, result = 0, bytes = 0;  // offsets in the memory, and its size
  };
  struct RunState {
    const std::vector<void*>& data;
    const dnnl::stream& stream;
    char* memory;
  };
  // A power of two for each operand.
  using Exponents = std::array<int, 2>;

  static std::size_t NumResults(const Way& way);
  Way MakeWay(PreparedPrimitive prepared, bool scales) const;
  std::optional<Exponents> ExponentsFor(const std::vector<void*>& data) const;
  bool IsHarmless(const std::vector<void*>& data) const;
  float* RunInto(const Way& way, const RunState& run, const Exponents& exponents, void* result) const;
  const void* Placed(const Way& way, std::size_t i, int exponent, const RunState& run, void* result) const;
  void Round(const float* result, std::size_t count, void* out) const;

  const AlternateMode mode_;
  const bool prefers_scaled_;
  const std::vector<ValueId> inputs_;
  const ValueId output_;
  const std::vector<Desc> layouts_;  // of the inputs as they lie
  const bool rounds_;                // the result is bfloat16
  const std::size_t first_byte_;     // of the result
  bool writes_directly_ = false;
  double num_products_ = 1, scale_ = 1;  // of each sum; what it is multiplied by
  std::array<kernels::RowScan, 2> rows_;
  bool can_scan_ = true;
  Way f32_;
  std::optional<Way> scaled_;
  std::optional<kernels::StridedCopy> copy_result_;  // where the result cannot be rounded in its place
};

}  // namespace amp::onednn
