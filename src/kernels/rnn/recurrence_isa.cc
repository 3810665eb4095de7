#include "kernels/base/target.h"
#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(RecurrenceTable,
                 {kIsa, RecurrenceCode<kIsa, kTargetLanes>::Product, RecurrenceCode<kIsa, kTargetLanes>::Step})

}  // namespace amp::kernels
