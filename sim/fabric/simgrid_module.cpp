// The engine behind make_simgrid_fabric(), in a module of its own. The only file that includes
// SimGrid.

#include <dlfcn.h>
#include <xbt/log.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/fabric/event_queue.h"
#include "sim/fabric/fabric.h"

namespace collsim {
namespace {

namespace s4u = simgrid::s4u;

/// SimGrid compares times with an absolute precision made for seconds. Its clock runs in
/// microseconds here, so that a collective of microseconds is as exact as one of hours.
constexpr double clock_per_second = 1e6;

/// SimGrid's sizes are integers; counting in this part of a byte, what is rounded off 128/120 bytes
/// is a 1e-10th of them.
constexpr double units_per_byte = 0x1p33;

/// The most that one communication moves: the largest 64-bit size, with room. What is larger moves
/// in several, one after the other.
constexpr double largest_size = 0x1p62;

/// SimGrid shares links by the inverse of what it takes for a flow's round trip, the latency of its
/// route. This part of it passes before the flow moves: enough to be more than nothing, too little
/// to be seen.
constexpr const char* paid_latency = "1e-18";

/// SimGrid has one engine, one clock and one list of callbacks per process. The engine is made anew
/// for each fabric: it costs 1.6 ms, and keeps neither hosts nor links of the last one.
///
/// A route is a sender ("host") whose only way to the one receiver leads over its links. Links have
/// no latency but those that stand for weights.
class SimGridFabric final : public Fabric {
 public:
  SimGridFabric();
  ~SimGridFabric() override;
  SimGridFabric(const SimGridFabric&) = delete;
  SimGridFabric& operator=(const SimGridFabric&) = delete;

  ResourceId add_resource(BytesPerSecond capacity) override;
  void let_burst(ResourceId resource, const Burst& burst) override;
  RouteId add_route(std::span<const ResourceId> resources) override;
  void start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) override;
  void start_timer(Seconds delay, EventTag tag) override;
  void run(FabricListener& listener) override;
  Seconds now() const override { return Seconds{clock() / clock_per_second}; }
  void set_capacity(ResourceId resource, BytesPerSecond capacity) override;
  void redirect(RouteId from, RouteId to) override;

 private:
  struct Resource {
    double capacity = 0;
    s4u::Link* link = nullptr;  ///< null: unlimited
  };
  /// What sets flows of a route apart: their cap, as far as it counts, and their weight.
  using Limit = std::pair<double, double>;
  struct Route {
    std::vector<s4u::LinkInRoute> links;
    std::vector<ResourceId> resources;  ///< of the links
    double capacity = unlimited.value;
    s4u::Host* plain = nullptr;  ///< of flows of weight 1 that only links limit
    std::map<Limit, s4u::Host*> limited;
  };
  struct Flow {
    s4u::CommPtr communication;
    s4u::Host* sender = nullptr;
    double units_left = 0;  ///< beyond the present communication
    EventTag tag = 0;
    RouteId route = 0;
    FlowRate rate = unlimited;
    bool running = false;
  };

  /// What an event's version says in queue_.
  static constexpr std::uint32_t timer_event = 0;
  static constexpr std::uint32_t flow_event = 1;

  double clock() const { return s4u::Engine::get_clock() - origin_; }
  s4u::Link* make_link(BytesPerSecond capacity);
  s4u::Host* make_sender(const std::vector<s4u::LinkInRoute>& links);
  s4u::Host* sender_of(Route& route, const FlowRate& rate);
  const s4u::Link* make_limit_link(const Limit& limit);
  Flow& take_flow();
  void stop(Flow& flow);
  void go_on(Flow& flow);
  void communicate(Flow& flow);
  void finish_communication(Flow& flow);
  void push_event(double delay, FabricEvent event);
  void set_alarm();
  void ring();

  static SimGridFabric*& alive();
  static void on_completion(const s4u::Activity& activity);

