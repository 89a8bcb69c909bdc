# The BPF programs of src/kernel/bpf: each x.bpf.c becomes a header <x.skel.h> in the build tree that holds the program
# and a typed way to load it. Only the names of kernel fields are compiled in, so one build fits all kernels.
find_program(BPF_CLANG NAMES clang-14 clang REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin /usr/local/sbin REQUIRED)

set(BPF_FOLDER ${PROJECT_SOURCE_DIR}/src/kernel/bpf)
set(BPF_OUT ${CMAKE_BINARY_DIR}/bpf)
file(MAKE_DIRECTORY ${BPF_OUT})
set(BPF_FLAGS -target bpf -g -O2 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter
  -I ${BPF_FOLDER} -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})

file(GLOB BPF_PROGRAMS CONFIGURE_DEPENDS ${BPF_FOLDER}/*.bpf.c)
set(BPF_SKELETONS "")
foreach(program IN LISTS BPF_PROGRAMS)
  get_filename_component(name ${program} NAME_WE)
  # The second step merges into one object and leaves the debug sections out; what CO-RE needs stays.
  add_custom_command(OUTPUT ${BPF_OUT}/${name}.skel.h
    COMMAND ${BPF_CLANG} ${BPF_FLAGS} -MD -MF ${BPF_OUT}/${name}.d -MT ${BPF_OUT}/${name}.skel.h -c ${program} -o ${BPF_OUT}/${name}.o
    COMMAND ${BPFTOOL} gen object ${BPF_OUT}/${name}.bpf.o ${BPF_OUT}/${name}.o
    COMMAND ${BPFTOOL} gen skeleton ${BPF_OUT}/${name}.bpf.o name ${name}_bpf > ${BPF_OUT}/${name}.skel.h
    DEPENDS ${program} DEPFILE ${BPF_OUT}/${name}.d COMMENT "BPF program ${name}" VERBATIM)
  list(APPEND BPF_SKELETONS ${BPF_OUT}/${name}.skel.h)
endforeach()

add_custom_target(koordlet_bpf DEPENDS ${BPF_SKELETONS})
add_dependencies(koordlet_kernel koordlet_bpf)
# A system folder: the generated code is not held to our warnings.
target_include_directories(koordlet_kernel SYSTEM PRIVATE ${BPF_OUT})
