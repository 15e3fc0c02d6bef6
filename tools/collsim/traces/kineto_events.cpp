#include "tools/collsim/traces/kineto_events.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace collsim {

namespace {

/// No job has more ranks.
constexpr std::int64_t max_rank = 1'000'000;
/// Streams have small numbers; what has none of these has none at all.
constexpr double max_stream = 1e9;

double bytes_of_type(std::string_view type) {
  static const std::map<std::string_view, double> sizes{
      {"Byte", 1}, {"Char", 1},     {"Bool", 1},         {"Float8_e4m3fn", 1}, {"Short", 2},
      {"Half", 2}, {"BFloat16", 2}, {"Float8_e5m2", 1},  {"Int", 4},           {"Float", 4},
      {"Long", 8}, {"Double", 8},   {"ComplexFloat", 8}, {"ComplexDouble", 16}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

double bytes_of_words(const CallWords& words) {
  return std::max(words.in_elements, words.out_elements) * bytes_of_type(words.type);
}

/// Where the operation begins in the name of a kernel of DeepEP, as in
/// "void deep_ep::internode::dispatch<false, 8>(int4*)"; npos for other kernels.
std::size_t expert_operation_place(std::string_view name) {
  for (const std::string_view mark : {"ep::internode::", "ep::intranode::", "ep::internode_ll::"}) {
    const std::size_t place = name.find(mark);
    if (place != std::string_view::npos) return place + mark.size();
  }
  return std::string_view::npos;
}

bool is_communication(std::string_view name) {
  return name.find("nccl") != std::string_view::npos ||
         expert_operation_place(name) != std::string_view::npos;
}

/// "SendRecv" of "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)".
std::string operation_of_kernel(std::string_view name) {
  const std::size_t expert = expert_operation_place(name);
  if (expert != std::string_view::npos) {
    const std::string_view operation = name.substr(expert);
    return std::string(operation.substr(0, operation.find_first_of("<(")));
  }
  const std::size_t begin = name.find("Kernel_");
  if (begin == std::string_view::npos) return "unknown";
  const std::string_view rest = name.substr(begin + std::string_view("Kernel_").size());
  return std::string(rest.substr(0, rest.find_first_of("_(")));
}

/// "step 3", which is how people mark steps without the profiler's schedule.
bool is_step(std::string_view name) {
  constexpr std::string_view word = "step ";
  return name.size() > word.size() && name.starts_with(word) &&
         name.find_first_not_of("0123456789", word.size()) == std::string_view::npos;
}

/// The numbers of "[0, 1]". A list that was cut short ("...") gives none.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == '.') return {};
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc::result_out_of_range || number > max_rank) return {};
    if (error == std::errc{} && number >= 0) {
      numbers.push_back(number);
      at = next;
    } else {
      ++at;
    }
  }
  return numbers;
}

}  // namespace

void KinetoCollector::take(KinetoEvent& event) {
  if (event.phase != "X") return;
  const JobSpan span{event.begin_us, event.begin_us + event.duration_us};
  const bool is_kernel = event.category == "kernel";
  if (is_kernel || event.category == "gpu_memcpy" || event.category == "gpu_memset") {
    const bool is_call = is_kernel && is_communication(event.name);
    if (is_kernel && !is_call) trace_.compute.push_back(span);
    if (!is_call) event.name.clear();
    keep(event);
    work_.push_back({std::move(event), span, is_call});
  } else if (event.name == "record_param_comms" && event.external) {
    keep(event);
    words_[*event.external] = all_words_.size();
    host_.push_back(
        {HostEvent::Kind::words, event.thread, span.begin_us, span.end_us, all_words_.size()});
    all_words_.push_back(std::move(event.words));
  } else if (event.category == "user_annotation" && event.name.starts_with("ProfilerStep#")) {
    kept_.add(trace_.file, sizeof(JobSpan));
    trace_.steps.push_back(span);
  } else if (event.category == "user_annotation" && is_step(event.name)) {
    kept_.add(trace_.file, sizeof(JobSpan));
    other_steps_.push_back(span);
  } else if (event.category == "cuda_runtime" || event.category == "cuda_driver") {
    take_host(event, span);
  }
}

void KinetoCollector::take_host(const KinetoEvent& event, const JobSpan& span) {
  const std::string_view name = event.name;
  const auto is_of = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  kept_.add(trace_.file, sizeof(HostEvent) + sizeof(Launch));
  if (is_of("EventRecord") || is_of("StreamWaitEvent")) {
    const auto kind = is_of("EventRecord") ? HostEvent::Kind::record : HostEvent::Kind::wait;
    host_.push_back({kind, event.thread, span.begin_us, span.end_us, 0});
  } else if (is_of("Synchronize")) {
    trace_.waits.push_back(span);
  } else if (event.correlation && (event.external || is_of("Launch") || is_of("Mem"))) {
    launches_[*event.correlation] = {event.thread, span, event.external};
  }
}

/// Counts an event with all its words, whatever is needed of it.
void KinetoCollector::keep(const KinetoEvent& event) {
  const CallWords& words = event.words;
  kept_.add(trace_.file, sizeof(PendingWork) + event.name.size() + words.operation.size() +
                             words.communicator.size() + words.type.size() + words.members.size());
}

