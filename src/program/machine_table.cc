#include "program/machine_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "nnvm/error.h"
#include "nnvm/json_text.h"
#include "program/step.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "amp-machine";
constexpr int kVersion = 2;
constexpr std::string_view kStepsBegin = ",\n \"steps\": ";  // in the files of the library, where steps come last
constexpr std::size_t kNeighbours = 5;                       // measured steps that a prediction is made of
constexpr double kNear = 0.3;  // closer than the root of this (log 2 of sizes), steps count alike

// Operations or bytes per second.
double Speed(const Json& value, const char* what) { return Within(value, what, 1e3, 1e18); }

// FNV-1a: two files of one digest are one file, for all that matters here.
std::string Digest(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

// Everything of the file but the measurements.
Json Header(const Json& file) {
  Json header;
  for (const char* key : {"name", "cpu", "isa", "threads", "onednn", "source"}) {
    if (file.contains(key)) header[key] = file[key];
  }
  return header;
}

void RequireFormat(const Json& file) {
  if (!file.is_object() || !file.contains("format") || file["format"] != kFormat) {
    Throw<ArgumentError>("this is no machine file (it has no 'format': '{}'); `amp calibrate` writes one", kFormat);
  }
  if (!file.contains("version") || file["version"] != kVersion) {
    Throw<ArgumentError>("expected version {}; `amp calibrate` writes such a file", kVersion);
  }
}

TunedKernels TunedOf(const Json& file) {
  return file.contains("tuned") ? TunedKernels::FromJson(file["tuned"]) : TunedKernels();
}

[[noreturn]] void FailOn(const std::string& source, const std::exception& error) {
  Throw<ArgumentError>("machine file '{}': {}", Quotable(source, 300), Quotable(MessageOf(error), 200));
}

// A step that computes a function of so many elements, and nothing else.
StepFeatures FunctionAlone(const SampleKey& key, double elements) {
  StepFeatures alone{key, {static_cast<float>(std::log2(8 * std::max(elements, 1.0)))}, {}};
  alone.cost.bytes_read = alone.cost.bytes_written = static_cast<std::size_t>(4 * std::max(elements, 1.0));
  alone.cost.dtype = DType::kFloat32;
  return alone;
}

// A reference kernel takes its time for each element, whatever the element's size.
StepFeatures InFloat32(StepFeatures step) {
  step.cost.bytes_read *= 2;
  step.cost.bytes_written *= 2;
  step.cost.dtype = DType::kFloat32;
  for (float& number : step.point) number += 1;  // log 2 of bytes
  step.key.in = step.key.out = DType::kFloat32;
  return step;
}

MachineCapabilities CapabilitiesIn(const Json& file) {
  const auto has = [&](const char* what) { return file.contains(what) && file.at(what).get<bool>(); };
  const bool has_bf16 = file.at("has_bfloat16").get<bool>();
  const std::string isa = file.contains("isa") ? file.at("isa").get<std::string>() : "";
  const bool is_wide = isa.starts_with("avx512");
  return {.has_bf16 = has_bf16,
          .has_int16 = has("has_int16"),
          .has_tiles = has("has_tiles"),
          .onednn_has_bf16 = has_bf16,
          .onednn_is_channels_last = has("onednn_is_channels_last"),
          .onednn_channel_block = is_wide ? kWideChannelBlock : kNarrowChannelBlock,
          .winograd_knows_narrow_blocks = !is_wide};
}

}  // namespace

void MachineTable::ReadFacts(const Json& file, std::string digest) {
  name_ = Quotable(file.at("name").get<std::string>());
  start_seconds_ = Within(file.at("start_seconds"), "start_seconds", 1e-12, 1);
  for (const auto& [dtype, speed] : file.at("flops_per_second").items()) {
    flops_per_second_[DTypeFromName(dtype)] = Speed(speed, "flops_per_second");
  }
  if (!flops_per_second_.contains(DType::kFloat32)) Throw<ArgumentError>("flops_per_second: no float32");
  for (const Json& level : file.at("bytes_per_second")) {
    const double limit = Within(level.at(0), "bytes", 1, 1e18);
    if (!bytes_per_second_.empty() && limit <= bytes_per_second_.back().first) {
      Throw<ArgumentError>("bytes_per_second: expected levels of growing size");
    }
    bytes_per_second_.emplace_back(limit, Speed(level.at(1), "bytes_per_second"));
  }
  if (bytes_per_second_.empty()) Throw<ArgumentError>("bytes_per_second: expected one or more levels");
  capabilities_ = CapabilitiesIn(file);
  SetHeader(Header(file), std::move(digest));
}

void MachineTable::SetHeader(Json header, std::string digest) {
  digest_ = std::move(digest);
  header["digest"] = digest_;
  header_ = header.dump();
}

std::shared_ptr<const MachineTable> MachineTable::Parse(const std::string& text, const std::string& source,
                                                        const Fallback& fallback) {
  auto table = std::make_shared<MachineTable>();
  try {
    const Json file = Json::parse(text);
    RequireFormat(file);
    const TunedKernels tuned = TunedOf(file);
    if (fallback != nullptr && file.contains("tuned") && !file.contains("steps")) return fallback()->WithTuned(tuned);
    table->ReadFacts(file, Digest(text));
    table->steps_ = std::make_shared<MeasuredSteps>(file.at("steps"));
    table->tuned_ = tuned;
  } catch (const std::exception& error) {
    FailOn(source, error);
  }
  return table;
}

bool MachineTable::IsOfEarlierVersion(const std::string& text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("format") || !file.contains("version")) return false;
  const Json& version = file["version"];
  return file["format"] == kFormat && version.is_number_integer() && version < kVersion;
}

