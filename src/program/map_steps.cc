#include "program/map_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "program/kernel_types.h"

namespace amp {
namespace {

using kernels::Map;
using kernels::MapOp;
using kernels::MapStep;

const DType& DTypeOf(const Program& program, ValueId v) { return program.values[v].type.dtype; }

// Collects the steps of a map.
class MapBuilder {
 public:
  MapBuilder(std::vector<ValueId> inputs, NumericMode mode) : inputs_(std::move(inputs)), mode_(mode) {}

  std::uint8_t Input(std::size_t i) const { return static_cast<std::uint8_t>(i); }
  std::uint8_t Last() const { return static_cast<std::uint8_t>(inputs_.size() + steps_.size() - 1); }

  void Add(MapOp op, std::uint8_t x, std::uint8_t y = 0, float alpha = 0, float beta = 0) {
    steps_.push_back({op, x, y, 0, alpha, beta});
  }

  // The function of register x; false where maps do not have it, or oneDNN's bits are others.
  bool AddEltwise(const EltwiseSpec& spec, std::uint8_t x) {
    return (mode_ != NumericMode::kExact || HasBitsOfLibrary(spec)) && AddFunction(spec, x);
  }

  // The number of register x above 0, else its product with register `slope`.
  void AddPRelu(std::uint8_t x, std::uint8_t slope) {
    Add(MapOp::kMul, x, slope);
    Select(x, Last());
  }

  std::vector<MapStep> TakeSteps() { return std::move(steps_); }

  std::optional<Step> Result(const Step& from) {
    if (inputs_.size() > Map::kMaxOperands || steps_.size() > Map::kMaxSteps) return std::nullopt;
    Step step{MapSpec{std::move(steps_)}, std::move(inputs_), from.outputs, from.node, from.reason};
    step.fused = from.fused;
    step.depends_on_input_shape = from.depends_on_input_shape;
    return step;
  }

 private:
  static bool HasBitsOfLibrary(const EltwiseSpec& spec) {
    return (spec.kind == EltwiseKind::kRelu && spec.alpha == 0) || spec.kind == EltwiseKind::kClip ||
           spec.kind == EltwiseKind::kAbs || spec.kind == EltwiseKind::kSquare || spec.kind == EltwiseKind::kSqrt;
  }

  bool AddFunction(const EltwiseSpec& spec, std::uint8_t x) {
    struct Operation {
      EltwiseKind kind;
      MapOp op;
    };
    static constexpr Operation kOperations[] = {
        {EltwiseKind::kAbs, MapOp::kAbs},         {EltwiseKind::kSquare, MapOp::kSquare},
        {EltwiseKind::kSqrt, MapOp::kSqrt},       {EltwiseKind::kTanh, MapOp::kTanh},
        {EltwiseKind::kSigmoid, MapOp::kSigmoid}, {EltwiseKind::kExp, MapOp::kExp},
        {EltwiseKind::kLog, MapOp::kLog}};
    for (const auto& [kind, op] : kOperations) {
      if (kind == spec.kind) return Add(op, x), true;
    }
    switch (spec.kind) {
      case EltwiseKind::kRelu:
        Add(MapOp::kRelu, x, 0, spec.alpha);
        return true;
      case EltwiseKind::kClip:
        Add(MapOp::kClip, x, 0, spec.alpha, spec.beta);
        return true;
      case EltwiseKind::kLinear:
        Add(MapOp::kLinear, x, 0, spec.alpha, spec.beta);
        return true;
      case EltwiseKind::kSwish:
        Add(MapOp::kLinear, x, 0, spec.alpha, 0);
        Add(MapOp::kSigmoid, Last());
        Add(MapOp::kMul, Last(), x);
        return true;
      case EltwiseKind::kHardSigmoid:
      case EltwiseKind::kHardSwish:
        Add(MapOp::kLinear, x, 0, spec.alpha, spec.beta);
        Add(MapOp::kClip, Last(), 0, 0, 1);
        if (spec.kind == EltwiseKind::kHardSwish) Add(MapOp::kMul, Last(), x);
        return true;
      case EltwiseKind::kElu:
        Add(MapOp::kExp, x);
        Add(MapOp::kLinear, Last(), 0, spec.alpha, -spec.alpha);
        Select(x, Last());
        return true;
      case EltwiseKind::kGeluErf:
        Add(MapOp::kLinear, x, 0, std::sqrt(0.5f), 0);
        Add(MapOp::kErf, Last());
        AddHalfOfOnePlus(Last(), x);
        return true;
      case EltwiseKind::kGeluTanh:
        Add(MapOp::kSquare, x);
        Add(MapOp::kLinear, Last(), 0, 0.044715f * kGeluScale, kGeluScale);
        Add(MapOp::kMul, Last(), x);
        Add(MapOp::kTanh, Last());
        AddHalfOfOnePlus(Last(), x);
        return true;
      default:
        return false;
    }
  }

  static constexpr float kGeluScale = 0.797884561f;  // sqrt(2 / pi)

  // x (1 + y) / 2.
  void AddHalfOfOnePlus(std::uint8_t y, std::uint8_t x) {
    Add(MapOp::kLinear, y, 0, 0.5f, 0.5f);
    Add(MapOp::kMul, Last(), x);
  }

  // The number of register x above 0, else that of register y.
  void Select(std::uint8_t x, std::uint8_t y) {
    Add(MapOp::kConstant, 0);
    Add(MapOp::kGreater, x, Last());
    steps_.push_back({MapOp::kSelect, Last(), x, y});
  }