/// The kernel's own words, or those of the call on the CPU that launched it.
const CallWords& KinetoCollector::words_of(const KinetoEvent& kernel) const {
  if (!kernel.words.operation.empty()) return kernel.words;
  std::optional<double> external = kernel.external;
  if (!external && kernel.correlation) {
    const auto launch = launches_.find(*kernel.correlation);
    if (launch != launches_.end()) external = launch->second.external;
  }
  if (!external) return kernel.words;
  const auto found = words_.find(*external);
  return found == words_.end() ? kernel.words : all_words_[found->second];
}

/// `before` are the words of calls that the thread issued since it last launched one: a kernel that
/// has none of its own does all of them, which must be messages.
TracedCall KinetoCollector::call_of(const PendingWork& pending,
                                    const std::vector<std::size_t>& before) {
  const CallWords& own = words_of(pending.event);
  std::vector<const CallWords*> parts;
  if (!own.operation.empty()) parts.push_back(&own);
  if (parts.empty()) {
    for (const std::size_t each : before) parts.push_back(&all_words_[each]);
  }
  TracedCall call;
  call.span = pending.span;
  call.channels = static_cast<std::int64_t>(pending.event.blocks);
  call.operation = own.operation.empty() ? operation_of_kernel(pending.event.name) : own.operation;
  for (const CallWords* const words : parts) {
    const auto& peer = words->destination ? words->destination : words->source;
    const bool is_message = words->operation == "send" || words->operation == "recv";
    if (is_message && peer) {
      call.messages.push_back(
          {words->operation == "send", static_cast<std::int64_t>(*peer), bytes_of_words(*words)});
    } else if (own.operation.empty()) {
      continue;
    }
    call.communicator = words->communicator;
    call.type = words->type;
    call.ranks = static_cast<std::int64_t>(words->ranks);
    call.bytes = std::max(call.bytes, bytes_of_words(*words));
  }
  // Many kernels may point to the words of one call.
  kept_.add(trace_.file, sizeof(TracedCall) + call.operation.size() + call.communicator.size() +
                             call.type.size() + call.messages.size() * sizeof(JobMessage));
  return call;
}

void KinetoCollector::add_communicator(const CallWords& words) {
  if (words.members.empty() || words.communicator.empty()) return;
  if (trace_.communicators.contains(words.communicator)) return;
  std::vector<std::int64_t> members = numbers_of(words.members);
  const std::set<std::int64_t> each(members.begin(), members.end());
  if (each.size() != members.size() || static_cast<double>(members.size()) != words.ranks) return;
  trace_.communicators.emplace(words.communicator, std::move(members));
}

void KinetoCollector::add_launches() {
  for (std::size_t i = 0; i < work_.size(); ++i) {
    TracedWork& traced = traced_.emplace_back();
    traced.span = work_[i].span;
    const double stream = work_[i].event.stream;
    traced.stream = stream <= max_stream ? static_cast<std::uint32_t>(stream) : 0;
    if (!work_[i].event.correlation) continue;
    const auto found = launches_.find(*work_[i].event.correlation);
    if (found == launches_.end()) continue;
    traced.launch_us = found->second.span.begin_us;
    traced.launch_end_us = found->second.span.end_us;
    host_.push_back(
        {HostEvent::Kind::launch, found->second.thread, traced.launch_us, traced.launch_end_us, i});
  }
}

void KinetoCollector::launch(std::size_t index, HostThread& thread) {
  TracedWork& traced = traced_[index];
  traced.after_latest = std::exchange(after_latest_, false);
  traced.after_earlier = std::exchange(after_earlier_, false);
  if (work_[index].is_call) {
    traced.call = static_cast<std::int32_t>(trace_.calls.size());
    trace_.calls.push_back(call_of(work_[index], thread.words));
    thread.words.clear();
  }
}

/// Goes through what the host did, thread by thread, in the order of time. A stream that is told to
/// wait right after an event was recorded waits for what was issued last; otherwise for an event
/// that was recorded earlier, as that of a call.
void KinetoCollector::follow_host() {
  std::stable_sort(host_.begin(), host_.end(),
                   [](const HostEvent& a, const HostEvent& b) { return a.begin_us < b.begin_us; });
  std::map<double, HostThread> threads;
  for (const HostEvent& event : host_) {
    HostThread& thread = threads[event.thread];
    if (event.kind == HostEvent::Kind::launch) {
      launch(event.index, thread);
    } else if (event.kind == HostEvent::Kind::wait) {
      (thread.recorded ? after_latest_ : after_earlier_) = true;
    } else if (event.kind == HostEvent::Kind::words) {
      thread.words.push_back(event.index);
      continue;
    }
    thread.recorded = event.kind == HostEvent::Kind::record;
  }
}

void KinetoCollector::finish() {
  add_launches();
  follow_host();
  for (std::size_t i = 0; i < work_.size(); ++i) {
    add_communicator(work_[i].event.words);
    if (!work_[i].is_call || traced_[i].call >= 0) continue;
    traced_[i].call = static_cast<std::int32_t>(trace_.calls.size());
    trace_.calls.push_back(call_of(work_[i], {}));
  }
  for (const CallWords& words : all_words_) add_communicator(words);
  if (trace_.steps.empty()) trace_.steps = std::move(other_steps_);
  trace_.work = std::move(traced_);
  sort_by_time(trace_);
}

}  // namespace collsim
