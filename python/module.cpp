// The Python module: predictions as NumPy arrays, and every subcommand's answer as the document of
// `--format json`.

#include <collsim/collsim.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace py = pybind11;
namespace api = collsim::api;

namespace {

template <typename Value>
py::array_t<Value> column(const std::vector<api::Prediction>& rows, Value api::Prediction::*field) {
  py::array_t<Value> values(static_cast<py::ssize_t>(rows.size()));
  auto cells = values.template mutable_unchecked<1>();
  py::ssize_t at = 0;
  for (const api::Prediction& row : rows) cells(at++) = row.*field;
  return values;
}

py::list texts(const std::vector<api::Prediction>& rows, std::string api::Prediction::*field) {
  py::list values;
  for (const api::Prediction& row : rows) values.append(row.*field);
  return values;
}

/// NaN where NCCL tunes no such call.
py::array_t<double> nccl_estimates(const std::vector<api::Prediction>& rows) {
  py::array_t<double> values(static_cast<py::ssize_t>(rows.size()));
  auto cells = values.mutable_unchecked<1>();
  py::ssize_t at = 0;
  for (const api::Prediction& row : rows) {
    cells(at++) = row.nccl_estimate_us.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

py::dict columns_of(const std::vector<api::Prediction>& rows) {
  py::dict columns;
  columns["bytes"] = column(rows, &api::Prediction::bytes);
  columns["time_us"] = column(rows, &api::Prediction::time_us);
  columns["algbw_gb_s"] = column(rows, &api::Prediction::algbw_gb_s);
  columns["busbw_gb_s"] = column(rows, &api::Prediction::busbw_gb_s);
  columns["bound_us"] = column(rows, &api::Prediction::bound_us);
  columns["nccl_estimate_us"] = nccl_estimates(rows);
  columns["algorithm"] = texts(rows, &api::Prediction::algorithm);
  columns["protocol"] = texts(rows, &api::Prediction::protocol);
  columns["channels"] = column(rows, &api::Prediction::channels);
  columns["trust"] = texts(rows, &api::Prediction::trust);
  return columns;
}

std::vector<api::Prediction> simulate_unlocked(const api::Machine& machine, const api::Call& call,
                                               const std::vector<std::int64_t>& sizes,
                                               const std::string& engine) {
  const py::gil_scoped_release others_may_run;
  return api::simulate(machine, call, sizes, engine);
}

std::vector<api::Prediction> estimate_unlocked(const api::Machine& machine, const api::Call& call,
                                               const std::vector<std::int64_t>& sizes) {
  const py::gil_scoped_release others_may_run;
  return api::estimate(machine, call, sizes);
}

/// The exit code, output and messages of `collsim WORD...`.
std::tuple<int, std::string, std::string> ask(const std::vector<std::string>& words) {
  const py::gil_scoped_release others_may_run;
  std::vector<const char*> given;
  for (const std::string& word : words) given.push_back(word.c_str());
  char* output = nullptr;
  const int status = collsim_ask(given.data(), given.size(), &output);
  std::string text = output == nullptr ? "" : output;
  collsim_free_text(output);
  return {status, std::move(text), collsim_error_message()};
}

}  // namespace

PYBIND11_MODULE(_collsim, module) {
  module.attr("version") = collsim_version();
  // Wrong input is a ValueError, as Python's own functions have it.
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::logic_error&) {
      throw;
    } catch (const std::runtime_error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  py::class_<api::Machine>(module, "Machine", py::dynamic_attr())
      .def_readonly("name", &api::Machine::name)
      .def_readonly("calibration", &api::Machine::calibration)
      .def_readonly("gpus", &api::Machine::gpus)
      .def_readonly("warnings", &api::Machine::warnings);
  py::class_<api::Call>(module, "Call")
      .def(py::init<>())
      .def_readwrite("collective", &api::Call::collective)
      .def_readwrite("schedule", &api::Call::schedule)
      .def_readwrite("algorithm", &api::Call::algorithm)
      .def_readwrite("protocol", &api::Call::protocol)
      .def_readwrite("variables", &api::Call::variables)
      .def_readwrite("ranks", &api::Call::ranks)
      .def_readwrite("root", &api::Call::root);
  module.def("load_machine", &api::load_machine);
  module.def("simulate", [](const api::Machine& machine, const api::Call& call,
                            const std::vector<std::int64_t>& sizes, const std::string& engine) {
    return columns_of(simulate_unlocked(machine, call, sizes, engine));
  });
  module.def("estimate", [](const api::Machine& machine, const api::Call& call,
                            const std::vector<std::int64_t>& sizes) {
    return columns_of(estimate_unlocked(machine, call, sizes));
  });
  module.def("ask", &ask);
  module.def("collective_names", &api::collective_names);
  module.def("algorithm_names", &api::algorithm_names);
  module.def("engine_names", &api::engine_names);
  module.def("machine_names", &api::machine_names);
  module.def("calibration_names", &api::calibration_names);
}