  std::vector<ValueId> inputs_;
  std::vector<MapStep> steps_;
  NumericMode mode_;
};

bool AddPostOp(const PostOp& op, MapBuilder* builder) {
  if (const auto* eltwise = std::get_if<EltwiseSpec>(&op.spec)) return builder->AddEltwise(*eltwise, builder->Last());
  if (std::holds_alternative<PReluSpec>(op.spec)) {
    builder->AddPRelu(builder->Last(), builder->Input(op.operand));
    return true;
  }
  const auto* binary = std::get_if<BinarySpec>(&op.spec);
  if (binary == nullptr && !std::holds_alternative<SumSpec>(op.spec)) return false;
  builder->Add(binary == nullptr ? MapOp::kAdd : MapOpOf(binary->kind), builder->Last(), builder->Input(op.operand));
  return true;
}

bool AddSpec(const StepSpec& spec, MapBuilder* builder) {
  if (const auto* eltwise = std::get_if<EltwiseSpec>(&spec)) return builder->AddEltwise(*eltwise, 0);
  if (const auto* binary = std::get_if<BinarySpec>(&spec)) {
    builder->Add(MapOpOf(binary->kind), 0, 1);
    return true;
  }
  if (std::holds_alternative<PReluSpec>(spec)) {
    builder->AddPRelu(0, 1);
    return true;
  }
  if (std::holds_alternative<CastSpec>(spec)) {
    builder->Add(MapOp::kRelu, 0, 0, 1);  // the number itself
    return true;
  }
  return false;
}

}  // namespace

MapOp MapOpOf(BinaryKind kind) {
  constexpr MapOp kOps[] = {MapOp::kAdd, MapOp::kSub, MapOp::kMul, MapOp::kDiv, MapOp::kMax, MapOp::kMin};
  return kOps[static_cast<int>(kind)];
}

bool IsMapOperand(DType dtype) { return Map::IsOperandType(KernelType(dtype)); }
bool IsMapResult(DType dtype) { return Map::IsResultType(KernelType(dtype)); }

std::optional<Step> AsMap(const Step& step, const Program& program, NumericMode mode) {
  if (std::holds_alternative<MapSpec>(step.spec)) return step;
  if (step.outputs.size() != 1 || !IsFloat32OrBF16(DTypeOf(program, step.outputs[0]))) return std::nullopt;
  for (const ValueId v : step.inputs) {
    if (!IsFloat32OrBF16(DTypeOf(program, v))) return std::nullopt;
  }
  MapBuilder builder(step.inputs, mode);
  if (!AddSpec(step.spec, &builder)) return std::nullopt;
  for (const PostOp& op : step.post_ops) {
    if (!AddPostOp(op, &builder)) return std::nullopt;
  }
  return builder.Result(step);
}

std::optional<std::vector<MapStep>> MapStepsOf(const std::vector<EltwiseSpec>& functions) {
  MapBuilder builder({0}, NumericMode::kFast);
  for (const EltwiseSpec& function : functions) {
    if (!builder.AddEltwise(function, builder.Last())) return std::nullopt;
  }
  std::vector<MapStep> steps = builder.TakeSteps();
  if (steps.size() > Map::kMaxSteps) return std::nullopt;
  return steps;
}

std::optional<Step> MergeMaps(const Step& producer, const Step& reader, const Program& program, NumericMode mode) {
  const ValueId between = producer.outputs[0];
  Step merged = reader;
  merged.inputs = producer.inputs;
  std::vector<MapStep> steps = std::get<MapSpec>(producer.spec).steps;
  // Where the reader's inputs are now; that of the producer's result comes last.
  std::vector<std::size_t> place(reader.inputs.size());
  for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
    if (reader.inputs[i] == between) continue;
    const auto known = std::find(merged.inputs.begin(), merged.inputs.end(), reader.inputs[i]);
    place[i] = static_cast<std::size_t>(known - merged.inputs.begin());
    if (known == merged.inputs.end()) merged.inputs.push_back(reader.inputs[i]);
  }
  const std::size_t before = producer.inputs.size(), now = merged.inputs.size();
  for (MapStep& s : steps) {
    for (std::uint8_t* r : {&s.x, &s.y, &s.z}) *r = static_cast<std::uint8_t>(*r < before ? *r : *r - before + now);
  }
  const bool is_exact = mode == NumericMode::kExact || program.values[between].is_exact;
  const bool rounds = is_exact && DTypeOf(program, between) == DType::kBFloat16;
  if (rounds) steps.push_back({MapOp::kRoundToBF16, static_cast<std::uint8_t>(now + steps.size() - 1)});
  const std::size_t result = now + steps.size() - 1, offset = result + 1;
  for (MapStep s : std::get<MapSpec>(reader.spec).steps) {
    for (std::uint8_t* r : {&s.x, &s.y, &s.z}) {
      const std::size_t old = *r, count = reader.inputs.size();
      const std::size_t moved = old >= count                    ? old - count + offset
                                : reader.inputs[old] == between ? result
                                                                : place[old];
      *r = static_cast<std::uint8_t>(moved);
    }
    steps.push_back(s);
  }
  if (merged.inputs.size() > Map::kMaxOperands || steps.size() > Map::kMaxSteps) return std::nullopt;
  merged.spec = MapSpec{std::move(steps)};
  merged.fused.insert(merged.fused.begin(), producer.fused.begin(), producer.fused.end());
  merged.fused.push_back(producer.node);
  merged.depends_on_input_shape = merged.depends_on_input_shape || producer.depends_on_input_shape;
  return merged;
}

}  // namespace amp
