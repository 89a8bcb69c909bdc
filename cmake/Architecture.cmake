# The house and its floors. This table is the only place where the allowed edges stand: the build links by it and
# test/check_includes.py reads the file that is written from it. One line a library: name, folder, what it may include.
set(KOORDLET_LIBRARIES
  "base|src/base|"
  "model|src/model|base"
  "kernel|src/kernel|base"
  "reactor|src/reactor|base"
  "net|src/net|base model kernel reactor"
  "store|src/store|base model kernel reactor"
  "k8s|src/k8s|base model kernel reactor net store"
  "runtime|src/runtime|base model kernel reactor net"
  "policy|src/policy|base model"
  "sim|src/sim|base model kernel policy"
  "states_informer|src/modules/states_informer|base model kernel reactor net store k8s policy"
  "metric_advisor|src/modules/metric_advisor|base model kernel reactor net store runtime policy"
  "metric_cache|src/modules/metric_cache|base model kernel reactor net store policy"
  "resource_executor|src/modules/resource_executor|base model kernel reactor net store policy"
  "qos_manager|src/modules/qos_manager|base model kernel reactor net store policy"
  "flight_recorder|src/modules/flight_recorder|base model kernel reactor net store policy"
  "node_reporter|src/modules/node_reporter|base model kernel reactor net store k8s policy"
  "predict_server|src/modules/predict_server|base model kernel reactor net store policy"
  "evictor|src/modules/evictor|base model kernel reactor net store k8s policy"
  "runtime_hooks|src/modules/runtime_hooks|base model kernel reactor net store k8s runtime policy"
  "status_api|src/modules/status_api|base model kernel reactor net store policy"
  "app|src/app|base model kernel reactor net store k8s runtime policy sim states_informer metric_advisor metric_cache resource_executor qos_manager flight_recorder node_reporter predict_server evictor runtime_hooks status_api"
)

# External libraries each floor may use.
set(KOORDLET_EXTERNAL_base fmt::fmt spdlog::spdlog Boost::headers)
set(KOORDLET_EXTERNAL_kernel bpf::bpf pfm::pfm)
set(KOORDLET_EXTERNAL_reactor koordlet_asio)
set(KOORDLET_EXTERNAL_net koordlet_beast koordlet_ssl koordlet_proto nghttp2::nghttp2 Boost::json)
set(KOORDLET_EXTERNAL_store lmdb::lmdb)
set(KOORDLET_EXTERNAL_runtime systemd::systemd koordlet_beast koordlet_proto Boost::json)
set(KOORDLET_EXTERNAL_metric_advisor Boost::json)
set(KOORDLET_EXTERNAL_runtime_hooks Boost::json)
set(KOORDLET_EXTERNAL_k8s Boost::json yaml-cpp)
set(KOORDLET_EXTERNAL_status_api Boost::json prometheus-cpp::core)
set(KOORDLET_EXTERNAL_app Boost::json Boost::program_options tomlplusplus::tomlplusplus)

file(WRITE ${CMAKE_BINARY_DIR}/architecture.txt "")
foreach(line IN LISTS KOORDLET_LIBRARIES)
  string(REPLACE "|" ";" parts "${line}")
  list(GET parts 0 name)
  list(GET parts 1 folder)
  list(LENGTH parts count)
  set(edges "")
  if(count GREATER 2)
    list(GET parts 2 edges)
  endif()
  file(APPEND ${CMAKE_BINARY_DIR}/architecture.txt "${folder}|${edges}\n")

  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  if(name STREQUAL "app")
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  endif()
  set(target koordlet_${name})
  set(deps "")
  string(REPLACE " " ";" edge_list "${edges}")
  foreach(edge IN LISTS edge_list)
    list(APPEND deps koordlet_${edge})
  endforeach()
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC koordlet_options ${deps} ${KOORDLET_EXTERNAL_${name}})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    # Folders that never see Asio keep their compile free of it.
    if(NOT name MATCHES "^(base|model|policy|kernel|sim)$")
      target_precompile_headers(${target} REUSE_FROM koordlet_pch)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE koordlet_options ${deps} ${KOORDLET_EXTERNAL_${name}})
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/src)
  endif()
endforeach()