std::string MachineTable::TextWithTuned(const std::string& text, const std::string& source, const TunedKernels& tuned) {
  try {
    Json file = text.empty() ? Json{{"format", kFormat}, {"version", kVersion}} : Json::parse(text);
    RequireFormat(file);
    TunedKernels all = TunedOf(file);
    all.Merge(tuned);
    file["tuned"] = all.ToJson();
    return file.dump();
  } catch (const std::exception& error) {
    FailOn(source, error);
  }
}

std::shared_ptr<const MachineTable> MachineTable::OfShipped(std::string_view text) {
  const std::size_t steps = text.rfind(kStepsBegin);
  if (steps == std::string_view::npos) throw InternalError("a machine file of the library has no steps at its end");
  auto table = std::make_shared<MachineTable>();
  const Json facts = Json::parse(std::string(text.substr(0, steps)) + "}");
  RequireFormat(facts);
  table->ReadFacts(facts, Digest(text));
  // The end without the brace of the whole file.
  table->steps_ = std::make_shared<MeasuredSteps>(text.substr(0, text.rfind('}')).substr(steps + kStepsBegin.size()));
  return table;
}

std::shared_ptr<const MachineTable> MachineTable::WithSpeeds(const std::map<DType, double>& flops_per_second,
                                                             const std::string& name) const {
  auto table = std::make_shared<MachineTable>(*this);
  Json header = Json::parse(header_);
  header["source"] = fmt::format("{}, with the speed of arithmetic that a probe measured", name_);
  header["name"] = table->name_ = name;
  std::string speeds;
  for (const auto& [dtype, speed] : flops_per_second) {
    table->flops_per_second_[dtype] = speed;
    speeds += fmt::format(" {} {}", NameOf(dtype), speed);
  }
  table->SetHeader(std::move(header), Digest(digest_ + speeds));
  return table;
}

std::shared_ptr<const MachineTable> MachineTable::WithTuned(TunedKernels tuned) const {
  auto table = std::make_shared<MachineTable>(*this);
  table->SetHeader(Json::parse(header_), Digest(digest_ + tuned.ToJson().dump()));
  table->tuned_ = std::move(tuned);
  return table;
}

double MachineTable::TrafficSeconds(double bytes) const {
  for (const auto& [limit, speed] : bytes_per_second_) {
    if (bytes <= limit) return bytes / speed;
  }
  return bytes / bytes_per_second_.back().second;
}

double MachineTable::BaseSeconds(const StepCost& cost) const {
  const auto found = flops_per_second_.find(cost.dtype);
  const double speed = found == flops_per_second_.end() ? flops_per_second_.at(DType::kFloat32) : found->second;
  return start_seconds_ + std::max(cost.flops / speed, TrafficSeconds(static_cast<double>(cost.bytes())));
}

bool MachineTable::IsMeasured(const StepFeatures& step) const { return steps_->Find(step.key) != nullptr; }

bool MachineTable::IsKnown(const StepFeatures& step) const { return SamplesFor(step) != nullptr; }

const MeasuredSteps::Samples* MachineTable::SamplesFor(const StepFeatures& step) const {
  const MeasuredSteps::Samples* samples = steps_->Find(step.key);
  return samples == nullptr && step.fallback ? steps_->Find(*step.fallback) : samples;
}

// The mean of the nearest measured steps; 0 where there are none.
double MachineTable::LogRatio(const StepFeatures& step) const {
  const MeasuredSteps::Samples* samples = SamplesFor(step);
  const std::vector<float>& point = step.point;
  if (samples == nullptr || (*samples)[0].point.size() != point.size()) return 0;
  std::vector<std::pair<double, float>> near;  // squared distance, ratio
  for (const MeasuredSteps::Sample& sample : *samples) {
    double distance = 0;
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double difference = static_cast<double>(sample.point[i]) - static_cast<double>(point[i]);
      distance += difference * difference;
    }
    near.emplace_back(distance, sample.log_ratio);
  }
  const std::size_t count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = 1 / (near[i].first + kNear);
    sum += weight * static_cast<double>(near[i].second);
    weights += weight;
  }
  return sum / weights;
}

double MachineTable::PostOpSeconds(double alone, double elements) const {
  return std::max(0.0, alone - Seconds(FunctionAlone(FunctionKey(EltwiseKind::kRelu), elements)));
}

// A step of oneDNN where it does not compute in bfloat16.
double MachineTable::SecondsBetweenCasts(StepFeatures step) const {
  const auto bytes = static_cast<double>(step.cost.bytes());
  step.key = {step.key.step, DType::kFloat32, DType::kFloat32};
  step.cost.bytes_read *= 2;
  step.cost.bytes_written *= 2;
  step.cost.dtype = DType::kFloat32;
  return Seconds(step) + TrafficSeconds(3 * bytes);
}

double MachineTable::Seconds(const StepFeatures& step) const {
  if (step.cost.bytes() == 0) return 0;
  if (IsLowPrecision(step.cost.dtype) && !step.key.reference_call.empty()) return Seconds(InFloat32(step));
  if (step.by_onednn && step.cost.dtype == DType::kBFloat16 && !capabilities_.onednn_has_bf16)
    return SecondsBetweenCasts(step);
  double seconds = BaseSeconds(step.cost) * std::exp2(LogRatio(step));
  for (const SampleKey& function : step.post_functions) {
    constexpr double kElements = 1 << 16;  // what a core works on lies in its cache
    const double alone = Seconds(FunctionAlone(function, kElements));
    seconds += PostOpSeconds(alone, kElements) * step.elements_written / kElements;
  }
  return seconds;
}

}  // namespace amp
