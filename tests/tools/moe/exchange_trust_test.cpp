// How far off exchanges are on machines that nothing was recorded on.

#include "tools/collsim/moe/exchange_trust.h"

#include <gtest/gtest.h>

#include <string>

#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

struct Case {
  const char* machine;
  KernelFamily family;
  bool recorded;
};

TEST(ExchangeTrust, is_wider_on_machines_that_were_not_recorded) {
  const ShippedData shipped;
  const ExchangeErrors errors;
  for (const Case& each : {Case{"dgx-h100-x2", KernelFamily::deepep, true},
                           Case{"dgx-h100-x4", KernelFamily::deepep_low_latency, true},
                           Case{"dgx-h100", KernelFamily::deepep, true},
                           Case{"dgx-h100-x64", KernelFamily::deepep, false},
                           Case{"aws-p5-x4", KernelFamily::deepep, false},
                           Case{"oci-h100-x4", KernelFamily::deepep, false},
                           Case{"aws-p6-b300-x2", KernelFamily::deepep, false},
                           Case{"dgx-a100-x4", KernelFamily::deepep, false},
                           Case{"dgx-b200", KernelFamily::deepep_low_latency, false},
                           Case{"hgx-h200", KernelFamily::deepep, false},
                           Case{"gb200-nvl72", KernelFamily::nvlink_one_sided, false},
                           Case{"dgx-h100", KernelFamily::nvlink_one_sided, false}}) {
    const Topology topology = load_machine(each.machine).topology;
    const auto all = topology.gpus();
    const ExchangeKernel kernel = exchange_kernel(each.family, ExpertOperation::dispatch);
    const ExchangeTrust trust =
        errors.of(kernel, topology, std::vector<DeviceId>(all.begin(), all.end()), 1e8);
    EXPECT_EQ(trust.note.empty(), each.recorded) << each.machine << ": " << trust.note;
    if (each.recorded) {
      EXPECT_EQ(trust.error, kernel.measured.error) << each.machine;
    } else {
      EXPECT_GT(trust.error, 2 * kernel.measured.error) << each.machine;
    }
  }
}

}  // namespace
}  // namespace collsim
