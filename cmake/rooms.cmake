# The map of the house. Each room is a folder of sources, with the rooms whose headers its files may
# include: those that stand above it here, so that no room comes back to itself. Every room may
# include sim/base. The build checks each include against this list (check_rooms.cmake), and
# `cmake --graphviz=rooms.dot` draws it.

set(room_rules "${PROJECT_BINARY_DIR}/rooms.txt")
file(WRITE "${room_rules}.new" "")

# A room, the rooms it NEEDS, and headers INSIDE other rooms that it needs besides.
function(collsim_room room)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "NEEDS;INSIDE")
  string(REPLACE "/" "-" target "${room}")
  add_library(room-${target} INTERFACE)
  foreach(need IN LISTS room_NEEDS)
    string(REPLACE "/" "-" needed "${need}")
    if(NOT TARGET room-${needed})
      message(FATAL_ERROR "${room} needs ${need}, which does not stand above it in rooms.cmake")
    endif()
    target_link_libraries(room-${target} INTERFACE room-${needed})
  endforeach()
  file(APPEND "${room_rules}.new" "${room}: sim/base ${room_NEEDS} ${room_INSIDE}\n")
endfunction()

# The door of the engine: what a study may know of it. Kept as a room of its own, of headers alone.
function(collsim_door)
  add_library(room-door INTERFACE)
  target_link_libraries(room-door INTERFACE room-models-predict)
  file(APPEND "${room_rules}.new" "door: ${ARGN}\n")
endfunction()

# The simulator.
collsim_room(sim/base)
collsim_room(sim/yaml)
collsim_room(sim/topologies NEEDS sim/yaml)
collsim_room(sim/routing NEEDS sim/topologies)
collsim_room(sim/plan NEEDS sim/topologies)
collsim_room(sim/algorithms NEEDS sim/yaml sim/topologies sim/plan)
collsim_room(sim/nccl NEEDS sim/topologies sim/plan sim/algorithms)
collsim_room(sim/fabric NEEDS sim/topologies)
collsim_room(sim/cost NEEDS sim/topologies sim/plan)
collsim_room(sim/execution NEEDS sim/topologies sim/plan sim/nccl sim/fabric sim/cost)

# What runs on a machine, and how long it takes.
collsim_room(models/machine NEEDS sim/topologies sim/routing sim/plan sim/nccl sim/cost
  sim/execution)
collsim_room(models/nccl/settings NEEDS sim/plan sim/nccl sim/cost)
collsim_room(models/nccl/system NEEDS sim/topologies models/machine models/nccl/settings)
collsim_room(models/nccl/search NEEDS sim/algorithms sim/nccl models/nccl/settings
  models/nccl/system)
collsim_room(models/nccl/tuning NEEDS models/nccl/settings models/nccl/system models/nccl/search)
collsim_room(models/nccl/symmetric NEEDS sim/topologies sim/nccl models/nccl/settings
  models/nccl/tuning)
collsim_room(models/nccl NEEDS sim/topologies sim/nccl sim/cost models/machine models/nccl/settings
  models/nccl/system models/nccl/search models/nccl/tuning models/nccl/symmetric)
collsim_room(models/calibration NEEDS sim/yaml sim/topologies sim/cost sim/execution models/machine)
collsim_room(models/bounds NEEDS sim/topologies sim/routing sim/plan sim/algorithms sim/fabric
  sim/cost sim/execution models/machine models/nccl/system)
collsim_room(models/faults NEEDS sim/yaml sim/topologies sim/routing sim/plan sim/cost sim/execution
  models/machine)
collsim_room(models/scenario NEEDS sim/yaml sim/topologies sim/plan sim/algorithms sim/nccl sim/cost
  sim/execution models/nccl/settings models/nccl/tuning models/calibration models/faults)
collsim_room(models/call NEEDS sim/topologies sim/plan sim/algorithms sim/nccl sim/fabric sim/cost
  sim/execution models/machine models/nccl models/calibration models/bounds models/faults
  models/scenario)