  std::unique_ptr<s4u::Engine> engine_;
  s4u::NetZone* zone_ = nullptr;
  s4u::Host* receiver_ = nullptr;
  double origin_ = 0;
  std::size_t names_ = 0;
  std::vector<Resource> resources_;
  std::vector<Route> routes_;
  std::deque<Flow> flows_;  ///< SimGrid keeps their addresses
  std::vector<Flow*> free_flows_;
  s4u::CommPtr last_finished_;
  std::vector<s4u::CommPtr> stopped_;  ///< SimGrid may still speak of them
  EventQueue queue_;
  simgrid::kernel::timer::Timer* alarm_ = nullptr;  ///< set to queue_'s next event
  bool ringing_ = false;
  FabricListener* listener_ = nullptr;
};

/// The fabric that SimGrid's callbacks report to.
SimGridFabric*& SimGridFabric::alive() {
  static SimGridFabric* fabric = nullptr;
  return fabric;
}

/// Keeps SimGrid from printing, and an engine from changing how the program takes signals.
std::unique_ptr<s4u::Engine> make_engine() {
  constexpr std::array signals{SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, signals.size()> actions{};
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &actions[i]);
  }
  auto engine = std::make_unique<s4u::Engine>("collsim");
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &actions[i], nullptr);
  }
  return engine;
}

/// What can be set only once per process. The run of nothing is for SimGrid to seal what there is,
/// which it does once per process: later hosts and links are added while time goes on.
bool configure() {
  xbt_log_control_set("root.thresh:critical");
  const auto engine = make_engine();
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:1e30");
  s4u::Engine::set_config(std::string("network/latency-factor:") + paid_latency);
  s4u::Engine::set_config("surf/precision:1e-12");
  s4u::Engine::set_config("maxmin/precision:1e-12");
  s4u::Engine::set_config("debug/clean-atexit:0");
  s4u::create_star_zone("empty");
  engine->run();
  return true;
}

/// A variable of SimGrid's that its headers do not let us reach, by its mangled name; null where
/// this SimGrid has none of that name.
template <typename Variable>
Variable* find_variable(const char* symbol) {
  return static_cast<Variable*>(dlsym(RTLD_DEFAULT, symbol));
}

/// SimGrid never sets its clock back, but far from 0 it has no digits left for a microsecond. Where
/// the variable is not found the clock just goes on.
void reset_clock() {
  if (auto* now = find_variable<double>("_ZN7simgrid6kernel10EngineImpl4now_E")) *now = 0;
}

/// Every engine's model of virtual machines listens to every activity that ends, and still does
/// when the engine is gone: after a thousand engines a communication would cost ten times as much.
/// Nobody but us needs to hear. Where the signal is not found, all is just slower.
void listen_alone(void (*on_completion)(const s4u::Activity&)) {
  using Signal = simgrid::xbt::signal<void(const s4u::Activity&)>;
  if (auto* signal = find_variable<Signal>("_ZN7simgrid3s4u8Activity13on_completionE")) {
    signal->disconnect_slots();
    signal->connect(on_completion);
  } else {
    [[maybe_unused]] static const bool connected =
        (s4u::Activity::on_completion_cb(on_completion), true);
  }
}

SimGridFabric::SimGridFabric() {
  assert(alive() == nullptr && "SimGrid has one engine per process");
  [[maybe_unused]] static const bool configured = configure();
  alive() = this;
  engine_ = make_engine();
  listen_alone(on_completion);
  reset_clock();
  origin_ = s4u::Engine::get_clock();
  zone_ = s4u::create_star_zone("fabric");
  receiver_ = make_sender({});
}

SimGridFabric::~SimGridFabric() {
  alive() = nullptr;
  for (const Flow& flow : flows_) {
    if (flow.communication != nullptr) {  // never run to its end
      flow.communication->cancel();
    }
  }
  last_finished_.reset();
  stopped_.clear();
  flows_.clear();
  engine_.reset();
}

ResourceId SimGridFabric::add_resource(BytesPerSecond capacity) {
  assert(capacity.value > 0);
  resources_.push_back(
      {capacity.value, std::isfinite(capacity.value) ? make_link(capacity) : nullptr});
  if (resources_.back().link != nullptr) resources_.back().link->seal();
  return static_cast<ResourceId>(resources_.size() - 1);
}

void SimGridFabric::let_burst(ResourceId /*resource*/, const Burst& /*burst*/) {
  assert(false && "SimGrid's links have no bursts");
}

