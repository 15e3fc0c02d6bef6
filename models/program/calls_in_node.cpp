#include "models/program/calls_in_node.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "models/call/prediction.h"
#include "sim/execution/effort.h"

namespace collsim {

namespace {

/// A longer call keeps the rate of so many messages, those of all its communicators: some 50 ms on
/// a core of 2026.
constexpr double max_messages = 50'000;

/// The call, or one of fewer loops on as many channels that sends about so many messages. Sends and
/// receives are left whole.
CompiledCall compiled_up_to(double most, const CallCompiler& compiler, Bytes size,
                            LayoutCache& layouts) {
  CompiledCall call = compiler.plan(size, &layouts);
  const double part = most / std::max(effort_of(execution_of(call)).whole, most);
  if (part == 1 || call.plan().channels_divide_chunks) return call;
  std::uint32_t loops = 0;
  for (std::uint32_t channel = 0; channel < call.partition.channels(); ++channel) {
    loops = std::max(loops, call.partition.loops(channel));
  }
  const auto kept = static_cast<std::uint32_t>(loops * part);
  if (kept + 1 < loops) call.partition = call.partition.without_loops(loops - kept - 1);
  return call;
}

/// Adds what a call's bytes cross to what is known, and says whether any of it was among that.
template <typename Resources>
bool add_loads(const Wiring& wiring, Resources& loads) {
  Resources own;
  const auto add = [&](ResourceId id) {
    const ResourceOrigin& origin = wiring.origins[id];
    own.emplace(origin.shared, origin.id, origin.host);
  };
  for (const std::vector<Wire>& wires : wiring.wires) {
    for (const Wire& wire : wires) {
      std::for_each(wire.resources.begin(), wire.resources.end(), add);
      std::for_each(wire.network.begin(), wire.network.end(), add);
    }
  }
  const std::size_t before = loads.size() + own.size();
  loads.merge(own);
  return loads.size() < before;
}

template <typename Resources>
bool have_common(const Resources& some, const Resources& others) {
  return std::any_of(some.begin(), some.end(),
                     [&](const auto& each) { return others.contains(each); });
}

}  // namespace

std::uint32_t CallsInNode::number_of(const Call& call) {
  const auto [found, added] = numbers_.try_emplace(call, static_cast<std::uint32_t>(known_.size()));
  if (added) known_.push_back({call});
  return found->second;
}

std::vector<CompiledCall> CallsInNode::compiled(const Known& known) const {
  std::vector<CompiledCall> calls;
  const double most = max_messages / static_cast<double>(known.communicators.size());
  for (const Communicator* communicator : known.communicators) {
    calls.push_back(
        compiled_up_to(most, *communicator->compiler, known.call.size, *communicator->layouts));
  }
  return calls;
}

void CallsInNode::lay_out(Known& known) {
  for (const std::vector<DeviceId>& gpus : known.call.gpus) {
    Communicator& communicator = communicators_[{known.call.collective, known.call.root, gpus}];
    if (!communicator.compiler) {
      communicator = {std::make_unique<const CallCompiler>(
                          spec_of_(known.call.collective, gpus, known.call.root)),
                      std::make_unique<LayoutCache>()};
    }
    known.communicators.push_back(&communicator);
  }
  for (const CompiledCall& call : compiled(known)) {
    if (add_loads(call.wiring(), known.loads)) known.shares = true;
  }
}

/// Of each call the time of its slowest communicator.
std::vector<Seconds> CallsInNode::times_at_once(const Numbers& calls) const {
  std::vector<CompiledCall> all;
  std::vector<std::size_t> call_of;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (CompiledCall& call : compiled(known_[calls[i]])) {
      all.push_back(std::move(call));
      call_of.push_back(i);
    }
  }
  const std::vector<Seconds> ends = simulate_at_once(all);
  std::vector<Seconds> times(calls.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    times[call_of[i]] = std::max(times[call_of[i]], ends[i]);
  }
  return times;
}

Seconds CallsInNode::time_alone(std::uint32_t call) {
  Known& known = known_[call];
  if (known.alone.value == 0) {
    const std::vector<CompiledCall> calls = compiled(known);
    known.alone = simulate_at_once(std::span(calls).first(1)).front();
  }
  return known.alone;
}

/// The call that ends first has moved all that it does alone. What each other one still has to move
/// then takes it from there on as long as it takes beside those that are left.
const std::vector<double>& CallsInNode::rates_of_sharing(const Numbers& calls) {
  const auto found = rates_.find(calls);
  if (found != rates_.end()) return found->second;
  if (calls.size() == 1 && !known_[calls.front()].shares) return rates_[calls] = {1};
  const std::vector<Seconds> ends = times_at_once(calls);
  std::vector<double> left;
  for (const std::uint32_t call : calls) left.push_back(time_alone(call).value);
  std::vector<std::size_t> running(calls.size());
  std::iota(running.begin(), running.end(), 0);
  std::stable_sort(running.begin(), running.end(),
                   [&](std::size_t a, std::size_t b) { return ends[a] < ends[b]; });
  const double first_end = ends[running.front()].value;
  double now = first_end;
  for (auto next = running.begin() + 1; next != running.end(); ++next) {
    Numbers others;
    for (auto i = next; i != running.end(); ++i) others.push_back(calls[*i]);
    const std::vector<double> beside = rates(others);
    const double span = ends[*next].value - now;
    for (auto i = next; i != running.end(); ++i) {
      left[*i] -= span * beside[static_cast<std::size_t>(i - next)];
    }
    now += span;
  }
  // No call comes to rest beside others, whatever the order in which they end.
  constexpr double least = 0.01;
  for (double& rate : left) rate = std::clamp(rate / first_end, least, 1.0);
  return rates_[calls] = left;
}

/// The places of all that share with the first, and with those that do. The same calls come in the
/// same order, however they are given.
std::vector<std::size_t> CallsInNode::sharing_with(std::span<const std::uint32_t> calls,
                                                   std::size_t first) const {
  std::vector<std::size_t> sharing{first};
  std::vector<bool> found(calls.size());
  found[first] = true;
  for (std::size_t next = 0; next < sharing.size(); ++next) {
    const Known& known = known_[calls[sharing[next]]];
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (found[i] || !have_common(known.loads, known_[calls[i]].loads)) continue;
      found[i] = true;
      sharing.push_back(i);
    }
  }
  const auto call = [&](std::size_t i) -> const Call& { return known_[calls[i]].call; };
  std::sort(sharing.begin(), sharing.end(), [&](auto a, auto b) { return call(a) < call(b); });
  return sharing;
}

std::vector<double> CallsInNode::rates(std::span<const std::uint32_t> calls) {
  if (calls.size() == 1 && known_[calls.front()].call.gpus.size() == 1) return {1};
  for (const std::uint32_t call : calls) {
    if (known_[call].communicators.empty()) lay_out(known_[call]);
  }
  std::vector<double> rates(calls.size(), 0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (rates[i] > 0) continue;
    const std::vector<std::size_t> sharing = sharing_with(calls, i);
    Numbers numbers;
    for (const std::size_t each : sharing) numbers.push_back(calls[each]);
    const std::vector<double>& found = rates_of_sharing(numbers);
    for (std::size_t j = 0; j < sharing.size(); ++j) rates[sharing[j]] = found[j];
  }
  return rates;
}

}  // namespace collsim
