#pragma once

#include <vector>

#include "sim/fabric/fabric.h"

namespace collsim {

/// Resources that may exceed their capacity for a while: each has a bucket of bytes that fills
/// while the resource carries less than its sustained rate. While there is something in it the
/// resource has its peak rate.
class TokenBuckets {
 public:
  void add(ResourceId resource, const Burst& burst, double sustained);
  bool has(ResourceId resource) const {
    return resource < buckets_.size() && buckets_[resource].size > 0;
  }
  /// The rate that the resource carries from now on.
  double capacity(ResourceId resource, double now);
  /// The highest rate that it can ever carry.
  double peak(ResourceId resource) const;
  /// Gives the resource a new shaper, whose bucket is empty.
  void set_sustained(ResourceId resource, double sustained, double now);
  /// Sets what its flows use from now on. Returns when it will be empty; infinite: never.
  double use(ResourceId resource, double used, double now);
  void run_empty(ResourceId resource, double now);
  /// When the bucket will be empty if it is used as it is now.
  double empty_at(ResourceId resource) const { return buckets_[resource].empty_at; }

 private:
  struct Bucket {
    double size = 0;  ///< 0: the resource has no bucket
    double peak = 0;
    double sustained = 0;
    double left = 0;  ///< at time `settled`
    double settled = 0;
    double used = 0;  ///< by all flows, since then
    double empty_at = 0;
    bool open = false;  ///< whether it passes the peak
  };
  static void settle(Bucket& bucket, double now);

  std::vector<Bucket> buckets_;  ///< by ResourceId; shorter where no others have one
};

}  // namespace collsim