RouteId SimGridFabric::add_route(std::span<const ResourceId> resources) {
  Route route;
  for (const ResourceId resource : resources) {
    if (resources_[resource].link != nullptr) {
      route.links.emplace_back(resources_[resource].link);
      route.resources.push_back(resource);
      route.capacity = std::min(route.capacity, resources_[resource].capacity);
    }
  }
  routes_.push_back(std::move(route));
  return static_cast<RouteId>(routes_.size() - 1);
}

void SimGridFabric::start_flow(RouteId route_id, double bytes, const FlowRate& rate, EventTag tag) {
  assert(bytes >= 0 && std::isfinite(bytes) && rate.cap.value > 0);
  assert(rate.weight > 0 && std::isfinite(rate.weight));
  Route& route = routes_[route_id];
  if (route.links.empty() || bytes == 0) {  // shares nothing; SimGrid would not take it
    assert(std::isfinite(rate.cap.value) || bytes == 0);
    push_event(bytes / rate.highest().value * clock_per_second, {tag, flow_event});
    return;
  }
  Flow& flow = take_flow();
  flow.units_left = bytes * units_per_byte;
  flow.tag = tag;
  flow.route = route_id;
  flow.rate = rate;
  flow.running = true;
  go_on(flow);
}

/// Takes the flow off its route; `units_left` is all that it has still to move.
void SimGridFabric::stop(Flow& flow) {
  if (flow.communication == nullptr) return;  // it stood still
  flow.units_left += flow.communication->get_remaining();
  stopped_.push_back(std::move(flow.communication));
  stopped_.back()->set_data(nullptr);
  stopped_.back()->cancel();
}

/// Moves on what a flow has left, unless its route is shut. Before run() nothing moves yet.
void SimGridFabric::go_on(Flow& flow) {
  Route& route = routes_[flow.route];
  if (route.capacity <= 0 || listener_ == nullptr) return;
  flow.sender = sender_of(route, flow.rate);
  communicate(flow);
}

/// SimGrid ignores that a link becomes faster while a communication runs: it keeps the bound that
/// it started with. So all over this link are stopped and started anew.
void SimGridFabric::set_capacity(ResourceId id, BytesPerSecond capacity) {
  assert(capacity.value >= 0 && std::isfinite(capacity.value));
  Resource& resource = resources_[id];
  assert(resource.link != nullptr);
  std::vector<Flow*> crossing;
  for (Flow& flow : flows_) {
    if (!flow.running) continue;
    const auto& route = routes_[flow.route].resources;
    if (std::find(route.begin(), route.end(), id) != route.end()) crossing.push_back(&flow);
  }
  for (Flow* flow : crossing) stop(*flow);
  resource.capacity = capacity.value;
  if (capacity.value > 0) {
    resource.link->set_bandwidth(capacity.value * units_per_byte / clock_per_second);
  }
  for (Route& route : routes_) {
    if (std::find(route.resources.begin(), route.resources.end(), id) == route.resources.end()) {
      continue;
    }
    route.capacity = unlimited.value;
    for (const ResourceId one : route.resources) {
      route.capacity = std::min(route.capacity, resources_[one].capacity);
    }
  }
  for (Flow* flow : crossing) go_on(*flow);
}

void SimGridFabric::redirect(RouteId from, RouteId to) {
  assert(from != to && !routes_[from].links.empty() && !routes_[to].links.empty());
  for (Flow& flow : flows_) {
    if (!flow.running || flow.route != from) continue;
    stop(flow);
    flow.route = to;
    go_on(flow);
  }
}

void SimGridFabric::start_timer(Seconds delay, EventTag tag) {
  assert(delay.value >= 0 && std::isfinite(delay.value));
  push_event(delay.value * clock_per_second, {tag, timer_event});
}

void SimGridFabric::run(FabricListener& listener) {
  listener_ = &listener;
  for (Flow& flow : flows_) {
    if (flow.running && flow.communication == nullptr) go_on(flow);
  }
  engine_->run();
  listener_ = nullptr;
  assert(std::all_of(flows_.begin(), flows_.end(),
                     [](const Flow& flow) { return flow.communication == nullptr; }) &&
         "a flow that moves never ended");
}

