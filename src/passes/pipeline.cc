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

StageClock::StageClock(const char* stage) : stage_(stage), begin_(EnvFlag("AMP_VERBOSE") ? Seconds() : 0) {}

bool StageClock::dumps() { return !EnvValue("AMP_DUMP").empty(); }

bool StageClock::verifies() { return EnvFlag("AMP_VERIFY"); }

void StageClock::Print(std::size_t count, const char* of_what) const {
  if (begin_ == 0) return;
  fmt::print(stderr, "pass: {} {:.1f} ms, {} {}\n", stage_, 1000 * (Seconds() - begin_), count, of_what);
}

void StageClock::Dump(const std::string& text) const {
  DumpText(FileName(stage_), [&] { return text; });
}

StageWatch::StageWatch(const char* stage, const Model& model) : clock_(stage) {
  if (StageClock::dumps()) outputs_ = model.graph().outputs();
}

void StageWatch::Finish(const Model& model) const {
  const Graph& graph = model.graph();
  clock_.Print(graph.num_nodes(), "nodes");
  VerifyAfter(clock_.stage(), graph);
  DumpGraph(FileName(clock_.stage()), graph, outputs_ != graph.outputs());
}

}  // namespace amp
