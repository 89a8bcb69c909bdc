# The dashboard: dashboard/* and the chart library become arrays in one generated source of koordlet_status_api.
# The chart library is Debian's libjs-dygraphs; without it there is no page, so configuring ends there.
find_file(DYGRAPHS_JS dygraph.min.js PATHS /usr/share/javascript/dygraphs NO_DEFAULT_PATH)
find_file(DYGRAPHS_CSS dygraph.min.css PATHS /usr/share/javascript/dygraphs NO_DEFAULT_PATH)
if(NOT DYGRAPHS_JS OR NOT DYGRAPHS_CSS)
  message(FATAL_ERROR "libjs-dygraphs is missing (/usr/share/javascript/dygraphs): run scripts/install-deps")
endif()

file(GLOB DASHBOARD_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/dashboard/*.html ${PROJECT_SOURCE_DIR}/dashboard/*.css
  ${PROJECT_SOURCE_DIR}/dashboard/*.js ${PROJECT_SOURCE_DIR}/dashboard/*.svg)
list(APPEND DASHBOARD_FILES ${DYGRAPHS_JS} ${DYGRAPHS_CSS})
set(DASHBOARD_OUT ${CMAKE_BINARY_DIR}/dashboard_assets.cpp)
add_custom_command(OUTPUT ${DASHBOARD_OUT}
  COMMAND ${CMAKE_COMMAND} -D OUT=${DASHBOARD_OUT} "-DFILES=${DASHBOARD_FILES}" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${DASHBOARD_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake COMMENT "dashboard" VERBATIM)
target_sources(koordlet_status_api PRIVATE ${DASHBOARD_OUT})
