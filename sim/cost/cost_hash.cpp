#include "sim/cost/cost_hash.h"

#include <bit>
#include <span>

#include "sim/base/scramble.h"
#include "sim/cost/constants.h"

namespace collsim {

namespace {

class CostHash {
 public:
  void add(std::uint64_t value) { hash_ = scramble(hash_ ^ scramble(value)); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  template <typename Owner>
  void add(std::span<const Constant<Owner>> constants, Owner& of) {
    for (const Constant<Owner>& each : constants) add(each.in(of));
  }
  void add(ProtocolConstants of) {
    add(std::span<const ProtocolConstant>(protocol_constants), of);
    add(std::span<const ProtocolConstant>(thread_block_constants), of);
    add(of.wire_factor);
    add(static_cast<std::uint64_t>(of.warp_granule.count));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace

std::uint64_t hash_of(const Calibration& cost) {
  CostHash hash;
  Calibration of = cost;  // a constant that is optional is filled in by who asks for it
  for (const std::span<const MachineConstant> group :
       {std::span<const MachineConstant>(machine_constants),
        std::span<const MachineConstant>(nvls_constants),
        std::span<const MachineConstant>(correction_constants),
        std::span<const MachineConstant>(host_constants)}) {
    hash.add(group, of);
  }
  for (const ProtocolConstants& each : cost.protocols) hash.add(each);
  for (const auto& by_kind : cost.over) {
    for (const auto& each : by_kind) {
      hash.add(std::uint64_t{each.has_value()});
      if (each) hash.add(*each);
    }
  }
  hash.add(std::uint64_t{cost.proxy.used});
  hash.add(static_cast<std::uint64_t>(cost.proxy.socket.count));
  hash.add(static_cast<std::uint64_t>(cost.proxy.eager.count));
  hash.add(std::uint64_t{cost.proxy.helpers});
  hash.add(std::uint64_t{cost.proxy.streams});
  hash.add(std::uint64_t{cost.memory.used});
  hash.add(static_cast<std::uint64_t>(cost.memory.cache.count));
  return hash.value();
}

}  // namespace collsim
