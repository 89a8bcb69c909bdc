#include "kernel/bpf_library.hpp"

#include <cerrno>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::kernel;

TEST_SUITE("kernel/bpf_library") {
  TEST_CASE("kernel releases read as versions that compare") {
    CHECK(parse_kernel_version("6.1.0-18-amd64") == KernelVersion{6, 1});
    CHECK(parse_kernel_version("6.12.117+deb13-cloud-amd64") == KernelVersion{6, 12});
    CHECK(parse_kernel_version("6.18-rc1") == KernelVersion{6, 18});
    CHECK(parse_kernel_version("7.0") == KernelVersion{7, 0});
    CHECK(KernelVersion{6, 9} < KernelVersion{6, 16});
    CHECK(KernelVersion{5, 19} < KernelVersion{6, 0});
  }
  TEST_CASE("other texts are the version zero, which is older than all") {
    for (const char* text : {"", ".", "6", "6.", "a.b", "-6.1", "6.-1", "99999999999.1"}) {
      CAPTURE(text);
      CHECK(parse_kernel_version(text) == KernelVersion{});
    }
  }
  TEST_CASE("an error names step and cause: the first warning, not the last") {
    BpfMessages messages;
    messages.add("libbpf: prog 'x': failed to find kernel BTF type ID of 'nothing': -3\n");
    messages.add("libbpf: failed to load object 'y'\n");
    const auto e = messages.error(-ESRCH, "probe", "load");
    CHECK(e.code == Errc::kNotSupported);
    CHECK(e.context.starts_with("probe: load: "));
    CHECK(e.context.ends_with(": prog 'x': failed to find kernel BTF type ID of 'nothing': -3"));
  }
  TEST_CASE("of a verifier log the last word is kept") {
    BpfMessages messages;
    messages.add("libbpf: prog 'x': BPF program load failed: Permission denied\n");
    messages.add(
        "libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n"
        "0: R1=ctx(off=0,imm=0) R10=fp0\n"
        "; if (p) return p->y;\n"
        "5: (85) call bpf_task_storage_get#156\n"
        "R2 type=scalar expected=ptr_, trusted_ptr_, rcu_ptr_\n"
        "processed 6 insns (limit 1000000) max_states_per_insn 0\n"
        "-- END PROG LOAD LOG --\n");
    const auto e = messages.error(-EACCES, "probe", "load");
    CHECK(e.code == Errc::kNotSupported);
    CHECK(e.context.ends_with(
        "Permission denied: R2 type=scalar expected=ptr_, trusted_ptr_, rcu_ptr_"));
  }
  TEST_CASE("no rights and no memory are not a lack of the kernel") {
    const BpfMessages messages;
    CHECK(messages.error(-EPERM, "probe", "load").code == Errc::kDenied);
    CHECK(messages.error(EPERM, "probe", "load").code == Errc::kDenied);
    CHECK(messages.error(-ENOMEM, "probe", "load").code == Errc::kBusy);
    CHECK(messages.error(-EMFILE, "probe", "load").code == Errc::kBusy);
  }
  TEST_CASE("an endless message is cut") {
    BpfMessages messages;
    messages.add(std::string(100'000, 'x') + "\n");
    CHECK(messages.error(-EINVAL, "probe", "load").context.size() < 500);
  }
  TEST_CASE("a message of many lines becomes one") {
    BpfMessages messages;
    messages.add("libbpf: a\nb\n");
    CHECK(messages.error(-EINVAL, "probe", "load").context.ends_with(": a b"));
  }
}
