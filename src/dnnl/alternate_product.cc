#include "dnnl/alternate_product.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dnnl/engine.h"
#include "dnnl/operand_rows.h"
#include "dnnl/step_kind.h"
#include "dnnl/strided_copy.h"
#include "kernels/base/float_bits.h"
#include "kernels/base/float_mode.h"
#include "kernels/elementwise/cast.h"
#include "nnvm/error.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

using kernels::Magnitude;

// Whatever the operands are beside: rows that reach this much need not be read any further.
constexpr Magnitude kEnough = (127 - 40) << 7;  // 2^-40
constexpr std::size_t kLine = 64;

std::size_t Padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
double ValueOf(Magnitude magnitude) { return static_cast<double>(kernels::BF16ToFloat(magnitude)); }
const std::uint16_t* BFloat16At(const std::vector<void*>& data, ValueId v) {
  return static_cast<const std::uint16_t*>(data[v]);
}

bool IsDenormal(std::uint16_t x) {
  const int magnitude = x & kernels::kMagnitudeMask;
  return magnitude != 0 && magnitude < kernels::kLeastNormal;
}

std::vector<TensorType> Widened(std::vector<TensorType> types) {
  for (TensorType& type : types) {
    if (type.dtype == DType::kBFloat16) type.dtype = DType::kFloat32;
  }
  return types;
}

TensorType InFloat32(TensorType type) {
  type.dtype = DType::kFloat32;
  return type;
}

// How the result gets from where a primitive writes float32 to where it belongs, once it is rounded.
struct ResultWay {
  bool exists = false;
  std::optional<kernels::StridedCopy> copy;  // none where it lies as it should
};
ResultWay ResultWayOf(const Desc& wide, const Desc& out, DType dtype) {
  if (HaveSameOrder(wide, out) && (dtype == DType::kFloat32 || IsDense(out, dtype))) return {true, std::nullopt};
  const Desc lies = WithDType(wide, dtype);
  auto copy = lies.is_zero() ? std::nullopt : StridedCopyOf(lies, out);
  const bool exists = copy.has_value();
  return {exists, std::move(copy)};
}

// The float32 results of a primitive lie as `out` does, or in dense memory with the same order of axes, or as the
// primitive likes; nullopt where there is none whose results find their way.
std::optional<PreparedPrimitive> PrepareWide(const Step& step, const std::vector<TensorType>& in_types,
                                             const TensorType& out_type, const std::vector<Desc>& layouts,
                                             const Desc& out) {
  const TensorType wide = InFloat32(out_type);
  const Desc same = IsDense(out, out_type.dtype) ? WithDType(out, DType::kFloat32) : Desc();
  for (const Desc& layout : {same.is_zero() ? DenseLike(out, wide) : same, Desc()}) {
    auto prepared = Prepare(step, in_types, wide, layouts, layout);
    if (prepared && ResultWayOf(prepared->outputs[0], out, out_type.dtype).exists) return prepared;
  }
  return std::nullopt;
}

bool CanScale(const Step& step, const std::vector<Desc>& layouts) {
  return step.post_ops.empty() && step.inputs.size() == 2 && IsDense(layouts[0], DType::kBFloat16) &&
         IsDense(layouts[1], DType::kBFloat16);
}

std::vector<Desc> LayoutsOf(const Step& step, const LaidOutProgram& program) {
  std::vector<Desc> layouts;
  for (const ValueId v : step.inputs) layouts.push_back(program.layouts[v]);
  return layouts;
}

double ScaleOf(const Step& step) {
  const auto* product = std::get_if<MatMulSpec>(&step.spec);
  return product == nullptr ? 1 : std::abs(static_cast<double>(product->scale));
}

}  // namespace

char* AlternateMemory::AtLeast(std::size_t bytes) {
  if (bytes > bytes_) {
    memory_ = AllocateAligned(bytes);
    bytes_ = bytes;
  }
  return static_cast<char*>(memory_.get());
}

bool AlternateProduct::IsPossible(const Step& step, const PreparedPrimitive& native,
                                  const std::vector<TensorType>& in_types, const TensorType& out_type) {
  return PrepareWide(step, Widened(in_types), out_type, native.inputs, native.outputs[0]).has_value();
}

