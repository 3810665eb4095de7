#include "passes/precision/body_reports.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "passes/precision/reason_json.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

// The report of a body, in that of the graph around it: ids behind those that are there, names behind the path.
class BodyReport {
 public:
  BodyReport(const ConvertedBody& body, std::int64_t first_id)
      : body_(body), first_id_(first_id), inner_(Json::parse(body.report)) {}

  void AddTo(Json* report) {
    for (Json& tensor : inner_["tensors"]) report->at("tensors").push_back(Tensor(std::move(tensor)));
    for (Json& cast : inner_["casts"]) {
      if (body_.dropped_casts.contains(cast["name"].get<std::string>())) continue;
      report->at("casts").push_back(Cast(std::move(cast)));
      Json& run_time = report->at("totals")["casts"]["run_time"];
      run_time = run_time.get<std::int64_t>() + 1;
    }
    for (Json& nested : inner_["bodies"]) {
      Prefix(&nested, "path");
      report->at("bodies").push_back(std::move(nested));
    }
  }

 private:
  void Prefix(Json* json, const char* key) const {
    Json& name = json->at(key);
    if (!name.is_null()) name = body_.path + name.get<std::string>();
  }

  void Shift(Json* json, const char* key) const {
    Json& id = json->at(key);
    if (!id.is_null()) id = id.get<std::int64_t>() + first_id_;
  }

  Json Tensor(Json tensor) const {
    if (body_.low_variables.contains(tensor["name"].get<std::string>())) BecomeLow(&tensor);
    if (body_.counting_nodes.contains(tensor["node"].get<std::string>()) && tensor["before"] == tensor["dtype"]) {
      tensor["reason"] = ReasonJson("fact", "counts_steps", "it decides how often a loop runs, which is not rounded");
    }
    const std::string kind = tensor["kind"];
    if (kind != "result") tensor["kind"] = "variable";
    Prefix(&tensor, "name");
    Prefix(&tensor, "node");
    Shift(&tensor, "id");
    Shift(&tensor["reason"], "because_of");
    return tensor;
  }

  void BecomeLow(Json* tensor) const {
    const std::string target = inner_["options"]["target_dtype"];
    (*tensor)["dtype"] = target;
    if (!(*tensor)["bytes"].is_null()) (*tensor)["bytes"] = (*tensor)["bytes"].get<std::int64_t>() / 2;
    (*tensor)["reason"] = ReasonJson("fact", "cast_outside",
                                     "all that read it read " + target + ": it is cast once, in front of the bodies");
  }

  Json Cast(Json cast) const {
    Prefix(&cast, "name");
    Prefix(&cast, "tensor");
    Shift(&cast, "tensor_id");
    for (Json& reader : cast["readers"]) {
      Prefix(&reader, reader["node"].is_null() ? "input" : "node");
      Shift(&reader["reason"], "because_of");
    }
    return cast;
  }

  const ConvertedBody& body_;
  const std::int64_t first_id_;
  Json inner_;
};

std::int64_t NextId(const Json& report) {
  std::int64_t next = 0;
  for (const char* key : {"tensors", "gradients"}) {
    if (!report.contains(key)) continue;
    for (const Json& tensor : report[key]) next = std::max(next, tensor["id"].get<std::int64_t>() + 1);
  }
  return next;
}

}  // namespace

void AddBodyReports(const ConvertedBodies& converted, Json* report) {
  if (converted.bodies.empty()) return;
  (*report)["bodies"] = Json::array();
  for (const ConvertedBody& body : converted.bodies) {
    (*report)["bodies"].push_back(
        {{"path", body.path}, {"why_not", body.why_not.empty() ? Json(nullptr) : Json(body.why_not)}});
    if (!body.why_not.empty()) continue;
    BodyReport(body, NextId(*report)).AddTo(report);
  }
}

}  // namespace amp
