#include "models/nccl/search/channel_search.h"

#include <algorithm>

namespace collsim {

namespace {

/// Steps for the first attempt, by index, which does not count against the search.
constexpr int by_index_steps = 1 << 10;

}  // namespace

ChannelSearch::ChannelSearch(const NcclSystem& system, const NcclPaths& paths, bool inter)
    : system_(&system),
      paths_(&paths),
      inter_(inter),
      gpus_(static_cast<std::uint32_t>(system.gpu_count())),
      budget_(system) {}

int ChannelSearch::run(const NcclGraph& wanted, NcclGraph& best, int steps) {
  graph_ = wanted;
  graph_.channels.clear();
  channels_.assign(wanted.max_channels + 1, {std::vector<std::uint32_t>(gpus_), {}, {}});
  done_ = 0;
  used_.assign(gpus_, 0);
  budget_ = LinkBudget(*system_);
  nets_.clear();
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) nets_.push_back(order_nets(gpu));
  nets_.push_back(order_nets({}));
  gpus_beside_.clear();
  for (std::uint32_t net = 0; net < system_->of_kind(NcclNodeKind::net).size(); ++net) {
    gpus_beside_.push_back(order_gpus_beside(net));
  }
  best_ = &best;
  next_channel(&steps);
  return steps;
}

ChannelSearch::Course ChannelSearch::course(Order order, int* steps) const {
  Course course{{}, {}, order, steps};
  const bool ring = graph_.pattern == GraphPattern::ring;
  if (!inter_) {
    if (ring) course.close_at = gpus_ - 1;
  } else if (ring) {
    course.leave_at = gpus_ - 1;
  } else {
    course.leave_at = graph_.pattern == GraphPattern::split_tree ? 1 : 0;
  }
  return course;
}

void ChannelSearch::next_channel(int* steps) {
  if (inter_) {
    channel_from_nets(steps);
  } else {
    channel_in_node(steps);
  }
}

void ChannelSearch::channel_in_node(int* steps) {
  if (graph_.pattern == GraphPattern::nvls) {
    start_at({}, done_, course(Order::any, steps));
    return;
  }
  if (done_ == 0) {
    start_at({}, 0, course(Order::by_index, steps));
  } else {
    start_at({}, channel(done_ - 1).gpus.front(), course(Order::as_before, steps));
  }
  if (graph_.same_channels && done_ > 0) return;
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    start_at({}, gpu, course(Order::any, steps));
  }
}

void ChannelSearch::channel_from_nets(int* steps) {
  // NCCL keeps whole GB/s when it counts what NICs have left.
  const auto bandwidth = static_cast<float>(static_cast<int>(graph_.inter_bandwidth));
  const auto& nets = nets_to_try({});
  const bool heads_only =
      graph_.pattern == GraphPattern::nvls || graph_.pattern == GraphPattern::collnet_direct;
  for (std::size_t i = 0; i < nets.size(); ++i) {
    const std::uint32_t net = nets[(done_ + i) % nets.size()];
    if (graph_.collnet && !net_of(net).collnet) continue;
    if (budget_.net(net) < bandwidth) continue;
    const bool second_of_pair =
        graph_.pattern == GraphPattern::ring && graph_.cross_nic == 2 && done_ % 2 == 1;
    if (second_of_pair && channel(done_ - 1).last_net != net) continue;

    channel().first_net = net;
    graph_.inter_latency = net_of(net).latency;
    budget_.take_net(net, bandwidth);
    bool found = false;
    if (heads_only) {
      found = done_ < nets.size() && head_at_net(net, steps);
    } else {
      channel_from_net(net, steps);
    }
    budget_.take_net(net, -bandwidth);
    if (found) return;
  }
}

void ChannelSearch::channel_from_net(std::uint32_t net, int* steps) {
  if (done_ > 0 && graph_.same_channels) {
    start_at(net, channel(done_ - 1).gpus.front(), course(Order::as_before, steps));
    return;
  }
  if (done_ == 0 && system_->of_kind(NcclNodeKind::nvs).empty()) {
    int steps_by_index = by_index_steps;
    start_at(net, 0, course(Order::by_index, &steps_by_index));
    if (steps_by_index == -1) *steps = -1;
  }
  for (const std::uint32_t gpu : gpus_beside_[net]) start_at(net, gpu, course(Order::any, steps));
}

/// NVLS and CollNetDirect need only a GPU beside every NIC, each GPU once.
bool ChannelSearch::head_at_net(std::uint32_t net, int* steps) {
  const auto gpu = paths_->preferred_gpu(net);
  if (!gpu) return false;
  for (std::uint32_t c = 0; c < done_; ++c) {
    if (channel(c).gpus.front() == *gpu) return false;
  }
  start_at(net, *gpu, course(Order::any, steps));
  return true;
}

void ChannelSearch::start_at(std::optional<std::uint32_t> net, std::uint32_t gpu,
                             const Course& course) {
  if (net && !take(net_node(*net), gpu_node(gpu))) return;
  const std::uint64_t mark = std::uint64_t{1} << done_;
  used_[gpu] ^= mark;
  visit(gpu, 0, course);
  used_[gpu] ^= mark;
  if (net) give_back(net_node(*net), gpu_node(gpu));
}

void ChannelSearch::go_to(std::uint32_t from, std::uint32_t to, std::uint32_t position,
                          const Course& course) {
  if (!take(gpu_node(from), gpu_node(to))) return;
  const std::uint64_t mark = std::uint64_t{1} << done_;
  used_[to] ^= mark;
  visit(to, position, course);
  used_[to] ^= mark;
  give_back(gpu_node(from), gpu_node(to));
}

