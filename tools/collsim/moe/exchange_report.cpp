#include "tools/collsim/moe/exchange_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace collsim::command {

namespace {

constexpr std::size_t shown_ports = 5;

std::string busiest_port(const ExchangeRow& row) {
  return row.ports.ports.empty() ? "-" : row.ports.ports.front().name;
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

/// The first ports, which are the busiest.
Table port_table(const ExchangeRow& row) {
  Table table;
  for (const PortLoad& port : row.ports.ports) {
    if (table.rows.size() == shown_ports) break;
    NewRow add(table);
    add({"name", "port"}, port.name);
    add({"bytes", "sent", "(B)", 0}, port.bytes);
    add({"time_us", "time", "(us)", 1}, in_microseconds(port.time));
  }
  return table;
}

AnswerSection explanation_of(const ExchangeRow& row) {
  const std::string of = row.tokens > 0 ? fmt::format(" of {:g} tokens", row.tokens) : "";
  return {row.call + of,
          {},
          {{cause_of(row), "  ", "  "}, {"busiest ports:", "  ", "  "}},
          {port_table(row)}};
}

void add_exchange(const ExchangeHeading& heading, const ExchangeRow& row, Table& table) {
  const bool of_tokens = row.tokens > 0;
  const auto time = [&](Seconds value) {
    return of_tokens ? Record(in_microseconds(value)) : Record();
  };
  NewRow add(table);
  add.data("machine", heading.machine);
  add.data("ranks", heading.ranks);
  add(fixed_column("call", "call", "", 16), row.call);
  add.data("kernels", row.kernels);
  add.data("skew", row.skew);
  add(fixed_column("tokens", "tokens", "", 7, 0), of_tokens ? Record(row.tokens) : Record());
  add(fixed_column("bytes", "sent", "(B)", 11, 0), row.bytes);
  add(fixed_column("time_us", "time", "(us)", 9), in_microseconds(row.time));
  add({"typical_error", "off", "(%)", 0, 100, 0, 4}, row.error);
  add(fixed_column("time_p10_us", "p10", "(us)", 9), in_microseconds(row.range.low * row.time));
  add(fixed_column("time_p90_us", "p90", "(us)", 9), in_microseconds(row.range.high * row.time));
  add.data("trust", to_string(row.trust));
  add.data("taken_over", row.taken_over);
  add(fixed_column("even_us", "unskewed", "(us)", 9), in_microseconds(row.even));
  add.data("launch_us", time(row.launch));
  add(fixed_column("work_us", "work", "(us)", 9), time(row.work));
  add.data("fill_us", time(row.fill));
  add(fixed_column("ports_us", "ports", "(us)", 9), in_microseconds(row.ports.time));
  add.data("busiest_port", busiest_port(row));
}

}  // namespace

Answer exchange_answer(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows) {
  Answer answer;
  std::vector<std::string> head{fmt::format("{}, {} ranks, {}, {}, skew {}", heading.machine,
                                            heading.ranks, rows.front().kernels, heading.facts,
                                            rows.front().skew)};
  if (!heading.source.empty()) head.push_back(fmt::format("constants: {}", heading.source));
  if (!rows.front().taken_over.empty()) {
    head.push_back(fmt::format("taken over from there: {}", rows.front().taken_over));
  }
  head.emplace_back(
      "off: the median error to expect, either way; 8 of 10 such times are from p10 to p90");
  Table table;
  answer.document = {
      {"facts", heading.facts}, {"constants", heading.source}, {"rows", Record::array()}};
  for (const ExchangeRow& row : rows) {
    add_exchange(heading, row, table);
    Record record = table.rows.back();
    record["ports"] = port_table(row).rows;
    answer.document["rows"].push_back(std::move(record));
  }
  answer.sections.push_back({"", {}, comments(head), {std::move(table)}});
  if (!heading.explained) return answer;
  for (const ExchangeRow& row : rows) answer.sections.push_back(explanation_of(row));
  return answer;
}

}  // namespace collsim::command
