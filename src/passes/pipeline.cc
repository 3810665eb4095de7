#include "passes/pipeline.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "passes/verify.h"

namespace amp {
namespace {

std::vector<std::string> DisabledPasses() {
  const std::string list = EnvValue("AMP_DISABLE_PASSES");
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end != begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// "FoldBatchNorm" -> "fold_batch_norm"
std::string FileName(const std::string& stage) {
  std::string name;
  for (const char c : stage) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isupper(letter) != 0 && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(letter));
  }
  return name;
}

}  // namespace

bool PassEnabled(std::string_view pass) {
  const std::vector<std::string> disabled = DisabledPasses();
  return std::find(disabled.begin(), disabled.end(), pass) == disabled.end();
}

void CheckDisabledPasses(const std::vector<std::string>& known) {
  for (const std::string& name : DisabledPasses()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Throw<ArgumentError>("AMP_DISABLE_PASSES names '{}', expected some of {}", Quotable(name),
                         JoinSome(known, known.size()));
  }
}

StageWatch::StageWatch(const char* stage, const Model& model) : stage_(stage) {
  if (!EnvValue("AMP_DUMP").empty()) outputs_ = model.graph().outputs();
  if (EnvFlag("AMP_VERBOSE")) begin_ = Seconds();
}

void StageWatch::Finish(const Model& model) const {
  const Graph& graph = model.graph();
  if (begin_ != 0) {
    fmt::print(stderr, "pass: {} {:.1f} ms, {} nodes\n", stage_, 1000 * (Seconds() - begin_), graph.num_nodes());
  }
  VerifyAfter(stage_, graph);
  DumpGraph(FileName(stage_), graph, outputs_ != graph.outputs());
}

}  // namespace amp