void ChannelSearch::visit(std::uint32_t gpu, std::uint32_t position, const Course& course) {
  if (*course.steps <= 0) return;
  --*course.steps;
  if (position == gpus_) return finish(course);
  channel().gpus[position] = gpu;
  if (position == course.leave_at) return leave(gpu, position, course);
  if (graph_.pattern == GraphPattern::nvls) return pull_through_switch(gpu, course);
  if (graph_.pattern == GraphPattern::collnet_direct) return fan_out(gpu, course);
  if (position + 1 < gpus_) {
    std::vector<std::uint32_t> next;
    if (course.order == Order::by_index) {
      next = {position + 1};
    } else if (course.order == Order::as_before) {
      next = {channel(done_ - 1).gpus[position + 1]};
    } else {
      next = next_gpus(gpu, !course.leave_at ? 0 : *course.leave_at == position + 1 ? 1 : -1);
    }
    for (const std::uint32_t each : next) go_to(gpu, each, position + 1, course);
    return;
  }
  if (position == course.close_at) return close(gpu, position, course);
  Course done = course;
  done.leave_at.reset();
  done.close_at.reset();
  visit(gpu, gpus_, done);
}

void ChannelSearch::leave(std::uint32_t gpu, std::uint32_t position, const Course& course) {
  const bool halves = graph_.pattern == GraphPattern::balanced_tree;
  const Load share{halves ? 0.5F : 1.0F, false};
  Course rest = course;
  rest.leave_at.reset();
  if (halves && position == 0) rest.leave_at = 1;  // the second GPU has to reach the same NIC
  for (const std::uint32_t net : nets_to_try(gpu)) {
    if (!may_leave_by(net, position) || !take(gpu_node(gpu), net_node(net), share)) continue;
    channel().last_net = net;
    visit(gpu, position, rest);
    give_back(gpu_node(gpu), net_node(net), share);
  }
}

void ChannelSearch::close(std::uint32_t gpu, std::uint32_t position, const Course& course) {
  const std::uint32_t first = channel().gpus.front();
  if (!take(gpu_node(gpu), gpu_node(first))) return;
  Course rest = course;
  rest.close_at.reset();
  visit(first, position + 1, rest);
  give_back(gpu_node(gpu), gpu_node(first));
}

/// NVLS: every GPU sends to the switch and receives from it, the head twice as much.
void ChannelSearch::pull_through_switch(std::uint32_t gpu, const Course& course) {
  const std::uint32_t nvs = system_->of_kind(NcclNodeKind::nvs).front();
  const auto load = [gpu](std::uint32_t each) { return each == gpu ? Load{2, true} : Load{}; };
  std::uint32_t down = 0;
  while (down < gpus_ && take(nvs, gpu_node(down), load(down))) ++down;
  std::uint32_t up = 0;
  if (down == gpus_) {
    while (up < gpus_ && take(gpu_node(up), nvs, load(up))) ++up;
    if (up == gpus_) {
      Course done = course;
      done.leave_at.reset();
      visit(gpu, gpus_, done);
    }
  }
  while (up-- > 0) give_back(gpu_node(up), nvs, load(up));
  while (down-- > 0) give_back(nvs, gpu_node(down), load(down));
}

/// CollNetDirect: the head exchanges an equal share with every GPU of the node.
void ChannelSearch::fan_out(std::uint32_t gpu, const Course& course) {
  const Load share{1.0F / static_cast<float>(gpus_ - 1), gpus_ > 2};
  std::uint32_t out = 0;
  while (out < gpus_ && take(gpu_node(gpu), gpu_node(out), share)) ++out;
  std::uint32_t in = 0;
  if (out == gpus_) {
    while (in < gpus_ && take(gpu_node(in), gpu_node(gpu), share)) ++in;
    if (in == gpus_) {
      std::uint32_t position = 1;
      for (std::uint32_t each = 0; each < gpus_; ++each) {
        if (each != gpu) channel().gpus[position++] = each;
      }
      Course done = course;
      done.leave_at.reset();
      visit(gpu, gpus_, done);
    }
  }
  while (in-- > 0) give_back(gpu_node(in), gpu_node(gpu), share);
  while (out-- > 0) give_back(gpu_node(gpu), gpu_node(out), share);
}

void ChannelSearch::finish(const Course& course) {
  ++done_;
  if (better_than_best()) {
    *best_ = graph_;
    best_->channels.assign(channels_.begin(), channels_.begin() + done_);
    if (done_ == graph_.max_channels) *course.steps = -1;
  }
  if (done_ < graph_.max_channels) next_channel(course.steps);
  --done_;
}

bool ChannelSearch::better_than_best() const {
  if (done_ < graph_.min_channels) return false;
  const auto channels = static_cast<float>(done_);
  const auto best_channels = static_cast<float>(best_->channel_count());
  if (graph_.pattern == GraphPattern::nvls) {
    // Channels are GPUs that pull from the switch: the more the better.
    return (done_ > best_->channel_count() && done_ <= gpus_) ||
           channels * graph_.inter_bandwidth > best_channels * best_->inter_bandwidth;
  }
  const float total = channels * graph_.intra_bandwidth;
  const float best_total = best_channels * best_->intra_bandwidth;
  if (total != best_total) return total > best_total;
  return graph_.pattern == best_->pattern && graph_.cross_nic == best_->cross_nic &&
         graph_.hops < best_->hops;
}

}  // namespace collsim