collsim_room(models/estimate NEEDS sim/topologies sim/plan sim/algorithms sim/nccl sim/cost
  sim/execution models/machine models/calibration models/call)
collsim_room(models/simulate NEEDS sim/topologies sim/routing sim/plan sim/cost sim/execution
  models/machine models/bounds models/call models/estimate)
collsim_room(models/predict NEEDS models/call models/estimate models/simulate)

# What is read: machines of other tools, recordings, programs of calls, kernels of engines.
collsim_room(models/imports NEEDS sim/topologies models/machine models/nccl/system
  models/calibration)
collsim_room(models/recordings NEEDS sim/yaml sim/topologies sim/plan sim/nccl sim/cost
  models/nccl/settings)
collsim_room(models/peer_kernels NEEDS sim/yaml sim/topologies models/machine models/nccl/symmetric
  models/nccl models/calibration models/call models/predict)
collsim_room(models/program NEEDS sim/yaml sim/topologies sim/routing sim/plan sim/algorithms
  sim/execution models/calibration models/call models/predict)
collsim_room(models/validation NEEDS sim/yaml sim/topologies sim/cost models/machine
  models/nccl/settings models/bounds models/recordings models/call models/predict)

collsim_door(
  # machines and their faults
  sim/topologies/topology.h sim/topologies/loader.h sim/topologies/cluster_name.h
  sim/topologies/name_run.h sim/topologies/topology_writer.h sim/routing/routing.h
  models/machine/gpu_model.h models/faults/fault.h models/faults/machine_faults.h
  sim/execution/machine_events.h
  # calls, and the words of their settings
  sim/plan/collective.h sim/plan/protocol.h sim/plan/plan.h sim/plan/steps.h
  sim/algorithms/registry.h sim/algorithms/written_schedule.h sim/nccl/nccl_plan.h
  models/nccl/settings/function.h models/nccl/settings/version.h
  models/nccl/settings/environment.h models/nccl/settings/variable_reach.h
  models/nccl/tuning/reduction.h models/nccl/symmetric_setting.h models/nccl/choice.h
  models/call/call_spec.h models/call/rank_gpus.h models/call/call_compiler.h
  # predictions, what happens in them, and how far to trust them
  sim/fabric/engine.h sim/cost/calibration.h sim/cost/trust.h models/simulate/method.h
  models/predict/predictor.h models/call/prediction.h sim/execution/effort.h
  sim/execution/execution.h sim/execution/executor.h sim/execution/timeline.h
  models/machine/resource_load.h models/machine/resource_table.h)

# What every question starts from: readers, the command line and the answer.
set(reading sim/yaml door models/calibration models/scenario models/imports models/recordings
  models/peer_kernels models/program models/validation)
set(asking ${reading} tools/collsim/core tools/collsim/request tools/collsim/report)
collsim_room(tools/collsim/core NEEDS ${reading})
collsim_room(library NEEDS ${reading} tools/collsim/core)
collsim_room(tools/collsim/request NEEDS ${reading} tools/collsim/core
  INSIDE sim/algorithms/schedule_fault.h sim/topologies/alpha_beta.h
  models/machine/gpu_generation.h)
collsim_room(tools/collsim/report NEEDS ${reading} tools/collsim/core tools/collsim/request)

# A study is a question whole: its model, options and answer.
collsim_room(tools/collsim/advise NEEDS ${asking}
  INSIDE sim/nccl/nccl_variable.h models/simulate/call_cache.h)
collsim_room(tools/collsim/check NEEDS ${asking}
  INSIDE sim/plan/checker.h sim/nccl/nccl_point_to_point.h)
collsim_room(tools/collsim/choose NEEDS ${asking}
  INSIDE models/nccl/symmetric/symmetric_kernel.h models/nccl/system/system_topology.h
  models/nccl/system/system_xml.h)
