#include "nnvm/dump.h"

#include <atomic>
#include <cstdio>

#include "nnvm/env.h"
#include "nnvm/file_io.h"

namespace amp {

void DumpText(const std::string& stage, const std::function<std::string()>& text) {
  static std::atomic<int> number{0};  // over the whole process, so that files sort in the order of events
  const std::string folder = EnvValue("AMP_DUMP");
  if (folder.empty()) return;
  try {
    WriteFile(fmt::format("{}/{:04}_{}.txt", folder, number++, stage), text());
  } catch (const Error& error) {
    fmt::print(stderr, "amp: AMP_DUMP: {}\n", error.what());
  }
}

void DumpGraph(const std::string& stage, const Graph& graph, bool changed) {
  if (changed) DumpText(stage, [&] { return PrintGraph(graph); });
}

}  // namespace amp
