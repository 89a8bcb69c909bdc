# proto/*.proto become code in the build tree, compiled once with the warnings of generated code off.
set(KOORDLET_PROTO_DIR ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${KOORDLET_PROTO_DIR})
file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/*.proto)
set(proto_sources "")
foreach(proto IN LISTS protos)
  get_filename_component(name ${proto} NAME_WE)
  add_custom_command(
    OUTPUT ${KOORDLET_PROTO_DIR}/${name}.pb.cc ${KOORDLET_PROTO_DIR}/${name}.pb.h
    COMMAND protobuf::protoc --cpp_out=${KOORDLET_PROTO_DIR} -I ${PROJECT_SOURCE_DIR}/proto ${name}.proto
    DEPENDS ${proto})
  list(APPEND proto_sources ${KOORDLET_PROTO_DIR}/${name}.pb.cc)
endforeach()
add_library(koordlet_proto STATIC ${proto_sources})
target_include_directories(koordlet_proto SYSTEM PUBLIC ${KOORDLET_PROTO_DIR})
target_link_libraries(koordlet_proto PUBLIC protobuf::libprotobuf-lite)
