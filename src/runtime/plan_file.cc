#include "runtime/plan_file.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "dnnl/body_plans.h"
#include "dnnl/cpu_info.h"
#include "dnnl/plan_constants.h"
#include "kernels/base/cpu.h"
#include "nnvm/crc32.h"
#include "nnvm/error.h"
#include "nnvm/json_text.h"
#include "nnvm/symbol_json.h"
#include "program/machine_table.h"
#include "program/saved_choices.h"
#include "program/threads.h"
#include "program/version.h"
#include "runtime/build_id.h"
#include "runtime/executor_options.h"
#include "runtime/find_machine.h"

namespace amp::onednn {
namespace {

using Json = nlohmann::json;

constexpr char kMagic[] = {'a', 'm', 'p', '-', 'p', 'l', 'a', 'n'};
constexpr std::uint32_t kFormat = 1;
constexpr std::uint64_t kMaxHeader = std::uint64_t{64} << 20;
constexpr std::uint64_t kAlignment = 64;                                   // of constants
constexpr std::uint64_t kPage = 4096, kHugePage = std::uint64_t{2} << 20;  // of the first one, by their size

// What stands in front of the header.
struct Prefix {
  char magic[sizeof kMagic];
  std::uint32_t format = kFormat;
  std::uint32_t header_checksum = 0;
  std::uint64_t header_bytes = 0;
};

std::uint64_t RoundedUp(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

// ---- who made it, and for what ----

Json MadeBy() { return {{"version", LibraryVersion()}, {"build", BuildIdOf(&kFormat)}, {"onednn", OneDnnVersion()}}; }

Json MadeFor() {
  return {{"cpu", CpuName()}, {"onednn_isa", CpuIsaName()}, {"own_isa", kernels::IsaName(kernels::AllowedIsa())}};
}

// Own kernels' packed weights mean what this build and instruction set mean by them.
void RequireSameMaker(const Json& header, const std::string& path) {
  const auto require = [&](const char* group, const char* key, const Json& here, const char* what) {
    const std::string made = header.at(group).at(key), now = here.at(key);
    if (made == now) return;
    Throw<PlanMismatch>("'{}' was made {} '{}', and this is '{}'", Quotable(path, 300), what, Quotable(made),
                        Quotable(now));
  };
  const Json by = MadeBy(), cpu = MadeFor();
  require("made_by", "version", by, "by version");
  require("made_by", "build", by, "by the build");
  require("made_by", "onednn", by, "by oneDNN");
  require("made_for", "onednn_isa", cpu, "for the instruction set");
  require("made_for", "own_isa", cpu, "for own kernels of");
}

// ---- types and symbols ----

Json ToJson(const TensorType& type) {
  return {NameOf(type.dtype), type.shape.rank_known() ? Json(type.shape.dims()) : Json()};
}

TensorType TypeOf(const Json& json) {
  TensorType type{FindDType(json.at(0).get<std::string>()).value_or(DType::kUnknown), {}};
  if (json.at(1).is_null()) return type;
  type.shape = Shape(json.at(1).get<std::vector<std::int64_t>>());
  const auto is_wrong = [](std::int64_t dim) { return dim < kUnknownDim; };
  const std::vector<std::int64_t>& dims = type.shape.dims();
  if (type.shape.rank() > kMaxRank || std::any_of(dims.begin(), dims.end(), is_wrong)) {
    Throw<GraphError>("a plan file has the shape {}", type.shape.ToString());
  }
  return type;
}

Json ToJson(const TypeMap& types) {
  Json json = Json::object();
  for (const auto& [name, type] : types) json[name] = ToJson(type);
  return json;
}

TypeMap TypesOf(const Json& json) {
  TypeMap types;
  for (const auto& [name, type] : json.items()) types[name] = TypeOf(type);
  return types;
}

// What is known of a model's variables.
Json ToJson(const Model& model) {
  return {{"types", ToJson(model.variable_types())}, {"parameters", model.parameters()}};
}

Symbol SymbolOf(const Json& json, const std::string& path) {
  return ParseSymbolJson(json.get_ref<const std::string&>(), path);
}

Model ModelOf(const Symbol& symbol, const Json& variables) {
  return Model(symbol.ToGraph(), TypesOf(variables.at("types")),
               variables.at("parameters").get<std::set<std::string>>());
}

// ---- options and choices ----

Json ToJson(const CompileOptions& options) {
  const AlternateSettings& alternate = options.alternate;
  return {{"backend", options.backend == Backend::kReference ? "reference" : "onednn"},
          {"mode", options.mode == NumericMode::kFast ? "fast" : "exact"},
          {"threads", EffectiveThreads(options.num_threads)},
          {"alternate",
           {{"forward", alternate.forward},
            {"backward", alternate.backward},
            {"mode", NameOf(alternate.mode)},
            {"is_backward", alternate.is_backward}}},
          {"count_denormals", options.count_denormals}};
}

// What a machine's times decided is in the file. A machine file of another computer need not be here.
std::shared_ptr<const MachineTable> MachineOf(const std::string& name, int num_threads) {
  try {
    return FindMachine(name, num_threads);
  } catch (const ArgumentError&) {
    return FindMachine("this", num_threads);
  }
}

CompileOptions OptionsOf(const Json& json, const std::string& machine, std::shared_ptr<const SavedChoices> saved) {
  BindOptions bind;
  bind.backend = BackendFromName(json.at("backend").get<std::string>());
  bind.mode = NumericModeFromName(json.at("mode").get<std::string>());
  bind.num_threads = json.at("threads").get<int>();
  if (bind.num_threads < 1 || bind.num_threads > 1024) {
    Throw<GraphError>("a plan file is made for {} threads", bind.num_threads);
  }
  bind.count_denormals = json.at("count_denormals").get<bool>();
  const bool asks_machine = bind.backend == Backend::kOneDnn;
  CompileOptions options = CompileOptionsFor(bind, asks_machine ? MachineOf(machine, bind.num_threads) : nullptr);
  const Json& alternate = json.at("alternate");
  options.alternate = {alternate.at("forward").get<bool>(), alternate.at("backward").get<bool>(),
                       AlternateModeFromName(alternate.at("mode").get<std::string>(), "alternate"),
                       alternate.at("is_backward").get<bool>()};
  if (options.kernels != nullptr) options.kernels = std::make_shared<SavedKernels>(saved, options.kernels);
  options.saved = std::move(saved);
  return options;
}

Json ChoicesOf(const Plan& plan) {
  Json kernels = Json::object(), in_float32 = Json::object();
  for (const LayerDecision& decision : plan.decisions) {
    const Json kernel = {decision.kernels[decision.chosen], decision.is_tuned};
    const auto [known, is_new] = kernels.emplace(decision.key, kernel);
    if (!is_new && *known != kernel) {
      Throw<UnsupportedError>("two layers '{}' have different kernels: a plan file cannot hold that", decision.key);
    }
  }
  for (const auto& [node, why] : plan.in_float32) in_float32[node] = why;
  return {{"kernels", kernels}, {"in_float32", in_float32}};
}

std::shared_ptr<const SavedChoices> SavedChoicesOf(const Json& json) {
  auto choices = std::make_shared<SavedChoices>();
  for (const auto& [key, kernel] : json.at("kernels").items()) {
    choices->kernels[key] = {kernel.at(0).get<std::string>(), kernel.at(1).get<bool>()};
  }
  choices->in_float32 = json.at("in_float32").get<std::map<std::string, std::string>>();
  return choices;
}

// ---- constants ----

// Offsets are counted from the first constant.
Json ToJson(const std::vector<StoredConstant>& constants) {
  Json json = Json::array();
  std::uint64_t offset = 0;
  for (const StoredConstant& constant : constants) {
    json.push_back({{"name", constant.name},
                    {"type", ToJson(constant.type)},
                    {"layout", constant.layout_key},
                    {"bytes", constant.bytes},
                    {"offset", offset},
                    {"checksum", Crc32(constant.data.get(), constant.bytes)}});
    offset = RoundedUp(offset + constant.bytes, kAlignment);
  }
  return json;
}

// The bytes of the constants of a header, with the gaps between them.
std::uint64_t TotalBytes(const Json& constants) {
  std::uint64_t bytes = 0;
  for (const Json& entry : constants) bytes = RoundedUp(bytes + entry.at("bytes").get<std::uint64_t>(), kAlignment);
  return bytes;
}

std::shared_ptr<const void> ReadBytes(ByteReader* file, std::uint64_t bytes) {
  if (std::shared_ptr<void> mapped = file->Borrow(bytes, kAlignment)) return mapped;
  if (bytes > file->remaining()) {
    Throw<GraphError>("{}: truncated: a constant needs {} bytes, {} are left", file->source(), bytes,
                      file->remaining());
  }
  std::shared_ptr<void> memory = AllocateAligned(bytes);
  file->Read(memory.get(), bytes, "a constant");
  return memory;
}

std::vector<StoredConstant> ConstantsOf(const Json& json, std::uint64_t first, bool verifies, ByteReader* file) {
  std::vector<StoredConstant> constants;
  const std::uint64_t size = file->position() + file->remaining();
  if (first > size && !json.empty()) Throw<GraphError>("{}: truncated: it has no constants", file->source());
  std::uint64_t left = size;  // a file is read into no more memory than it has bytes
  for (const Json& entry : json) {
    const auto bytes = entry.at("bytes").get<std::uint64_t>(), offset = entry.at("offset").get<std::uint64_t>();
    if (bytes > left || offset % kAlignment != 0 || offset > size - first) {
      Throw<GraphError>("{}: a constant of {} bytes at {} is not in the file", file->source(), bytes, offset);
    }
    left -= bytes;
    file->Seek(first + offset);
    StoredConstant constant;
    constant.name = entry.at("name").get<std::string>();
    constant.type = TypeOf(entry.at("type"));
    constant.layout_key = entry.at("layout").get<std::string>();
    constant.bytes = bytes;
    constant.data = ReadBytes(file, bytes);
    if (!constant.type.fully_known()) Throw<GraphError>("{}: a constant has no type", file->source());
    if (verifies && Crc32(constant.data.get(), bytes) != entry.at("checksum").get<std::uint32_t>()) {
      Throw<GraphError>("{}: the constant '{}' is damaged", file->source(), Quotable(constant.name, 200));
    }
    constants.push_back(std::move(constant));
  }
  return constants;
}

// ---- the header ----

Json HeaderOf(const SavedModel& saved, const Plan& plan, const std::vector<StoredConstant>& constants) {
  const BoundModel& model = saved.model;
  const std::string symbol = ToSymbolJson(model.symbol), as_converted = ToSymbolJson(saved.as_converted);
  TypeMap inputs;
  for (std::size_t i = 0; i < plan.input_names.size(); ++i) inputs[plan.input_names[i]] = plan.input_types[i];
  return {{"made_by", MadeBy()},
          {"made_for", MadeFor()},
          {"inputs", ToJson(inputs)},
          {"outputs", saved.output_names},
          {"symbol", symbol},
          {"as_converted", as_converted == symbol ? Json() : Json(as_converted)},
          {"prepared", ToSymbolJson(Symbol(model.prepared.graph().outputs(), model.symbol.np_shape()))},
          {"given_variables", ToJson(model.given)},
          {"prepared_variables", ToJson(model.prepared)},
          {"is_optimized", model.is_optimized},
          {"assumes_ranks", model.assumes_ranks},
          {"machine", saved.machine},
          {"options", ToJson(model.options)},
          {"choices", ChoicesOf(plan)},
          {"note", saved.note},
          {"folded", ToJson(FoldedOf(plan))},
          {"constants", ToJson(constants)}};
}

struct Opened {
  ByteReader file;
  Json header;
  std::uint64_t first_constant = 0;
};

// Errors of nlohmann/json are about a header that is no plan's.
template <class F>
auto ReadingHeader(const std::string& path, F read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    Throw<GraphError>("{}: not the header of a plan: {}", Quotable(path, 300), Quotable(MessageOf(error), 200));
  }
}

std::uint64_t FirstConstant(std::uint64_t header_bytes, std::uint64_t constant_bytes) {
  return RoundedUp(sizeof(Prefix) + header_bytes, constant_bytes < kHugePage ? kPage : kHugePage);
}

Opened Open(const std::string& path, MapRule rule) {
  Opened opened{ByteReader::OpenFile(path, rule), {}, 0};
  ByteReader& file = opened.file;
  const auto prefix = file.Read<Prefix>("what a plan file begins with");
  if (std::memcmp(prefix.magic, kMagic, sizeof kMagic) != 0) Throw<GraphError>("{}: not a plan file", path);
  if (prefix.format != kFormat) {
    Throw<PlanMismatch>("'{}' has format {} of plan files, and this program reads format {}", Quotable(path, 300),
                        prefix.format, kFormat);
  }
  if (prefix.header_bytes > std::min(kMaxHeader, file.remaining())) {
    Throw<GraphError>("{}: truncated: its header needs {} bytes, {} are left", path, prefix.header_bytes,
                      file.remaining());
  }
  std::string header(prefix.header_bytes, '\0');
  file.Read(header.data(), header.size(), "the header");
  if (Crc32(header.data(), header.size()) != prefix.header_checksum) {
    Throw<GraphError>("{}: the header is damaged", path);
  }
  opened.header = ParseJson(header, path);
  opened.first_constant =
      ReadingHeader(path, [&] { return FirstConstant(header.size(), TotalBytes(opened.header.at("constants"))); });
  return opened;
}

SavedModel SavedModelOf(Opened opened, const std::string& path, bool verifies) {
  const Json& header = opened.header;
  RequireSameMaker(header, path);
  const Symbol symbol = SymbolOf(header.at("symbol"), path), prepared = SymbolOf(header.at("prepared"), path);
  Model given_model = ModelOf(symbol, header.at("given_variables"));
  Model prepared_model = ModelOf(prepared, header.at("prepared_variables"));
  SavedModel saved{BoundModel{symbol, std::move(given_model), std::move(prepared_model), {}}, symbol, {}, "", ""};
  saved.model.is_optimized = header.at("is_optimized").get<bool>();
  saved.model.assumes_ranks = header.at("assumes_ranks").get<bool>();
  const Json& as_converted = header.at("as_converted");
  if (!as_converted.is_null()) saved.as_converted = SymbolOf(as_converted, path);
  saved.output_names = header.at("outputs").get<std::vector<std::string>>();
  saved.machine = header.at("machine").get<std::string>();
  saved.note = header.at("note").get<std::string>();
  saved.model.options = OptionsOf(header.at("options"), saved.machine, SavedChoicesOf(header.at("choices")));
  std::map<std::string, TensorType> declared = ParameterTypes(saved.model.prepared);
  for (const auto& [name, type] : TypesOf(header.at("folded"))) {
    if (!type.fully_known()) Throw<GraphError>("{}: the constant '{}' has no type", path, Quotable(name, 200));
    declared.emplace(name, type);
  }
  saved.model.store =
      StoreOf(ConstantsOf(header.at("constants"), opened.first_constant, verifies, &opened.file), declared);
  return saved;
}

}  // namespace

void WritePlanFile(const std::string& path, const SavedModel& saved, const Plan& plan) {
  if (saved.model.options.bodies->constant_bytes() != 0) {
    throw UnsupportedError(
        "loops and branches that read parameters cannot be saved: their bodies have plans of their own");
  }
  const std::vector<StoredConstant> constants = ConstantsOf(plan);
  const Json header = HeaderOf(saved, plan, constants);
  const std::string text = header.dump();
  if (text.size() > kMaxHeader) Throw<UnsupportedError>("the header of a plan would have {} bytes", text.size());
  Prefix prefix{.magic = {}, .header_checksum = Crc32(text.data(), text.size()), .header_bytes = text.size()};
  std::memcpy(prefix.magic, kMagic, sizeof kMagic);
  WriteFileWith(path, [&](const AppendBytes& append) {
    append(&prefix, sizeof prefix);
    append(text.data(), text.size());
    const std::string gap(FirstConstant(text.size(), TotalBytes(header.at("constants"))) - sizeof prefix - text.size(),
                          '\0');
    append(gap.data(), gap.size());
    constexpr char kZeros[kAlignment] = {};
    for (const StoredConstant& constant : constants) {
      append(constant.data.get(), constant.bytes);
      append(kZeros, RoundedUp(constant.bytes, kAlignment) - constant.bytes);
    }
  });
}

SavedModel ReadPlanFile(const std::string& path, MapRule rule, bool verifies) {
  Opened opened = Open(path, rule);
  return ReadingHeader(path, [&] { return SavedModelOf(std::move(opened), path, verifies); });
}

std::string DescribePlanFile(const std::string& path, bool verifies) {
  Opened opened = Open(path, MapRule::kIfOurs);
  return ReadingHeader(path, [&] {
    const Json& header = opened.header;
    const Json& constants = header.at("constants");
    if (verifies) ConstantsOf(constants, opened.first_constant, true, &opened.file);
    Json facts;
    for (const char* key : {"made_by", "made_for", "inputs", "outputs", "options", "machine", "note"}) {
      facts[key] = header.at(key);
    }
    facts["constants"] = constants.size();
    facts["constant_bytes"] = TotalBytes(constants);
    facts["graph"] = header.at("symbol");
    return facts.dump();
  });
}

bool IsPlanFile(const std::string& path) {
  try {
    return ByteReader::OpenFile(path, MapRule::kNever).Peek(sizeof kMagic) == std::string(kMagic, sizeof kMagic);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace amp::onednn
