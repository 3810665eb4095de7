#include "runtime/bound_bodies.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <utility>

#include "dnnl/session.h"
#include "program/control_flow_body.h"
#include "runtime/bind.h"

namespace amp::onednn {
namespace {

BodyWork WorkOf(const Plan& plan) {
  BodyWork work;
  work.num_steps = plan.summary.steps.size();
  for (const StepFeatures& features : plan.features) work.flops += features.cost.flops;
  work.references = plan.summary.reference_nodes;
  return work;
}

// Sessions of one plan that no run uses. Without a lock: a process that is forked while another thread runs would find
// it held for good.
class IdleSessions {
 public:
  ~IdleSessions() {
    for (auto& place : places_) delete place.load();
  }

  std::unique_ptr<Session> Take() {
    for (auto& place : places_) {
      if (Session* session = place.exchange(nullptr)) return std::unique_ptr<Session>(session);
    }
    return nullptr;
  }

  // Where there are more than places, they go.
  void Put(std::unique_ptr<Session> session) {
    for (auto& place : places_) {
      Session* none = nullptr;
      if (place.compare_exchange_strong(none, session.get())) return static_cast<void>(session.release());
    }
  }

 private:
  std::array<std::atomic<Session*>, 8> places_{};
};

class PlanRunner : public BodyRunner {
 public:
  PlanRunner(std::shared_ptr<const Plan> plan, const std::vector<std::string>& variables)
      : plan_(std::move(plan)), work_(WorkOf(*plan_)) {
    for (const std::string& name : plan_->input_names) {
      const auto found = std::find(variables.begin(), variables.end(), name);
      variables_.push_back(static_cast<std::size_t>(found - variables.begin()));
    }
    idle_.Put(std::make_unique<Session>(plan_));
  }

  const std::vector<std::size_t>& variables() const override { return variables_; }
  const BodyWork& work() const override { return work_; }

  void Run(std::span<const void* const> inputs, std::span<void* const> outputs) const override {
    std::unique_ptr<Session> session = idle_.Take();
    if (session == nullptr) session = std::make_unique<Session>(plan_);
    session->Run(inputs, outputs);
    idle_.Put(std::move(session));
  }

 private:
  std::shared_ptr<const Plan> plan_;
  BodyWork work_;
  std::vector<std::size_t> variables_;
  mutable IdleSessions idle_;
};

class BoundBodies : public BodyPlans {
 public:
  std::shared_ptr<const BodyRunner> RunnerOf(const BodyRequest& request, const CompileOptions& options,
                                             const ConstantStore& store) override {
    auto found = bodies_.find(request.key);
    if (found == bodies_.end()) {
      found = bodies_.emplace(request.key, Body{Bind(request, options, store), {}, nullptr}).first;
    }
    Body& body = found->second;
    if (body.runner != nullptr && body.inputs == request.inputs) return body.runner;
    body.runner = std::make_shared<PlanRunner>(MakePlan(Reshaped(body.model, request)), request.body.input_names());
    body.inputs = request.inputs;
    return body.runner;
  }

  std::size_t constant_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& [key, body] : bodies_) {
      bytes += BytesOf(*body.model.store) + body.model.options.bodies->constant_bytes();
    }
    return bytes;
  }

 private:
  struct Body {
    BoundModel model;
    std::vector<TensorType> inputs;  // of the runner
    std::shared_ptr<const BodyRunner> runner;
  };

  static BoundModel Bind(const BodyRequest& request, const CompileOptions& options, const ConstantStore& store) {
    ModelParams params;
    TypeMap inputs;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const std::string& name = request.body.input_names()[i];
      if (request.parameters[i].empty()) {
        inputs[name] = request.inputs[i];
      } else {
        NDArrayMap& group = request.body.IsState(i) ? params.aux : params.args;
        group[name] = ParameterArray(request.parameters[i], request.inputs[i], store);
      }
    }
    CompileOptions own = options;
    own.bodies = NewBodyPlans();
    own.num_forward_outputs.reset();  // the halves are those of the outer graph
    return BindModel({request.body.symbol(), params, "", options.machine}, inputs, own);
  }

  static BoundModel Reshaped(const BoundModel& model, const BodyRequest& request) {
    std::map<std::string, Shape> shapes;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      if (request.parameters[i].empty()) shapes[request.body.input_names()[i]] = request.inputs[i].shape;
    }
    return WithShapes(model, shapes, request.body.input_names());
  }

  std::map<std::string, Body> bodies_;  // by key
};

}  // namespace

std::shared_ptr<BodyPlans> NewBodyPlans() { return std::make_shared<BoundBodies>(); }

}  // namespace amp::onednn
