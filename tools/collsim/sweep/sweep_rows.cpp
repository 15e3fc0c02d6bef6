#include "tools/collsim/sweep/sweep_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/recordings/recording.h"
#include "sim/base/input_error.h"
#include "sim/execution/machine_events.h"
#include "tools/collsim/core/interruption.h"
#include "tools/collsim/report/call_rows.h"

namespace collsim::command {

namespace {

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

/// Any answer, for its columns.
Record any_answer() {
  const CallRequest request;
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  return answer_record({&request, &run, "native"}, Row{});
}

std::vector<std::string> keys_of(const Record& record) {
  std::vector<std::string> keys;
  for (const auto& item : record.items()) keys.push_back(item.key());
  return keys;
}

/// Of the run, what was measured; by size.
std::map<Bytes, Seconds> recorded_times(const CallRequest& request, const RunSpec& run) {
  if (!run.measured) return {};
  return measured_times(read_recording(run.measured->file), run.measured->id,
                        request.scenario.collective, request.ranks);
}

}  // namespace

Sweep read_sweep(const std::filesystem::path& file, EngineName engine_name, bool exact) {
  const TextFile text = read_text_file(file, "a scenario with a sweep");
  Sweep sweep{SweepSpace(text)};
  sweep.space.check();
  sweep.errors = load_error_table();
  sweep.engine_name = engine_name;
  sweep.exact = exact;
  const std::string_view last_end = text.content.ends_with('\n') ? "" : "\n";
  sweep.id = fmt::format(
      "s{:016x}", hash_of(fmt::format("{} {} {} {}{}", COLLSIM_VERSION, name_of(engine_name), exact,
                                      text.content, last_end)));
  sweep.first.push_back(0);
  for (const std::uint32_t rows : sweep.space.answers()) {
    sweep.first.push_back(sweep.first.back() + rows);
  }
  return sweep;
}

std::uint64_t row_count(const Sweep& sweep) {
  return sweep.first.back();
}

std::uint64_t point_of(const Sweep& sweep, std::uint64_t row) {
  const auto after = std::upper_bound(sweep.first.begin(), sweep.first.end(), row);
  return static_cast<std::uint64_t>(after - sweep.first.begin()) - 1;
}

std::size_t run_index(const Sweep& sweep, std::uint64_t row) {
  const std::uint64_t point = point_of(sweep, row);
  const std::uint64_t sizes = sizes_of(sweep.space.scenario(point)).size();
  return static_cast<std::size_t>((row - sweep.first[point]) / sizes);
}

std::uint64_t rows_alike(const Sweep& sweep, std::uint64_t row) {
  return sweep.first[point_of(sweep, row) + 1] - row;
}

std::vector<std::string> sweep_columns(const Sweep& sweep) {
  const std::vector<std::string> of_answers = keys_of(any_answer());
  std::vector<std::string> columns{"row"};
  for (const SweepField* const field : sweep.space.fields()) {
    const bool taken =
        std::find(of_answers.begin(), of_answers.end(), field->path) != of_answers.end();
    columns.push_back(taken ? "sweep." + field->path : field->path);
  }
  columns.insert(columns.end(), of_answers.begin(), of_answers.end());
  columns.insert(columns.end(), {"problem", "sweep"});
  return columns;
}

/// A run of a point, or of points that differ in size alone. Never moved: parts refer to others.
struct SweepRows::Call {
  Call(CallRequest asked, std::size_t run, Method method)
      : request(std::move(asked)),
        recorded(recorded_times(request, request.scenario.runs[run])),
        predictor(spec_of(request, request.scenario.runs[run]), std::move(method)) {}

  CallRequest request;
  std::map<Bytes, Seconds> recorded;
  Predictor predictor;
};

SweepRows::SweepRows(const Sweep& sweep)
    : sweep_(sweep),
      watch_([](std::uint64_t) {
        if (Interruption::asked()) throw SweepInterrupted{};
      }),
      columns_(sweep_columns(sweep)) {}

SweepRows::Call& SweepRows::call_of(std::uint64_t point, std::size_t run) {
  const std::string key = fmt::format("{} {}", sweep_.space.call_key(point), run);
  if (call_ && key == call_key_) return *call_;
  call_.reset();
  Scenario scenario = sweep_.space.scenario(point);
  std::string machine_key = sweep_.space.machine_key(point);
  if (!machine_ || machine_key != machine_key_) {
    machine_ = sweep_.space.machine(scenario, point);
    machine_key_ = std::move(machine_key);
  }
  Method method = method_of(sweep_.engine_name, sweep_.exact);
  method.simulation.watch = &watch_;
  call_ = std::make_shared<Call>(question_about(std::move(scenario), *machine_, sweep_.errors), run,
                                 std::move(method));
  call_key_ = key;
  return *call_;
}

Record SweepRows::answer_of(std::uint64_t point, std::uint64_t place) {
  const std::vector<Bytes> sizes = sizes_of(sweep_.space.scenario(point));
  const auto run = static_cast<std::size_t>(place / sizes.size());  // as run_index()
  const Bytes size = sizes[static_cast<std::size_t>(place % sizes.size())];
  Call& call = call_of(point, run);
  Row row{call.predictor.predict(size)};
  const auto measured = call.recorded.find(size);
  if (measured != call.recorded.end()) row.measured = measured->second;
  const std::string engine(name_of(sweep_.engine_name));
  return answer_record({&call.request, &call.predictor.compiler().spec().run, engine}, row);
}

Record SweepRows::answer(std::uint64_t row) {
  const std::uint64_t point = point_of(sweep_, row);
  Record answer;
  std::string problem;
  try {
    if (Interruption::asked()) throw SweepInterrupted{};
    answer = answer_of(point, row - sweep_.first[point]);
  } catch (const InputError& error) {
    problem = error.what();
  } catch (const HangError& error) {
    problem = error.what();
  }
  Record record;
  record["row"] = row;
  std::size_t column = 1;
  for (const std::string& value : sweep_.space.values(point)) record[columns_[column++]] = value;
  for (; column + 2 < columns_.size(); ++column) {
    record[columns_[column]] = answer.is_null() ? Record() : answer[columns_[column]];
  }
  record["problem"] = problem.empty() ? Record() : Record(problem);
  record["sweep"] = sweep_.id;
  return record;
}

}  // namespace collsim::command