s4u::Link* SimGridFabric::make_link(BytesPerSecond capacity) {
  const double units = capacity.value * units_per_byte / clock_per_second;
  return zone_->create_link(std::to_string(names_++), units)->set_latency(0.0);
}

s4u::Host* SimGridFabric::make_sender(const std::vector<s4u::LinkInRoute>& links) {
  s4u::Host* sender = zone_->create_host(std::to_string(names_++), 1.0)->seal();
  zone_->add_route(sender->get_netpoint(), nullptr, nullptr, nullptr, links, links.empty());
  return sender;
}

s4u::Host* SimGridFabric::sender_of(Route& route, const FlowRate& rate) {
  const bool is_plain = rate.highest().value >= route.capacity && rate.weight == 1;
  const Limit limit{std::min(rate.highest().value, route.capacity), rate.weight};
  s4u::Host*& sender = is_plain ? route.plain : route.limited[limit];
  if (sender == nullptr) {
    std::vector<s4u::LinkInRoute> links;
    if (!is_plain) links.emplace_back(make_limit_link(limit));
    links.insert(links.end(), route.links.begin(), route.links.end());
    sender = make_sender(links);
  }
  return sender;
}

/// A "fat pipe" gives its whole bandwidth to each of its flows. Of weight 1 they need no latency.
/// No two routes have the same, and it comes first on the way: when a latency is over, SimGrid
/// solves the flow's first link anew, and all others only if that was not yet to be solved.
const s4u::Link* SimGridFabric::make_limit_link(const Limit& limit) {
  const auto [cap, weight] = limit;
  return make_link(BytesPerSecond{cap})
      ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
      ->set_latency(weight == 1 ? 0.0 : 1 / weight)
      ->seal();
}

SimGridFabric::Flow& SimGridFabric::take_flow() {
  if (free_flows_.empty()) {
    return flows_.emplace_back();
  }
  Flow* flow = free_flows_.back();
  free_flows_.pop_back();
  return *flow;
}

void SimGridFabric::communicate(Flow& flow) {
  const double size = std::min(std::max(std::round(flow.units_left), 1.0), largest_size);
  flow.units_left -= size;
  flow.communication = s4u::Comm::sendto_init(flow.sender, receiver_);
  flow.communication->set_payload_size(static_cast<std::uint64_t>(size));
  flow.communication->set_data(&flow);
  flow.communication->start();
}

void SimGridFabric::on_completion(const s4u::Activity& activity) {
  if (alive() != nullptr) {
    const auto& communication = static_cast<const s4u::Comm&>(activity);
    auto* flow = communication.get_data<Flow>();
    if (flow != nullptr) alive()->finish_communication(*flow);  // else we stopped it
  }
}

void SimGridFabric::finish_communication(Flow& flow) {
  // SimGrid still uses the communication when this returns, but no more at the next call.
  last_finished_ = std::move(flow.communication);
  if (flow.units_left >= 1) {
    communicate(flow);
    return;
  }
  const EventTag tag = flow.tag;
  flow.running = false;
  free_flows_.push_back(&flow);
  listener_->on_flow_done(tag);
}

void SimGridFabric::push_event(double delay, FabricEvent event) {
  const double time = clock() + delay;
  const bool next = queue_.empty() || time < queue_.time();
  queue_.push(time, event);
  if (!next || ringing_) {  // ring() sets it once for all that was pushed meanwhile
    return;
  }
  if (alarm_ != nullptr) {
    alarm_->remove();
  }
  set_alarm();
}

void SimGridFabric::set_alarm() {
  alarm_ = simgrid::kernel::timer::Timer::set(origin_ + queue_.time(), [this] { ring(); });
}

void SimGridFabric::ring() {
  alarm_ = nullptr;
  ringing_ = true;
  while (!queue_.empty() && origin_ + queue_.time() <= s4u::Engine::get_clock()) {
    const FabricEvent event = queue_.pop();
    if (event.version == timer_event) {
      listener_->on_timer(event.id);
    } else {
      listener_->on_flow_done(event.id);
    }
  }
  ringing_ = false;
  if (!queue_.empty()) {
    set_alarm();
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Fabric* collsim_make_simgrid_fabric() {
  return new SimGridFabric();
}

}  // namespace collsim
