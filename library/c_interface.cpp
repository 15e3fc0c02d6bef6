// The C library: what collsim/collsim.h declares in C, by the C++ library and the subcommands.

#include <collsim/collsim.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/version.h"

struct collsim_machine {
  collsim::api::Machine machine;
};

namespace {

using collsim::InputError;
namespace api = collsim::api;

std::string& error_message() {
  thread_local std::string message;
  return message;
}

/// Remembers the message, also where there is no memory for it.
int failed(int status, const char* message) noexcept {
  try {
    error_message() = message;
  } catch (...) {
    error_message().clear();
  }
  return status;
}

/// The status of the work, whatever it throws.
template <typename Work>
int status_of(Work work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(COLLSIM_BAD_INPUT, "not enough memory; fewer ranks or smaller sizes");
  } catch (const std::runtime_error& error) {
    return failed(COLLSIM_BAD_INPUT, error.what());
  } catch (const std::exception& error) {
    return failed(COLLSIM_BUG, error.what());
  } catch (...) {
    return failed(COLLSIM_BUG, "an exception of no known type");
  }
}

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

template <typename Value>
Value* required(Value* pointer, const char* name) {
  if (pointer == nullptr) throw InputError(std::string(name) + " is NULL", "a pointer");
  return pointer;
}

std::map<std::string, std::string> variables_of(const char* const* variables) {
  std::map<std::string, std::string> values;
  if (variables == nullptr) return values;
  for (; *variables != nullptr; ++variables) {
    const std::string variable = *variables;
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) throw InputError("'" + variable + "'", "NAME=VALUE");
    values[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return values;
}

api::Call call_of(const collsim_call& asked) {
  api::Call call;
  if (const std::string name = text_of(asked.collective); !name.empty()) call.collective = name;
  call.schedule = text_of(asked.schedule);
  call.algorithm = text_of(asked.algorithm);
  call.protocol = text_of(asked.protocol);
  call.variables = variables_of(asked.variables);
  if (asked.ranks != 0) call.ranks = asked.ranks;
  call.root = asked.root;
  return call;
}

template <std::size_t length>
void copy_name(const std::string& name, char (&place)[length]) {
  if (name.size() >= length) throw std::logic_error("'" + name + "' is longer than its field");
  std::memset(place, 0, length);
  std::memcpy(place, name.data(), name.size());
}

collsim_prediction published(const api::Prediction& made) {
  collsim_prediction row{};
  row.bytes = made.bytes;
  row.time_us = made.time_us;
  row.algbw_gb_s = made.algbw_gb_s;
  row.busbw_gb_s = made.busbw_gb_s;
  row.bound_us = made.bound_us;
  row.nccl_estimate_us = made.nccl_estimate_us.value_or(std::numeric_limits<double>::quiet_NaN());
  row.channels = made.channels;
  copy_name(made.algorithm, row.algorithm);
  copy_name(made.protocol, row.protocol);
  copy_name(made.trust, row.trust);
  return row;
}

/// What both ways of predicting share; `predict` takes a machine, a call and sizes.
template <typename Predict>
int answer(const collsim_machine* machine, const collsim_call* call, const std::int64_t* sizes,
           std::size_t count, collsim_prediction* predictions, Predict predict) noexcept {
  return status_of([&] {
    const auto& asked = required(machine, "machine")->machine;
    if (count == 0) return int{COLLSIM_OK};
    required(predictions, "predictions");
    const std::span<const std::int64_t> given(required(sizes, "sizes"), count);
    std::vector<collsim_prediction> rows;
    for (const api::Prediction& made :
         predict(asked, call_of(*required(call, "call")),
                 std::vector<std::int64_t>(given.begin(), given.end()))) {
      rows.push_back(published(made));
    }
    std::copy(rows.begin(), rows.end(), predictions);
    return int{COLLSIM_OK};
  });
}

char* copied(const std::string& text) {
  if (text.empty()) return nullptr;
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

const char* collsim_version() {
  return collsim::command::release();
}

const char* collsim_error_message() {
  return error_message().c_str();
}

int collsim_load_machine(const char* topology, const char* calibration, collsim_machine** machine) {
  return status_of([&] {
    *required(machine, "machine") = nullptr;
    *machine = new collsim_machine{
        api::load_machine(required(topology, "topology"), text_of(calibration))};
    return int{COLLSIM_OK};
  });
}

void collsim_free_machine(collsim_machine* machine) {
  delete machine;
}

const char* collsim_machine_name(const collsim_machine* machine) {
  return machine->machine.name.c_str();
}

const char* collsim_machine_calibration(const collsim_machine* machine) {
  return machine->machine.calibration.c_str();
}

std::uint32_t collsim_machine_gpus(const collsim_machine* machine) {
  return machine->machine.gpus;
}

int collsim_simulate(const collsim_machine* machine, const collsim_call* call,
                     const std::int64_t* sizes, std::size_t count, const char* engine,
                     collsim_prediction* predictions) {
  return answer(machine, call, sizes, count, predictions,
                [engine](const auto& asked, const auto& what, const auto& bytes) {
                  const std::string name = text_of(engine);
                  return api::simulate(asked, what, bytes, name.empty() ? "native" : name);
                });
}

int collsim_estimate(const collsim_machine* machine, const collsim_call* call,
                     const std::int64_t* sizes, std::size_t count,
                     collsim_prediction* predictions) {
  return answer(machine, call, sizes, count, predictions, api::estimate);
}

int collsim_ask(const char* const* words, std::size_t count, char** output) {
  return status_of([&] {
    *required(output, "output") = nullptr;
    const std::span<const char* const> given(count == 0 ? words : required(words, "words"), count);
    std::vector<std::string> args;
    for (const char* const word : given) args.emplace_back(required(word, "a word"));
    // A command keeps the files that it read for one use at a time.
    static std::mutex one_at_a_time;
    const std::scoped_lock turn(one_at_a_time);
    std::ostringstream out;
    std::ostringstream err;
    const int status = collsim::command::run_command(args, out, err);
    *output = copied(out.str());
    return failed(status, err.str().c_str());
  });
}

void collsim_free_text(char* text) {
  std::free(text);
}
