#include "program/machine_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/winograd.h"
#include "nnvm/error.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "amp-machine";
constexpr int kVersion = 1;
constexpr std::size_t kNeighbours = 5;  // measured steps that a prediction is made of
constexpr double kNear = 0.3;           // closer than the root of this (log 2 of sizes), steps count alike
constexpr double kMaxLogRatio = 40;

double Within(const Json& value, const char* what, double least, double most) {
  const double number = value.get<double>();
  if (!(number >= least && number <= most)) {
    Throw<ArgumentError>("{}: expected a number from {} to {}, got {}", what, least, most, number);
  }
  return number;
}

// Operations or bytes per second.
double Speed(const Json& value, const char* what) { return Within(value, what, 1e3, 1e18); }

// FNV-1a: two files of one digest are one file, for all that matters here.
std::string Digest(const std::string& text) {
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
  if (file.at("format") != kFormat || file.at("version") != kVersion) {
    Throw<ArgumentError>("expected format '{}', version {}", kFormat, kVersion);
  }
}

TunedKernels TunedOf(const Json& file) {
  return file.contains("tuned") ? TunedKernels::FromJson(file["tuned"]) : TunedKernels();
}

[[noreturn]] void FailOn(const std::string& source, const std::exception& error) {
  Throw<ArgumentError>("machine file '{}': {}", Quotable(source, 300), Quotable(error.what(), 200));
}

// "convolution_1x1 float32 blocked" -> "convolution_1x1 float32": what is known of a step before it is laid out.
std::string_view WithoutLayout(std::string_view group) {
  const std::size_t dtype = group.find(' ');
  const std::size_t layout = dtype == std::string_view::npos ? dtype : group.find(' ', dtype + 1);
  return layout == std::string_view::npos ? group : group.substr(0, layout);
}

// A step that computes a function of so many elements, and nothing else.
StepFeatures FunctionAlone(const std::string& group, double elements) {
  StepFeatures alone{group, {static_cast<float>(std::log2(8 * std::max(elements, 1.0)))}, {}};
  alone.cost.bytes_read = alone.cost.bytes_written = static_cast<std::size_t>(4 * std::max(elements, 1.0));
  alone.cost.dtype = DType::kFloat32;
  return alone;
}

// "matmul bfloat16-float32" -> "matmul bfloat16".
std::string WithoutOutput(const std::string& group) { return group.substr(0, group.find('-')); }

// "call_take int32" -> "call"; other groups as they are.
std::string AnyCall(const std::string& group) { return group.starts_with("call_") ? "call" : group; }

// "convolution_1x1 bfloat16-float32 blocked" -> "convolution_1x1 bfloat16 blocked": these take as long whatever they
// write, but for its bytes, and few samples tell less than many. Larger windows have samples enough of their own.
std::string OfSmallWindows(std::string group) {
  const std::size_t output = group.find('-');
  if (!group.starts_with("convolution_1x1 ") && !group.starts_with("convolution_depthwise ")) return group;
  if (output != std::string::npos) group.erase(output, group.find(' ', output) - output);
  return group;
}

// "convolution_winograd_line7_int16 bfloat16" -> "convolution_winograd_f4x4_int16 bfloat16": where windows that are not
// 3x3 were not measured, their formula errs as much as that of these.
std::string OfUsualWindow(const std::string& group) {
  using kernels::WinogradKind;
  for (int i = 0; group.starts_with("convolution_winograd_") && i < kernels::kNumWinogradKinds; ++i) {
    const auto kind = static_cast<WinogradKind>(i);
    const std::string law = fmt::format("convolution_{} ", kernels::WinogradName(kind));
    if (kernels::WinogradShapeOf(kind).window() == 9 || !group.starts_with(law)) continue;
    const WinogradKind usual = kernels::WinogradMultipliesInt16(kind) ? WinogradKind::kF4x4Int16 : WinogradKind::kF4x4;
    return fmt::format("convolution_{} {}", kernels::WinogradName(usual), group.substr(law.size()));
  }
  return group;
}

// A point and, last, the ratio.
MachineTable::Sample SampleOf(const std::string& group, const Json& numbers) {
  MachineTable::Sample sample;
  for (const Json& number : numbers) sample.point.push_back(static_cast<float>(Within(number, "steps", -1e6, 1e6)));
  if (sample.point.size() < 2) Throw<ArgumentError>("steps of '{}': expected a point and a ratio", group);
  const auto limit = static_cast<float>(kMaxLogRatio);
  sample.log_ratio = std::clamp(sample.point.back(), -limit, limit);
  sample.point.pop_back();
  return sample;
}

// A reference kernel takes its time for each element, whatever the element's size.
StepFeatures InFloat32(StepFeatures step) {
  step.cost.bytes_read *= 2;
  step.cost.bytes_written *= 2;
  step.cost.dtype = DType::kFloat32;
  for (float& number : step.point) number += 1;  // log 2 of bytes
  step.group = step.group.substr(0, step.group.find(' ')) + " float32";
  return step;
}

}  // namespace

// To its group, and to that of the same steps in any layout.
void MachineTable::AddSample(const std::string& group, Sample sample) {
  std::vector<Sample>& list = groups_[group];
  if (!list.empty() && list[0].point.size() != sample.point.size()) {
    Throw<ArgumentError>("steps of '{}': points of different lengths", group);
  }
  const std::string general(WithoutLayout(group)), any = AnyCall(group);
  if (general != group) AddSample(general, sample);
  if (any != group) AddSample(any, sample);
  list.push_back(std::move(sample));
}

