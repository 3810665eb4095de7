#include "dnnl/step_merger.h"

#include <utility>

#include "dnnl/cpu_info.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

// A summand has the destination's dtype; one of another is an operand like others.
void ReplaceSum(Step* step) {
  for (PostOp& op : step->post_ops) {
    if (std::holds_alternative<SumSpec>(op.spec)) op.spec = BinarySpec{BinaryKind::kAdd};
  }
}

// The number of post-ops that oneDNN 3.2 takes.
constexpr std::size_t kMaxPostOps = 32;

bool IsWrong(const Step& merged, const std::string& implementation) {
  const auto finishes_once = BackEndOf(merged.spec).finishes_once;
  return finishes_once != nullptr && !merged.post_ops.empty() && !finishes_once(merged, implementation);
}

}  // namespace

bool StepMerger::Merge(StepId host, StepId reader, std::vector<PostOp> ops, const std::vector<ValueId>& operands) {
  Step merged = graph_->step(host);
  std::size_t next = 0;
  for (PostOp& op : ops) {
    if (!std::holds_alternative<EltwiseSpec>(op.spec)) {
      op.operand = merged.inputs.size();
      merged.inputs.push_back(operands[next++]);
    }
    merged.post_ops.push_back(std::move(op));
  }
  if (merged.post_ops.size() > kMaxPostOps) return false;
  merged.outputs = graph_->step(reader).outputs;
  const DType written = graph_->type(merged.outputs[0]).dtype;
  if (written != graph_->type(graph_->step(host).outputs[0]).dtype) ReplaceSum(&merged);
  if (!Accepts(merged, graph_->step(host))) return false;
  ReplaceReader(std::move(merged), host, reader);
  return true;
}

void StepMerger::ReplaceReader(Step merged, StepId host, StepId reader) {
  const Step& absorbed = graph_->step(reader);
  // Only what commutes with rounding follows an exact value.
  if (graph_->value(graph_->step(host).outputs[0]).is_exact) graph_->MarkExact(absorbed.outputs[0]);
  merged.outputs = absorbed.outputs;
  AddFused(absorbed, &merged);
  graph_->Replace(reader, std::move(merged));
  graph_->Remove(host);
}

bool StepMerger::Accepts(const Step& merged, const Step& host) const {
  const std::string fused = ImplementationOf(merged);
  if (fused.empty() || IsWrong(merged, fused) || fused.find("ref") != std::string::npos) return false;
  if (is_fast_ && fused.find("gemm") == std::string::npos) return true;
  const std::string alone = ImplementationOf(host);  // asking costs time: only where the answer matters
  return is_fast_ ? alone.find("gemm") != std::string::npos : fused == alone;
}

ValueId StepMerger::AddBefore(StepId reader, StepSpec spec, ValueId input, TensorType type, const char* suffix) {
  const std::string name = graph_->value(input).name + suffix;
  const StepId id = graph_->Add(graph_->order(reader) - 0.25, std::move(spec), {input}, std::move(type),
                                graph_->step(reader).node, name);
  return graph_->step(id).outputs[0];
}

// Where oneDNN has no bfloat16, own kernels or float32 between casts compute what is in it: then it is asked
// for float32. "" where it has none.
std::string StepMerger::ImplementationOf(const Step& step) const {
  std::vector<TensorType> types;
  std::vector<Desc> layouts;
  const auto type_of = [&](ValueId v) {
    const TensorType& type = graph_->type(v);
    const bool is_known = type.dtype != DType::kBFloat16 || OneDnnHasBF16();
    return is_known ? type : TensorType{DType::kFloat32, type.shape};
  };
  for (const ValueId v : step.inputs) {
    types.push_back(type_of(v));
    layouts.push_back(PlainDesc(types.back()));
  }
  const auto prepared = Prepare(step, types, type_of(step.outputs[0]), layouts);
  return prepared ? prepared->implementation : "";
}

}  // namespace amp::onednn
