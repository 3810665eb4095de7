#include "dnnl/prepared_primitive.h"

#include "dnnl/engine.h"
#include "program/threads.h"

namespace amp::onednn {

std::optional<PreparedPrimitive> PrepareReorder(const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc pd(CpuEngine(), from, CpuEngine(), to, PlainAttributes(), /*allow_empty=*/true);
  if (!pd) return std::nullopt;
  PreparedPrimitive prepared;
  prepared.desc = pd;
  prepared.inputs = {from};
  prepared.outputs = {to};
  prepared.input_args = {DNNL_ARG_FROM};
  prepared.output_args = {DNNL_ARG_TO};
  prepared.scratchpad = pd.scratchpad_desc();
  prepared.implementation = pd.impl_info_str();
  return prepared;
}

dnnl::primitive BuildPrimitive(const PreparedPrimitive& prepared) {
  std::optional<ThreadScope> threads;
  if (prepared.num_threads != 0) threads.emplace(prepared.num_threads);
  return dnnl::primitive(prepared.desc.get());
}

}  // namespace amp::onednn