collsim_room(tools/collsim/crossover NEEDS ${asking} INSIDE models/nccl/tuning/tuner_file.h)
collsim_room(tools/collsim/diagnose NEEDS ${asking})
collsim_room(tools/collsim/calibrate NEEDS ${asking} tools/collsim/diagnose
  INSIDE sim/cost/constants.h)
collsim_room(tools/collsim/estimate NEEDS ${asking})
collsim_room(tools/collsim/expect NEEDS ${asking})
collsim_room(tools/collsim/explain NEEDS ${asking}
  INSIDE models/bounds/critical_path.h models/call/memory_need.h models/nccl/user_registration.h)
collsim_room(tools/collsim/faults NEEDS ${asking}
  INSIDE models/faults/link_classes.h sim/fabric/native_fabric.h)
collsim_room(tools/collsim/hang NEEDS ${asking})
collsim_room(tools/collsim/moe NEEDS ${asking} INSIDE models/simulate/unlike_messages.h)
collsim_room(tools/collsim/run NEEDS ${asking})
collsim_room(tools/collsim/sweep NEEDS ${asking} INSIDE sim/topologies/template_path.h)
collsim_room(tools/collsim/topo NEEDS ${asking}
  INSIDE models/machine/odd_links.h models/machine/slot_limits.h
  models/nccl/system/system_topology.h models/nccl/system/system_xml.h
  sim/topologies/node_template.h)
collsim_room(tools/collsim/trace NEEDS ${asking})
collsim_room(tools/collsim/steps NEEDS ${asking} tools/collsim/trace
  INSIDE models/bounds/traffic_formula.h sim/algorithms/msccl_xml.h)
collsim_room(tools/collsim/view NEEDS ${asking} tools/collsim/trace)
collsim_room(tools/collsim/traces NEEDS tools/collsim/core)
collsim_room(tools/collsim/train NEEDS ${asking} tools/collsim/traces)
collsim_room(tools/collsim/list NEEDS ${asking} tools/collsim/train)
collsim_room(tools/collsim/plan NEEDS ${asking} tools/collsim/moe tools/collsim/train
  INSIDE models/estimate/small_cluster.h)
collsim_room(tools/collsim/complete NEEDS ${asking} tools/collsim/plan tools/collsim/train)
collsim_room(tools/collsim/replay NEEDS ${asking} tools/collsim/traces tools/collsim/train)
collsim_room(tools/collsim/watch NEEDS ${asking})
collsim_room(tools/collsim/validate NEEDS ${asking} tools/collsim/crossover
  tools/collsim/diagnose)
collsim_room(tools/collsim NEEDS tools/collsim/core)

file(COPY_FILE "${room_rules}.new" "${room_rules}" ONLY_IF_DIFFERENT)
file(GLOB_RECURSE room_files CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/sim/*.cpp" "${PROJECT_SOURCE_DIR}/sim/*.h"
  "${PROJECT_SOURCE_DIR}/models/*.cpp" "${PROJECT_SOURCE_DIR}/models/*.h"
  "${PROJECT_SOURCE_DIR}/library/*.cpp" "${PROJECT_SOURCE_DIR}/library/*.h"
  "${PROJECT_SOURCE_DIR}/tools/collsim/*.cpp" "${PROJECT_SOURCE_DIR}/tools/collsim/*.h")
add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/rooms.checked"
  COMMAND "${CMAKE_COMMAND}" -P "${PROJECT_SOURCE_DIR}/cmake/check_rooms.cmake"
    "${room_rules}" "${PROJECT_SOURCE_DIR}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${PROJECT_BINARY_DIR}/rooms.checked"
  DEPENDS "${room_rules}" "${PROJECT_SOURCE_DIR}/cmake/check_rooms.cmake" ${room_files}
  COMMENT "Checking that no file includes a room that its own may not" VERBATIM)
add_custom_target(check-rooms ALL DEPENDS "${PROJECT_BINARY_DIR}/rooms.checked")