AlternateProduct::AlternateProduct(const Step& step, const PreparedPrimitive& native, const LaidOutProgram& program,
                                   bool prefers_scaled)
    : mode_(step.alternate.value_or(AlternateMode::kF32)),
      prefers_scaled_(prefers_scaled),
      inputs_(step.inputs),
      output_(step.outputs[0]),
      layouts_(LayoutsOf(step, program)),
      rounds_(program.TypeOf(output_).dtype == DType::kBFloat16),
      first_byte_(FirstByte(native.outputs[0], program.TypeOf(output_).dtype)),
      scale_(ScaleOf(step)) {
  const StepTypes types = program.TypesOf(step);
  const Desc& out = native.outputs[0];
  std::optional<ThreadScope> threads;
  if (native.num_threads != 0) threads.emplace(native.num_threads);
  auto f32 = PrepareWide(step, Widened(types.inputs), types.outputs[0], layouts_, out);
  if (!f32) Throw<UnsupportedError>("oneDNN has no {} of float32", NameOf(step.spec));
  ResultWay result = ResultWayOf(f32->outputs[0], out, types.outputs[0].dtype);
  writes_directly_ = !rounds_ && !result.copy;
  copy_result_ = std::move(result.copy);
  f32_ = MakeWay(*std::move(f32), false);
  auto scaled =
      CanScale(step, layouts_) ? PrepareWide(step, types.inputs, types.outputs[0], layouts_, out) : std::nullopt;
  if (scaled && scaled->outputs[0] == f32_.prepared.outputs[0]) scaled_ = MakeWay(*std::move(scaled), true);
  num_products_ = ProductsPerSum(step, types);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    auto rows = RowsOf(step, i, layouts_[i], types);
    can_scan_ = can_scan_ && rows.has_value();
    if (rows) rows_[i] = *std::move(rows);
  }
}

AlternateProduct::Way AlternateProduct::MakeWay(PreparedPrimitive prepared, bool scales) const {
  Way way{std::move(prepared), {}, {}};
  const auto take = [&way](std::size_t bytes) { return std::exchange(way.bytes, way.bytes + Padded(bytes)); };
  std::size_t scratchpad = way.prepared.scratchpad.get_size(), spare = 0;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const Desc& needed = way.prepared.sum_input == i ? way.prepared.outputs[0] : way.prepared.inputs[i];
    Reorder reorder;
    if (needed != layouts_[i]) {
      const auto described = PrepareReorder(layouts_[i], needed);
      if (!described) throw UnsupportedError("oneDNN cannot reorder an operand");
      reorder.primitive = BuildPrimitive(*described);
      reorder.scratchpad = described->scratchpad;
      scratchpad = std::max(scratchpad, reorder.scratchpad.get_size());
      if (scales) spare = std::max(spare, layouts_[i].get_size());
    }
    if (scales || reorder.primitive) reorder.offset = take(needed.get_size());
    way.reorders.push_back(std::move(reorder));
  }
  way.scratchpad = take(scratchpad);
  way.spare = take(spare);
  way.result = take(way.prepared.outputs[0].get_size() * 3 / 2);  // and the rounded copy behind it
  way.primitive = BuildPrimitive(way.prepared);
  return way;
}

// ---- the choice ----

Implementation AlternateProduct::Choose(const std::vector<void*>& data) const {
  if (mode_ == AlternateMode::kAuto && IsHarmless(data)) return Implementation::kNative;
  const bool scales = scaled_ && (mode_ == AlternateMode::kScaled || prefers_scaled_);
  return scales && ExponentsFor(data) ? Implementation::kScaled : Implementation::kF32;
}

// What flushing can lose in one sum is at most 2^-16 of a row's largest number times a column's.
bool AlternateProduct::IsHarmless(const std::vector<void*>& data) const {
  if (!can_scan_) return false;
  std::array<double, 2> least{};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Magnitude magnitude = rows_[i].Run(BFloat16At(data, inputs_[i]), kEnough);
    if (magnitude >= kernels::kInfiniteMagnitude) return true;  // zeros, or infinite whatever is done
    least[i] = ValueOf(magnitude);
  }
  const double a = least[0], b = least[1];
  return num_products_ * std::ldexp(a + b + 1 / scale_, -126) <= std::ldexp(a * b, -16);
}

// Exact where no operand overflows and no sum does. nullopt where float32 has to do it.
std::optional<AlternateProduct::Exponents> AlternateProduct::ExponentsFor(const std::vector<void*>& data) const {
  std::array<kernels::Magnitudes, 2> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t count = layouts_[i].get_size() / sizeof(std::uint16_t);
    found[i] = kernels::MagnitudesOf(BFloat16At(data, inputs_[i]), count);
    if (found[i].largest >= kernels::kInfiniteMagnitude) return std::nullopt;
  }
  const auto raise = [&](std::size_t i, int to) {
    return found[i].largest == 0 ? 0 : std::max(0, to - std::ilogb(kernels::BF16ToFloat(found[i].largest)));
  };
  if (!(num_products_ * ValueOf(found[1].largest) < std::ldexp(1.0, 60))) return std::nullopt;
  if (found[1].smallest >= kernels::kLeastNormal && found[1].largest >= kEnough) return {{raise(0, 60), 0}};
  if (!(num_products_ < std::ldexp(1.0, 16))) return std::nullopt;
  return {{raise(0, 55), raise(1, 55)}};
}

// ---- the runs ----

void AlternateProduct::Run(Implementation implementation, const std::vector<void*>& data, const dnnl::stream& stream,
                           AlternateMemory* memory) const {
  const bool scales = implementation == Implementation::kScaled;
  const Way& way = scales ? *scaled_ : f32_;
  const RunState run{data, stream, memory->AtLeast(way.bytes)};
  const Exponents exponents = scales ? *ExponentsFor(data) : Exponents{};
  const float* result = RunInto(way, run, exponents, writes_directly_ ? data[output_] : run.memory + way.result);
  if (!writes_directly_) Round(result, NumResults(way), data[output_]);
}

