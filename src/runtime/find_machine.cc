#include "runtime/find_machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "dnnl/cpu_info.h"
#include "dnnl/probe_machine.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "nnvm/file_io.h"
#include "program/shipped_machines.h"
#include "runtime/cache_files.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFastRatio = 1.5;    // bfloat16 against float32: 2.0 on Zen 4, 1.0 on Xeons that split the instruction
constexpr double kAmxRatio = 3;       // more than vectors can give
constexpr double kWideFlops = 185e9;  // of a core, in float32: 128e9 on Zen 4, 240e9 on Zen 5, which computes 512 bits
                                      // in one step

// What a measurement holds for, as part of a file's name.
std::string MachineKey(int num_threads) {
  return fmt::format("{}-{}-{}threads-onednn{}", CpuName(), CpuIsaName(), num_threads, OneDnnVersion());
}

// Null where no class has this name. Each is read once in a process.
std::shared_ptr<const MachineTable> Shipped(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const MachineTable>> known;
  const std::lock_guard lock(mutex);
  for (const ShippedMachine& machine : ShippedMachines()) {
    if (machine.name != name) continue;
    std::shared_ptr<const MachineTable>& table = known[name];
    if (table == nullptr) table = MachineTable::OfShipped(machine.text);
    return table;
  }
  return nullptr;
}

std::string ProbePath(int num_threads) { return CachePath("probe", MachineKey(num_threads)); }

// The probe of an earlier process; whatever is wrong with the file, a new probe replaces it.
std::optional<MachineProbe> KnownProbe(int num_threads) {
  MachineProbe probe;
  try {
    const std::optional<std::string> text = ReadIfThere(ProbePath(num_threads));
    if (!text) return std::nullopt;
    const Json file = Json::parse(*text);
    probe = {file.at("float32_flops").get<double>(), file.at("bfloat16_flops").get<double>(),
             file.at("bytes_per_second").get<double>(), true};
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const bool is_sane = probe.float32_flops >= 1e6 && probe.bfloat16_flops >= 0;
  return is_sane ? std::optional(probe) : std::nullopt;
}

MachineProbe Probe(int num_threads) {
  if (const std::optional<MachineProbe> known = KnownProbe(num_threads)) return *known;
  const MachineProbe probe = ProbeMachine(num_threads);
  if (!probe.is_steady) return probe;
  const Json file{{"float32_flops", probe.float32_flops},
                  {"bfloat16_flops", probe.bfloat16_flops},
                  {"bytes_per_second", probe.bytes_per_second}};
  WriteToCache(ProbePath(num_threads), file.dump());
  return probe;
}

// The class of a machine whose bfloat16 is faster than float32.
const char* FastClass(const MachineProbe& probe, int num_threads) {
  if (probe.bfloat16_flops >= kAmxRatio * probe.float32_flops) return "avx512_amx";
  return probe.float32_flops < kWideFlops * num_threads ? "avx512_bf16_fast" : "avx512_bf16_wide";
}

// A probe's products are smaller than those that a class was measured with: it finds 0.85 of their speed on the same
// CPU.
bool IsLike(const MachineTable& machine, const std::map<DType, double>& speeds) {
  constexpr double kAlike = 1.25;
  return std::all_of(speeds.begin(), speeds.end(), [&](const auto& speed) {
    const double ratio = speed.second / machine.flops_per_second().at(speed.first);
    return ratio < kAlike && ratio > 1 / kAlike;
  });
}

// The class that fits. Machines with fast bfloat16 differ by much: theirs has the speeds that were measured, unless
// these are about its own.
std::shared_ptr<const MachineTable> ByProbe(int num_threads) {
  if (!OneDnnHasBF16()) return Shipped(OneDnnHasAvx512() ? "avx512_core" : "avx2");
  const MachineProbe probe = Probe(num_threads);
  if (probe.bfloat16_flops < kFastRatio * probe.float32_flops) return Shipped("avx512_bf16_slow");
  const std::map<DType, double> speeds = {{DType::kFloat32, probe.float32_flops},
                                          {DType::kBFloat16, probe.bfloat16_flops}};
  std::shared_ptr<const MachineTable> machine = Shipped(FastClass(probe, num_threads));
  return IsLike(*machine, speeds) ? machine : machine->WithSpeeds(speeds, "probed");
}

std::shared_ptr<const MachineTable> FromFile(const std::string& text, const std::string& path, int num_threads) {
  return MachineTable::Parse(text, path, [&] { return ByProbe(num_threads); });  // asked where it measured nothing
}

// The file of this machine; one of an earlier version is set aside, because its measurements are of kernels that have
// other names now. That stops no bind.
std::optional<std::string> ReadCurrent(const std::string& path) {
  std::optional<std::string> text = ReadIfThere(path);
  if (!text || !MachineTable::IsOfEarlierVersion(*text)) return text;
  const std::string aside = path + ".old";
  std::error_code error;
  std::filesystem::rename(path, aside, error);
  fmt::print(stderr, "amp: '{}' is of an earlier version and {}; `amp calibrate` measures this machine anew\n", path,
             error ? "is not read" : "now '" + aside + "'");
  return std::nullopt;
}

// Nothing is written over what could not be set aside.
void RequireNoOldFile(const std::string& path) {
  const std::optional<std::string> text = ReadIfThere(path);
  if (text && MachineTable::IsOfEarlierVersion(*text))
    Throw<ArgumentError>("machine file '{}' is of an earlier version: move it away", Quotable(path, 300));
}

// What is known of this machine, by number of threads. Files are read once in a process.
class KnownMachines {
 public:
  std::shared_ptr<const MachineTable> Find(int num_threads) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const MachineTable>& machine = machines_[MachineKey(num_threads)];
    if (machine != nullptr) return machine;
    const std::string path = MachineFilePath(num_threads);
    const std::optional<std::string> file = ReadCurrent(path);
    return machine = file ? FromFile(*file, path, num_threads) : ByProbe(num_threads);
  }
  // After its file was changed.
  void Set(int num_threads, std::shared_ptr<const MachineTable> machine) {
    const std::lock_guard lock(mutex_);
    machines_[MachineKey(num_threads)] = std::move(machine);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const MachineTable>> machines_;  // by key
};

KnownMachines& ThisMachine() {
  static KnownMachines machines;
  return machines;
}

// What `text` stands for where it is "this": "this" or what AMP_MACHINE names.
std::string Named(const std::string& text) {
  if (text != "this") return text;
  const std::string named = EnvValue("AMP_MACHINE");
  return named.empty() ? text : named;
}

// "any", a class or a file; `who` names it.
std::shared_ptr<const MachineTable> NamedMachine(const std::string& text, const char* who, int num_threads) {
  if (text == "any") return nullptr;
  if (std::shared_ptr<const MachineTable> machine = Shipped(text)) return machine;
  if (const std::optional<std::string> file = ReadIfThere(text)) return FromFile(*file, text, num_threads);
  if (text.find('/') != std::string::npos || text.ends_with(".json")) {
    Throw<ArgumentError>("{}: there is no file '{}'; `amp calibrate -o FILE` writes one", who, Quotable(text, 300));
  }
  Throw<ArgumentError>("{}: expected 'this', 'any', a class ({}) or the path of a machine file, got '{}'{}", who,
                       JoinSome(MachineClasses()), Quotable(text), NearMatches(text, MachineClasses()));
}

}  // namespace

