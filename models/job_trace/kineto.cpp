#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "models/job_trace/job_trace.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::size_t max_kineto_text = std::size_t{1} << 30U;
/// A trace nests five levels.
constexpr std::size_t max_kineto_depth = 64;
/// Microseconds since 1970 are below 2e15, and buffers below 2^50 elements.
constexpr double max_kineto_number = 1e18;
/// Kernels, calls and launches that are kept. A step has some thousands of each; so many take 1 GB.
constexpr std::size_t max_kept_events = 2'000'000;
constexpr std::string_view kineto_accepted = "a trace of PyTorch's profiler, as JSON or .json.gz";

/// The letters of a file, unpacked if gzip has packed them.
class KinetoText {
 public:
  explicit KinetoText(const std::string& file) : name_(file), file_(gzopen(file.c_str(), "rb")) {
    if (!file_) fail("cannot be opened", "a file that can be read");
    fill();
  }

  bool is_at_end() const { return next_ == size_; }
  char letter() const { return piece_[next_]; }
  void advance() {
    if (letter() == '\n') ++line_;
    ++next_;
    if (next_ == size_) fill();
  }
  [[noreturn]] void fail(const std::string& wrong, std::string_view accepted) const {
    throw InputError(SourcePosition{name_, line_, 0}, wrong, std::string(accepted));
  }

 private:
  struct Closer {
    void operator()(gzFile file) const { gzclose(file); }
  };

  void fill() {
    const int count = gzread(file_.get(), piece_.data(), static_cast<unsigned>(piece_.size()));
    if (count < 0) fail("cannot be read or unpacked", kineto_accepted);
    int state = Z_OK;
    gzerror(file_.get(), &state);
    if (state == Z_BUF_ERROR) fail("cut off within its compressed data", kineto_accepted);
    next_ = 0;
    size_ = static_cast<std::size_t>(count);
    total_ += size_;
    if (total_ > max_kineto_text) fail("larger than 1 GiB", "a trace of fewer steps");
  }

  std::string name_;
  std::unique_ptr<gzFile_s, Closer> file_;
  std::vector<char> piece_ = std::vector<char>(std::size_t{1} << 16U);
  std::size_t next_ = 0;
  std::size_t size_ = 0;
  std::size_t total_ = 0;
  int line_ = 1;
};

/// Walks through a text; one without a text is its end.
class KinetoLetter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit KinetoLetter(KinetoText* text) : text_(text) {}
  char operator*() const { return text_->letter(); }
  KinetoLetter& operator++() {
    text_->advance();
    return *this;
  }
  bool operator==(const KinetoLetter& other) const { return is_at_end() == other.is_at_end(); }
  bool operator!=(const KinetoLetter& other) const { return !(*this == other); }

 private:
  bool is_at_end() const { return text_ == nullptr || text_->is_at_end(); }

  KinetoText* text_;
};

/// What a call of c10d says of itself, on the CPU or beside its kernel.
struct CallWords {
  std::string operation;
  std::string communicator;
  std::string type;
  double ranks = 0;
  double in_elements = 0;
  double out_elements = 0;
};

/// One event as far as it is of interest.
struct KinetoEvent {
  std::string phase;
  std::string category;
  std::string name;
  double begin_us = 0;
  double duration_us = 0;
  std::optional<double> external;
  std::optional<double> correlation;
  double blocks = 0;
  CallWords words;
};

