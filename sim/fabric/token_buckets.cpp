#include "sim/fabric/token_buckets.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace collsim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void TokenBuckets::add(ResourceId resource, const Burst& burst, double sustained) {
  assert(burst.peak.value > sustained);
  buckets_.resize(std::max(buckets_.size(), std::size_t{resource} + 1));
  Bucket& bucket = buckets_[resource];
  bucket.size = static_cast<double>(burst.size.count);
  bucket.peak = burst.peak.value;
  bucket.sustained = sustained;
  bucket.empty_at = infinity;
}

double TokenBuckets::capacity(ResourceId resource, double now) {
  settle(buckets_[resource], now);
  return buckets_[resource].open ? peak(resource) : buckets_[resource].sustained;
}

double TokenBuckets::peak(ResourceId resource) const {
  return std::max(buckets_[resource].peak, buckets_[resource].sustained);
}

void TokenBuckets::set_sustained(ResourceId resource, double sustained, double now) {
  Bucket& bucket = buckets_[resource];
  settle(bucket, now);
  bucket.sustained = sustained;
  bucket.left = 0;
  bucket.open = false;
}

double TokenBuckets::use(ResourceId resource, double used, double now) {
  Bucket& bucket = buckets_[resource];
  settle(bucket, now);
  bucket.used = used;
  const bool drains = bucket.open && used > bucket.sustained;
  bucket.empty_at = drains ? now + bucket.left / (used - bucket.sustained) : infinity;
  return bucket.empty_at;
}

void TokenBuckets::run_empty(ResourceId resource, double now) {
  Bucket& bucket = buckets_[resource];
  bucket.left = 0;
  bucket.settled = now;
  bucket.empty_at = infinity;
  bucket.open = false;
}

/// Takes off what was used until now.
void TokenBuckets::settle(Bucket& bucket, double now) {
  // A bucket opens again when there is something in it to speak of: at a full load rounding alone
  // must not do it.
  constexpr double share_to_open = 0x1p-7;
  const double gained = (bucket.sustained - bucket.used) * (now - bucket.settled);
  bucket.left = std::clamp(bucket.left + gained, 0.0, bucket.size);
  bucket.settled = now;
  if (bucket.left > share_to_open * bucket.size && bucket.sustained > 0) {
    bucket.open = true;
  }
}

}  // namespace collsim