// The float32 result, which is `result`.
float* AlternateProduct::RunInto(const Way& way, const RunState& run, const Exponents& exponents, void* result) const {
  std::vector<dnnl_exec_arg_t> args;
  std::vector<dnnl::memory> memories;  // of the arguments
  const auto add = [&](int arg, const Desc& desc, const void* where) {
    memories.emplace_back(desc, CpuEngine(), const_cast<void*>(where));
    args.push_back({arg, memories.back().get()});
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const void* operand = Placed(way, i, i < exponents.size() ? exponents[i] : 0, run, result);
    if (way.prepared.input_args[i] != kNoArgument) add(way.prepared.input_args[i], way.prepared.inputs[i], operand);
  }
  add(way.prepared.output_args[0], way.prepared.outputs[0], result);
  if (way.prepared.scratchpad.get_size() != 0) {
    add(DNNL_ARG_SCRATCHPAD, way.prepared.scratchpad, run.memory + way.scratchpad);
  }
  const auto status =
      dnnl_primitive_execute(way.primitive.get(), run.stream.get(), static_cast<int>(args.size()), args.data());
  dnnl::error::wrap_c_api(status, "oneDNN could not run a primitive");
  auto* numbers = static_cast<float*>(result);
  kernels::ScaleDown(numbers, NumResults(way), exponents[0] + exponents[1]);
  return numbers;
}

std::size_t AlternateProduct::NumResults(const Way& way) { return way.prepared.outputs[0].get_size() / sizeof(float); }

Flushed& Flushed::operator+=(const Flushed& other) {
  runs += other.runs, operands += other.operands, results += other.results;
  return *this;
}

Flushed AlternateProduct::CountFlushed(const std::vector<void*>& data, const dnnl::stream& stream,
                                       AlternateMemory* memory) const {
  Flushed flushed{1, 0, 0};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!IsDense(layouts_[i], DType::kBFloat16)) continue;
    const std::uint16_t* operand = BFloat16At(data, inputs_[i]);
    const auto count = static_cast<std::ptrdiff_t>(layouts_[i].get_size() / sizeof(*operand));
    flushed.operands += std::count_if(operand, operand + count, IsDenormal);
  }
  if (copy_result_ || f32_.prepared.sum_input) return flushed;  // the summand is overwritten by now
  const kernels::FloatModeScope keeps_denormals;
  const RunState run{data, stream, memory->AtLeast(f32_.bytes)};
  const float* exact = RunInto(f32_, run, {}, run.memory + f32_.result);
  for (std::size_t i = 0; i < NumResults(f32_); ++i) {
    const bool is_zero = rounds_ ? (BFloat16At(data, output_)[i] & kernels::kMagnitudeMask) == 0
                                 : static_cast<const float*>(data[output_])[i] == 0;
    const bool is_zero_exactly =
        rounds_ ? (kernels::FloatToBF16(exact[i]) & kernels::kMagnitudeMask) == 0 : exact[i] == 0;
    flushed.results += is_zero && !is_zero_exactly;
  }
  return flushed;
}

// Input i as the primitive wants it.
const void* AlternateProduct::Placed(const Way& way, std::size_t i, int exponent, const RunState& run,
                                     void* result) const {
  const void* operand = run.data[inputs_[i]];
  const Reorder& reorder = way.reorders[i];
  if (exponent != 0) {
    auto* scaled = reinterpret_cast<std::uint16_t*>(run.memory + (reorder.primitive ? way.spare : reorder.offset));
    kernels::ScaleUp(static_cast<const std::uint16_t*>(operand), scaled, layouts_[i].get_size() / sizeof(*scaled),
                     exponent);
    operand = scaled;
  }
  if (!reorder.primitive) return operand;
  const bool is_sum = way.prepared.sum_input == i;
  void* to = is_sum ? result : run.memory + reorder.offset;
  dnnl::memory source(layouts_[i], CpuEngine(), const_cast<void*>(operand));
  dnnl::memory target(is_sum ? way.prepared.outputs[0] : way.prepared.inputs[i], CpuEngine(), to);
  dnnl::memory scratchpad(reorder.scratchpad, CpuEngine(), run.memory + way.scratchpad);
  reorder.primitive.execute(run.stream,
                            {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}, {DNNL_ARG_SCRATCHPAD, scratchpad}});
  return to;
}

void AlternateProduct::Round(const float* result, std::size_t count, void* out) const {
  char* first = static_cast<char*>(out) + first_byte_;
  if (!rounds_) return copy_result_->Run(result, first);
  using kernels::ElementType;
  if (!copy_result_) return kernels::Cast(ElementType::kFloat32, result, ElementType::kBFloat16, first, count);
  auto* rounded = reinterpret_cast<std::uint16_t*>(const_cast<float*>(result) + count);
  kernels::Cast(ElementType::kFloat32, result, ElementType::kBFloat16, rounded, count);
  copy_result_->Run(rounded, first);
}

}  // namespace amp::onednn
