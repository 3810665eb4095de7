#include "runtime/checked_kernels.h"

#include <nlohmann/json.hpp>

#include "dnnl/cpu_info.h"
#include "kernels/base/cpu.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "program/version.h"
#include "runtime/cache_files.h"
#include "runtime/find_machine.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

std::string RecordPath() {
  return CachePath("kernels", fmt::format("{}-{}-{}-onednn{}", CpuName(), CpuIsaName(),
                                          kernels::IsaName(kernels::AllowedIsa()), OneDnnVersion()));
}

// Whatever is wrong with the file, new checks replace it.
KernelRecord::Known ReadRecord() {
  try {
    const std::optional<std::string> text = ReadIfThere(RecordPath());
    const Json file = text ? Json::parse(*text) : Json();
    const bool is_ours = file.is_object() && file.at("program") == LibraryVersion();
    return is_ours ? file.at("kernels").get<KernelRecord::Known>() : KernelRecord::Known();
  } catch (const std::exception&) {
    return {};
  }
}

void KeepRecord(const KernelRecord::Known& known) {
  WriteToCache(RecordPath(), Json{{"program", LibraryVersion()}, {"kernels", known}}.dump(1));
}

}  // namespace

std::shared_ptr<KernelRecord> CheckedKernels() {
  if (EnvValue("AMP_CHECK_KERNELS") == "0") return nullptr;
  static const auto kRecord = std::make_shared<KernelRecord>(ReadRecord(), KeepRecord);
  return kRecord;
}

}  // namespace amp
