#include "program/measured_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "nnvm/error.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxLogRatio = 40;

// Small windows take as long whatever they write, but for its bytes, and few samples tell less than many. Larger
// windows have samples enough of their own.
SampleKey Normalised(SampleKey key) {
  if (key.step == "convolution_1x1" || key.step == "convolution_depthwise") key.out = key.in;
  return key;
}

// What is known of a step before it is laid out.
SampleKey WithoutLayout(SampleKey key) {
  key.layout.clear();
  return key;
}

SampleKey WithoutOutput(SampleKey key) {
  key.out = key.in;
  return key;
}

// The key of all operators that run on reference kernels; other keys as they are.
SampleKey AnyCall(const SampleKey& key) { return key.reference_call.empty() ? key : SampleKey{key.step}; }

// A point and, last, the ratio.
MeasuredSteps::Sample SampleOf(const std::string& key, const Json& numbers) {
  MeasuredSteps::Sample sample;
  for (const Json& number : numbers) sample.point.push_back(static_cast<float>(Within(number, "steps", -1e6, 1e6)));
  if (sample.point.size() < 2) Throw<ArgumentError>("steps of '{}': expected a point and a ratio", key);
  const auto limit = static_cast<float>(kMaxLogRatio);
  sample.log_ratio = std::clamp(sample.point.back(), -limit, limit);
  sample.point.pop_back();
  return sample;
}

using Table = std::map<SampleKey, MeasuredSteps::Samples>;

// To those of its key, and to those of the same steps in any layout.
void Add(const SampleKey& key, MeasuredSteps::Sample sample, Table* table) {
  MeasuredSteps::Samples& list = (*table)[key];
  if (!list.empty() && list[0].point.size() != sample.point.size()) {
    Throw<ArgumentError>("steps of '{}': points of different lengths", key.Text());
  }
  const SampleKey general = WithoutLayout(key), any = AnyCall(key);
  if (general != key) Add(general, sample, table);
  if (any != key) Add(any, sample, table);
  list.push_back(std::move(sample));
}

Table Read(const Json& steps) {
  Table table;
  for (const auto& [group, samples] : steps.items()) {
    const SampleKey key = Normalised(SampleKey::Parse(group));
    for (const Json& numbers : samples) Add(key, SampleOf(group, numbers), &table);
  }
  return table;
}

}  // namespace

double Within(const Json& value, const char* what, double least, double most) {
  const double number = value.get<double>();
  if (!(number >= least && number <= most)) {
    Throw<ArgumentError>("{}: expected a number from {} to {}, got {}", what, least, most, number);
  }
  return number;
}

MeasuredSteps::MeasuredSteps(const Json& steps) : samples_(Read(steps)) {}

const MeasuredSteps::Samples* MeasuredSteps::Find(const SampleKey& asked) const {
  if (!text_.empty()) {
    std::call_once(is_read_, [this] { samples_ = Read(Json::parse(text_)); });
  }
  const SampleKey key = Normalised(asked), general = WithoutLayout(key);
  for (const SampleKey& known : {key, general, WithoutOutput(general), AnyCall(general)}) {
    if (const auto found = samples_.find(known); found != samples_.end() && !found->second.empty())
      return &found->second;
  }
  return nullptr;
}

}  // namespace amp
