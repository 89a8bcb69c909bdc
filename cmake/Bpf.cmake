# The BPF programs of src/kernel/bpf: each x.bpf.c becomes a header <x.skel.h> in the build tree that holds the program
# and a typed way to load it. Only the names of kernel fields are compiled in, so one build fits all kernels.
find_program(BPF_CLANG NAMES clang-14 clang REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin /usr/local/sbin REQUIRED)

set(folder ${PROJECT_SOURCE_DIR}/src/kernel/bpf)
set(out ${CMAKE_BINARY_DIR}/bpf)
file(MAKE_DIRECTORY ${out})
set(BPF_FLAGS -target bpf -g -O2 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter
  -I ${folder} -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})

file(GLOB programs CONFIGURE_DEPENDS ${folder}/*.bpf.c)
set(skeletons "")
foreach(program IN LISTS programs)
  get_filename_component(name ${program} NAME_WE)
  # The second step merges into one object and leaves the debug sections out; what CO-RE needs stays.
  add_custom_command(OUTPUT ${out}/${name}.skel.h
    COMMAND ${BPF_CLANG} ${BPF_FLAGS} -MD -MF ${out}/${name}.d -MT ${out}/${name}.skel.h -c ${program} -o ${out}/${name}.o
    COMMAND ${BPFTOOL} gen object ${out}/${name}.bpf.o ${out}/${name}.o
    COMMAND ${BPFTOOL} gen skeleton ${out}/${name}.bpf.o name ${name}_bpf > ${out}/${name}.skel.h
    DEPENDS ${program} DEPFILE ${out}/${name}.d COMMENT "BPF program ${name}" VERBATIM)
  list(APPEND skeletons ${out}/${name}.skel.h)
endforeach()

add_custom_target(koordlet_bpf DEPENDS ${skeletons})
add_dependencies(koordlet_kernel koordlet_bpf)
# A system folder: the generated code is not held to our warnings.
target_include_directories(koordlet_kernel SYSTEM PRIVATE ${out})
