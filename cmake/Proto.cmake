# proto/*.proto become code in the build tree, compiled once with the warnings of generated code off.
set(KOORDLET_PROTO_DIR ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${KOORDLET_PROTO_DIR})
add_custom_command(
  OUTPUT ${KOORDLET_PROTO_DIR}/cri.pb.cc ${KOORDLET_PROTO_DIR}/cri.pb.h
  COMMAND protobuf::protoc --cpp_out=${KOORDLET_PROTO_DIR} -I ${PROJECT_SOURCE_DIR}/proto cri.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/proto/cri.proto)
add_library(koordlet_proto STATIC ${KOORDLET_PROTO_DIR}/cri.pb.cc)
target_include_directories(koordlet_proto SYSTEM PUBLIC ${KOORDLET_PROTO_DIR})
target_link_libraries(koordlet_proto PUBLIC protobuf::libprotobuf-lite)
