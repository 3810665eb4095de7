// Bodies of control flow, bound like models of their own.
#pragma once

#include <memory>

#include "dnnl/body_plans.h"

namespace amp::onednn {

// For all plans of one model: what a body makes of its parameters is kept.
std::shared_ptr<BodyPlans> NewBodyPlans();

}  // namespace amp::onednn