std::vector<std::string> MachineClasses() {
  std::vector<std::string> names;
  for (const ShippedMachine& machine : ShippedMachines()) names.emplace_back(machine.name);
  return names;
}

std::string CpuName() {
  std::map<std::string, std::string> facts;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    facts[line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1)] = line.substr(colon + 2);
  }
  return fmt::format("{} (family {}, model {})", facts["model name"], facts["cpu family"], facts["model"]);
}

std::string MachineFilePath(int num_threads) { return CachePath("machine", MachineKey(num_threads)); }

std::shared_ptr<const MachineTable> FindMachine(const std::string& text, int num_threads) {
  const std::string named = Named(text);
  if (named == "this") return ThisMachine().Find(num_threads);
  return NamedMachine(named, text == "this" ? "AMP_MACHINE" : "machine", num_threads);
}

std::string TunedFilePath(const std::string& text, int num_threads) {
  const std::string named = Named(text);
  const std::vector<std::string> classes = MachineClasses();
  if (named == "any" || std::find(classes.begin(), classes.end(), named) != classes.end()) {
    Throw<ArgumentError>("tune: what timing chooses is kept in a machine's file, and '{}' has none", Quotable(named));
  }
  const std::string path = named == "this" ? MachineFilePath(num_threads) : named;
  if (path.empty()) {
    throw ArgumentError("tune: there is no folder for caches (neither XDG_CACHE_HOME nor HOME is set)");
  }
  return path;
}

std::shared_ptr<const MachineTable> AddTuned(const std::string& text, int num_threads, const TunedKernels& tuned) {
  if (tuned.empty()) return FindMachine(text, num_threads);
  static std::mutex mutex;  // of reading and writing
  const std::lock_guard lock(mutex);
  const std::string path = TunedFilePath(text, num_threads);
  const std::optional<std::string> known = Named(text) == "this" ? ReadCurrent(path) : ReadIfThere(path);
  const std::string content = MachineTable::TextWithTuned(known.value_or(""), path, tuned);
  RequireNoOldFile(path);
  std::error_code ignored;  // writing will say so
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  WriteFile(path, content);
  // A file without measurements leaves the times as they are.
  auto machine = MachineTable::Parse(content, path, [&] { return FindMachine(text, num_threads); });
  if (Named(text) == "this") ThisMachine().Set(num_threads, machine);
  return machine;
}

}  // namespace amp
