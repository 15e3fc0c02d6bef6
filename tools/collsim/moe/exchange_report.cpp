#include "tools/collsim/moe/exchange_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "tools/collsim/core/wrap.h"
#include "tools/collsim/report/row_table.h"

namespace collsim::command {

namespace {

constexpr std::size_t shown_ports = 5;

std::string busiest_port(const ExchangeRow& row) {
  return row.ports.ports.empty() ? "-" : row.ports.ports.front().name;
}

std::vector<Column> exchange_columns() {
  return {{"call", "call", "", 16},         {"tokens", "tokens", "", 7, 0},
          {"bytes", "sent", "(B)", 11, 0},  {"time_us", "time", "(us)", 9},
          {"off", "off", "(%)", 4, 0},      {"even_us", "unskewed", "(us)", 9},
          {"ports_us", "ports", "(us)", 9}, {"work_us", "work", "(us)", 9}};
}

/// What takes the time of a row, in a sentence.
std::string cause_of(const ExchangeRow& row) {
  const std::string skew =
      fmt::format("The skew costs {:.1f} us ({:+.1f} %).", in_microseconds(row.time - row.even),
                  100 * (row.time.value / row.even.value - 1));
  if (row.kernels == "nccl") {
    return fmt::format("NCCL's sends and receives. {}", skew);
  }
  const bool by_ports = row.ports.time > row.work;
  return fmt::format(
      "Launch {:.1f} us, then {} for {:.1f} us, and {:.1f} us until sends overlap with work. {}",
      in_microseconds(row.launch), by_ports ? "ports are full" : "thread blocks are busy",
      in_microseconds(std::max(row.ports.time, row.work)), in_microseconds(row.fill), skew);
}

void print_explanation(const ExchangeRow& row, std::ostream& out) {
  fmt::print(out, "\n{}{}\n", row.call,
             row.tokens > 0 ? fmt::format(" of {:g} tokens", row.tokens) : "");
  out << wrapped(cause_of(row), "  ", "  ");
  fmt::print(out, "  busiest ports:\n");
  for (std::size_t i = 0; i < std::min(shown_ports, row.ports.ports.size()); ++i) {
    const PortLoad& port = row.ports.ports[i];
    fmt::print(out, "  {:10.1f} us {:>10}  {}\n", in_microseconds(port.time),
               rounded_size(port.bytes), port.name);
  }
}

}  // namespace

void print_exchange(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows,
                    std::ostream& out) {
  out << wrapped(fmt::format("{}, {} ranks, {}, {}, skew {}", heading.machine, heading.ranks,
                             rows.front().kernels, heading.facts, rows.front().skew),
                 "# ", "# ");
  if (!heading.source.empty()) {
    out << wrapped(fmt::format("constants: {}", heading.source), "# ", "# ");
  }
  if (!rows.front().taken_over.empty()) {
    out << wrapped(fmt::format("taken over from there: {}", rows.front().taken_over), "# ", "# ");
  }
  out << wrapped("off: the median error to expect, either way", "# ", "# ");
  const std::vector<Column> columns = exchange_columns();
  out << titles_of(columns);
  for (const ExchangeRow& row : rows) {
    Record record = exchange_record(heading, row);
    record["off"] = 100 * row.error;
    fmt::print(out, "{}\n", line_of(columns, record));
  }
  if (!heading.explained) return;
  for (const ExchangeRow& row : rows) print_explanation(row, out);
}

Record exchange_record(const ExchangeHeading& heading, const ExchangeRow& row) {
  const bool of_tokens = row.tokens > 0;
  const auto time = [&](Seconds value) {
    return of_tokens ? Record(in_microseconds(value)) : Record();
  };
  Record record;
  record["machine"] = heading.machine;
  record["ranks"] = heading.ranks;
  record["call"] = row.call;
  record["kernels"] = row.kernels;
  record["skew"] = row.skew;
  record["tokens"] = of_tokens ? Record(row.tokens) : Record();
  record["bytes"] = row.bytes;
  record["time_us"] = in_microseconds(row.time);
  record["typical_error"] = row.error;
  record["taken_over"] = row.taken_over;
  record["even_us"] = in_microseconds(row.even);
  record["launch_us"] = time(row.launch);
  record["work_us"] = time(row.work);
  record["fill_us"] = time(row.fill);
  record["ports_us"] = in_microseconds(row.ports.time);
  record["busiest_port"] = busiest_port(row);
  return record;
}

Record exchange_document(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows) {
  Record document;
  document["facts"] = heading.facts;
  document["constants"] = heading.source;
  document["rows"] = Record::array();
  for (const ExchangeRow& row : rows) {
    Record record = exchange_record(heading, row);
    record["ports"] = Record::array();
    for (std::size_t i = 0; i < std::min(shown_ports, row.ports.ports.size()); ++i) {
      const PortLoad& port = row.ports.ports[i];
      record["ports"].push_back(
          {{"name", port.name}, {"bytes", port.bytes}, {"time_us", in_microseconds(port.time)}});
    }
    document["rows"].push_back(std::move(record));
  }
  return document;
}

}  // namespace collsim::command