void MachineTable::Read(const Json& file) {
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
  for (const auto& [group, samples] : file.at("steps").items()) {
    for (const Json& numbers : samples) AddSample(OfSmallWindows(group), SampleOf(group, numbers));
  }
  capabilities_ = CapabilitiesIn(file);
}

MachineCapabilities MachineTable::CapabilitiesIn(const Json& file) const {
  const auto is_measured = [&](kernels::WinogradKind kind) {
    return SamplesFor(fmt::format("convolution_{} bfloat16", kernels::WinogradName(kind))) != nullptr;
  };
  const bool has_bf16 = file.at("has_bfloat16").get<bool>();
  const std::string isa = file.contains("isa") ? file.at("isa").get<std::string>() : "";
  return {.has_bf16 = has_bf16,
          .has_int16 = is_measured(kernels::WinogradKind::kF4x4Int16),
          .has_tiles = is_measured(kernels::WinogradKind::kF1x4BF16),
          .onednn_has_bf16 = has_bf16,
          .onednn_is_channels_last = isa.starts_with("avx512")};
}

std::shared_ptr<const MachineTable> MachineTable::Parse(const std::string& text, const std::string& source,
                                                        const Otherwise& otherwise) {
  auto table = std::make_shared<MachineTable>();
  try {
    const Json file = Json::parse(text);
    RequireFormat(file);
    const TunedKernels tuned = TunedOf(file);
    if (otherwise != nullptr && file.contains("tuned") && !file.contains("steps")) return otherwise()->WithTuned(tuned);
    table->Read(file);
    table->tuned_ = tuned;
    Json header = Header(file);
    header["digest"] = Digest(text);
    table->header_ = header.dump();
    table->text_ = text;
  } catch (const std::exception& error) {
    FailOn(source, error);
  }
  return table;
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

std::string MachineTable::ScaledText(const std::map<DType, double>& flops_per_second, const std::string& name) const {
  Json file = Json::parse(text_);
  file["source"] = fmt::format("{}, with the speed of arithmetic that a probe measured", name_);
  file["name"] = name;
  for (const auto& [dtype, speed] : flops_per_second) file["flops_per_second"][NameOf(dtype)] = speed;
  return file.dump();
}

std::shared_ptr<const MachineTable> MachineTable::WithTuned(TunedKernels tuned) const {
  auto table = std::make_shared<MachineTable>(*this);
  Json header = Json::parse(header_);
  header["digest"] = Digest(text_ + tuned.ToJson().dump());
  table->header_ = header.dump();
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

// Of the group; else of that without layout, of that which writes what it reads, of all operators on reference kernels.
const std::vector<MachineTable::Sample>* MachineTable::SamplesOf(const std::string& asked) const {
  const std::string group = OfSmallWindows(asked);
  const std::string general(WithoutLayout(group));
  for (const std::string& name : {group, general, WithoutOutput(general), AnyCall(general)}) {
    if (const auto found = groups_.find(name); found != groups_.end() && !found->second.empty()) return &found->second;
  }
  return nullptr;
}

const std::vector<MachineTable::Sample>* MachineTable::SamplesFor(const std::string& group) const {
  const std::vector<Sample>* samples = SamplesOf(group);
  return samples != nullptr ? samples : SamplesOf(OfUsualWindow(group));
}

// The mean of the nearest measured steps of the group, or of that without layout; 0 where there are none.
double MachineTable::LogRatio(const std::string& group, const std::vector<float>& point) const {
  const std::vector<Sample>* samples = SamplesFor(group);
  if (samples == nullptr || (*samples)[0].point.size() != point.size()) return 0;
  std::vector<std::pair<double, float>> near;  // squared distance, ratio
  for (const Sample& sample : *samples) {
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
  return std::max(0.0, alone - Seconds(FunctionAlone("eltwise_relu float32", elements)));
}

// A step of the library where it does not compute in bfloat16.
double MachineTable::SecondsBetweenCasts(StepFeatures step) const {
  const auto bytes = static_cast<double>(step.cost.bytes());
  step.group = step.group.substr(0, step.group.find(' ')) + " float32";
  step.cost.bytes_read *= 2;
  step.cost.bytes_written *= 2;
  step.cost.dtype = DType::kFloat32;
  return Seconds(step) + TrafficSeconds(3 * bytes);
}

double MachineTable::Seconds(const StepFeatures& step) const {
  if (step.cost.bytes() == 0) return 0;
  if (IsLowPrecision(step.cost.dtype) && step.group.starts_with("call_")) return Seconds(InFloat32(step));
  if (step.by_library && step.cost.dtype == DType::kBFloat16 && !capabilities_.onednn_has_bf16)
    return SecondsBetweenCasts(step);
  double seconds = BaseSeconds(step.cost) * std::exp2(LogRatio(step.group, step.point));
  for (const std::string& function : step.post_functions) {
    constexpr double kElements = 1 << 16;  // what a core works on lies in its cache
    const double alone = Seconds(FunctionAlone(function, kElements));
    seconds += PostOpSeconds(alone, kElements) * step.elements_written / kElements;
  }
  return seconds;
}

}  // namespace amp
