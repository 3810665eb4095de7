#include "dnnl/laid_out_program.h"

#include <utility>

namespace amp::onednn {

ValueId LaidOutProgram::RootOf(ValueId v) {
  while (storage[v] != v) v = storage[v] = storage[storage[v]];
  return v;
}

std::set<ValueId> LaidOutProgram::RootsOfOutputs() {
  std::set<ValueId> roots;
  for (const ValueId v : program.outputs) roots.insert(RootOf(v));
  return roots;
}

std::vector<std::size_t> LaidOutProgram::LastUses() {
  std::vector<std::size_t> last_use(program.values.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const ValueId v : program.steps[i].inputs) last_use[RootOf(v)] = i;
  }
  return last_use;
}

ValueId LaidOutProgram::AddValue(TensorType type, std::string name, Desc layout) {
  const ValueId v = program.AddValue(std::move(type), std::move(name), ValueSource::kComputed);
  layouts.push_back(std::move(layout));
  storage.push_back(v);
  return v;
}

}  // namespace amp::onednn
