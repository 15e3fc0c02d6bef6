#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace collsim {

/// The weight of a cause that the log shows by a line or a setting, beside others: what it shows
/// did happen, whatever else may have, so that other causes are looked for beside it.
inline constexpr double weight_if_shown = 1e5;

/// A number that a cause has: "at 0.25 of its rate".
struct CauseParameter {
  std::string text;            ///< with {} for the value: "at {} of its rate"
  std::vector<double> values;  ///< to try, rising; those between are possible if `continuous`
  bool continuous = true;
  double max = 1;  ///< of any value that is tried
  /// The range in which the value mostly is, if the cause alone says so: host memory moves data at
  /// about its rate.
  std::optional<std::pair<double, double>> usual{};
  double min = 0;  ///< of any value that is tried

  /// Whether the number is a share of a rate, which at 1 is healthy; else a latency or a count.
  bool is_share() const { return continuous && max <= 1; }
};

/// A setting that makes a cause, and how it changes the cause's odds where it is set.
struct SettingSign {
  std::string variable;             ///< "NCCL_P2P_LEVEL"
  std::vector<std::string> values;  ///< in lower case; empty: any
  double odds = 1;
};

/// What NCCL's log shows of a cause, and how that changes its odds.
struct LineSign {
  std::string line;  ///< a word of hypothesis_weights.cpp, "tcp"
  double odds = 1;
};

/// What speaks for a cause and against it, and what else the log says of it.
struct CauseSigns {
  std::vector<SettingSign> settings;
  std::vector<LineSign> lines;  ///< the first that is there counts
  std::string counts;           ///< what the log counts that is the cause's number: "nics"
  std::string names;            ///< what the log names that belongs into the text: "hosts"
};

/// The machines on which a cause that is simulated as another one is possible.
enum class CauseWhere : std::uint8_t {
  anywhere,
  with_rdma,
  without_rdma,
  with_nics,
  on_pcie,
  guessed_nics,
};

/// One row of the table of causes; models/data/causes.yaml says what each field is.
struct CauseRow {
  std::string cause;
  std::string text;
  std::string check;
  std::string remedy;
  bool destroys = false;     ///< whether the remedy ends work or opens a host
  bool is_question = false;  ///< whether it is no fault, but another machine than was guessed
  std::optional<CauseParameter> parameter;
  CauseSigns signs;
  std::string like;   ///< the cause that it is simulated as; empty: by itself
  double weight = 1;  ///< beside that one, before any data
  CauseWhere where = CauseWhere::anywhere;
  std::optional<std::pair<double, double>> usual;  ///< in place of the other one's
  bool usual_of_one_nic = false;                   ///< times the share that one NIC has of all
};

/// The rows of models/data/causes.yaml. Throws InputError.
std::vector<CauseRow> load_causes();

/// The row of a cause that is simulated by itself, or of none, "healthy"; there is one.
const CauseRow& cause_row(const std::vector<CauseRow>& rows, std::string_view cause);

}  // namespace collsim