double bytes_of_type(std::string_view type) {
  static const std::map<std::string_view, double> sizes{
      {"Byte", 1}, {"Char", 1},     {"Bool", 1},         {"Float8_e4m3fn", 1}, {"Short", 2},
      {"Half", 2}, {"BFloat16", 2}, {"Float8_e5m2", 1},  {"Int", 4},           {"Float", 4},
      {"Long", 8}, {"Double", 8},   {"ComplexFloat", 8}, {"ComplexDouble", 16}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
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

/// Puts events together to what a rank did.
class KinetoCollector {
 public:
  explicit KinetoCollector(RankTrace& trace) : trace_(trace) {}

  void take(KinetoEvent& event) {
    if (event.phase != "X") return;
    const JobSpan span{event.begin_us, event.begin_us + event.duration_us};
    if (event.category == "kernel") {
      take_kernel(event, span);
    } else if (event.name == "record_param_comms" && event.external) {
      words_[*event.external] = std::move(event.words);
    } else if (event.category == "user_annotation" && event.name.starts_with("ProfilerStep#")) {
      trace_.steps.push_back(span);
    } else if (event.category.starts_with("cuda_") && event.correlation && event.external) {
      launches_[*event.correlation] = *event.external;
    }
  }

  std::size_t kept() const {
    return trace_.compute.size() + trace_.steps.size() + calls_.size() + words_.size() +
           launches_.size();
  }

  void finish() {
    for (PendingCall& call : calls_) trace_.calls.push_back(call_of(call));
    const auto is_before = [](const JobSpan& a, const JobSpan& b) {
      return a.begin_us < b.begin_us;
    };
    std::sort(trace_.compute.begin(), trace_.compute.end(), is_before);
    std::sort(trace_.steps.begin(), trace_.steps.end(), is_before);
    std::sort(trace_.calls.begin(), trace_.calls.end(),
              [&](const TracedCall& a, const TracedCall& b) { return is_before(a.span, b.span); });
  }

 private:
  struct PendingCall {
    KinetoEvent event;
    JobSpan span;
  };

  void take_kernel(KinetoEvent& event, const JobSpan& span) {
    if (is_communication(event.name)) {
      calls_.push_back({std::move(event), span});
    } else {
      trace_.compute.push_back(span);
    }
  }

  /// The kernel's own words, or those of the call on the CPU that launched it.
  const CallWords& words_of(const KinetoEvent& kernel) const {
    if (!kernel.words.operation.empty()) return kernel.words;
    std::optional<double> external = kernel.external;
    if (!external && kernel.correlation) {
      const auto launch = launches_.find(*kernel.correlation);
      if (launch != launches_.end()) external = launch->second;
    }
    if (!external) return kernel.words;
    const auto found = words_.find(*external);
    return found == words_.end() ? kernel.words : found->second;
  }

  TracedCall call_of(const PendingCall& pending) const {
    const CallWords& words = words_of(pending.event);
    TracedCall call;
    call.span = pending.span;
    call.operation =
        words.operation.empty() ? operation_of_kernel(pending.event.name) : words.operation;
    call.communicator = words.communicator;
    call.type = words.type;
    call.ranks = static_cast<std::int64_t>(words.ranks);
    call.bytes = std::max(words.in_elements, words.out_elements) * bytes_of_type(words.type);
    call.channels = static_cast<std::int64_t>(pending.event.blocks);
    return call;
  }

  RankTrace& trace_;
  std::vector<PendingCall> calls_;
  std::unordered_map<double, CallWords> words_;
  std::unordered_map<double, double> launches_;
};

/// Follows nlohmann's reader through a trace and keeps one event at a time.
class KinetoReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  KinetoReader(const KinetoText& text, RankTrace& trace)
      : text_(text), trace_(trace), collector_(trace) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t number) override { return take(static_cast<double>(number)); }
  bool number_unsigned(std::uint64_t number) override { return take(static_cast<double>(number)); }
  bool number_float(double number, const std::string&) override { return take(number); }
  bool string(std::string& text) override {
    if (std::string* const target = text_target()) *target = std::move(text);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& text) override {
    keys_.back() = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override {
    if (keys_.size() == 1 && keys_[0] == "traceEvents") has_events_ = true;
    return open();
  }
  bool end_array() override { return close(); }
  bool end_object() override {
    if (is_event()) {
      collector_.take(event_);
      event_ = {};
    }
    if (collector_.kept() > max_kept_events) {
      text_.fail(fmt::format("more than {} kernels and calls", max_kept_events),
                 "a trace of fewer steps");
    }
    return close();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    text_.fail("not JSON", kineto_accepted);
  }

  void finish() {
    if (!has_events_) text_.fail("no traceEvents", kineto_accepted);
    collector_.finish();
  }

 private:
  bool is_event() const { return keys_.size() == 3 && keys_[0] == "traceEvents"; }
  bool is_argument() const {
    return keys_.size() >= 4 && keys_[0] == "traceEvents" && keys_[2] == "args";
  }

  bool open() {
    if (keys_.size() == max_kineto_depth) text_.fail("nested too deep", kineto_accepted);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::string* text_target() {
    if (is_event()) {
      if (keys_[2] == "ph") return &event_.phase;
      if (keys_[2] == "cat") return &event_.category;
      return keys_[2] == "name" ? &event_.name : nullptr;
    }
    if (!is_argument() || keys_.size() != 4) return nullptr;
    if (keys_[3] == "Collective name") return &event_.words.operation;
    if (keys_[3] == "Process Group Name") return &event_.words.communicator;
    return keys_[3] == "dtype" ? &event_.words.type : nullptr;
  }

  bool take(double number) {
    if (keys_.size() == 2 && keys_[0] == "distributedInfo") {
      if (keys_[1] == "rank") trace_.rank = static_cast<std::int64_t>(checked(number));
      if (keys_[1] == "world_size") trace_.world_size = static_cast<std::int64_t>(checked(number));
    } else if (is_event()) {
      if (keys_[2] == "ts") event_.begin_us = checked(number);
      if (keys_[2] == "dur") event_.duration_us = checked(number);
    } else if (is_argument()) {
      take_argument(number);
    }
    return true;
  }

  void take_argument(double number) {
    if (keys_.size() == 5) {
      const bool is_first_of_grid = keys_[3] == "grid" && event_.blocks == 0;
      if (is_first_of_grid) event_.blocks = checked(number);
      return;
    }
    if (keys_.size() != 4) return;
    if (keys_[3] == "External id") event_.external = number;
    if (keys_[3] == "correlation") event_.correlation = number;
    if (keys_[3] == "Group size") event_.words.ranks = checked(number);
    if (keys_[3] == "In msg nelems") event_.words.in_elements = checked(number);
    if (keys_[3] == "Out msg nelems") event_.words.out_elements = checked(number);
  }

  double checked(double number) const {
    if (number >= 0 && number <= max_kineto_number) return number;
    text_.fail(fmt::format("{}: {:g}", keys_.back().empty() ? "grid" : keys_.back(), number),
               "a number from 0 to 1e18");
  }

  const KinetoText& text_;
  RankTrace& trace_;
  KinetoCollector collector_;
  /// The key that is open on each level; that of an array is empty.
  std::vector<std::string> keys_;
  KinetoEvent event_;
  bool has_events_ = false;
};

}  // namespace

RankTrace read_kineto(const std::string& file) {
  RankTrace trace;
  trace.file = file;
  KinetoText text(file);
  KinetoReader reader(text, trace);
  nlohmann::json::sax_parse(KinetoLetter(&text), KinetoLetter(nullptr), &reader);
  reader.finish();
  return trace;
}

}  // namespace collsim
