#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, test/fuzz/corpus/TARGET/*: whole messages and files as peers and kernels send
them. Each is laid out as the comment above its target's entry says. usage: test/fuzz/seeds.py"""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CUTS = bytes(range(1, 17))


def seed(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field of protobuf: a number, or bytes (text, or a message)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(number, key, value):
    return field(number, field(1, key) + field(2, value))


# Framing of the NRI socket.
REGISTER = field(1, "koordlet_nri") + field(2, "00")
REQUEST = field(1, "nri.pkg.api.v1alpha1.Runtime") + field(2, "RegisterPlugin") + field(3, REGISTER)
TTRPC = struct.pack(">IIBB", len(REQUEST), 1, 1, 0) + REQUEST
RESPONSE = field(2, field(2, 141))
ANSWER = struct.pack(">IIBB", len(RESPONSE), 1, 2, 0) + RESPONSE


def mux(connection, payload):
    return struct.pack(">II", connection, len(payload)) + payload


seed("nri_mux", "register", CUTS + mux(2, TTRPC) + mux(1, ANSWER))
seed("nri_mux", "empty_frame", CUTS + mux(1, b"") + mux(2, b"abc"))
seed("nri_mux", "too_long", CUTS + bytes.fromhex("00000001 0040000b"))
seed("ttrpc", "register", CUTS + TTRPC + ANSWER)
seed("ttrpc", "request", CUTS + REQUEST + field(4, 5_000_000_000))
seed("ttrpc", "status", CUTS + field(1, field(1, 12) + field(2, "no such method")))
seed("ttrpc", "oversized", CUTS + bytes.fromhex("ffffffff 00000001 01 00") + b"abc")

# Messages of NRI.
RESOURCES = field(1, field(1, field(1, 1 << 30) + b"")) + field(
    2, field(1, field(1, 512)) + field(2, field(1, 50_000)) + field(3, field(1, 100_000)) + field(6, "0-3"))
POD = (field(1, "pod1") + field(2, "web") + field(3, "uid-1") + field(4, "default") +
       entry(5, "koordinator.sh/qosClass", "BE") + field(8, field(3, "/kubepods/besteffort/poduid-1")))
CONTAINER = (field(1, "c1") + field(2, "pod1") + field(3, "main") + field(4, 3) + field(8, "A=1") +
             field(11, field(3, RESOURCES) + field(4, field(1, 999))))
seed("nri_messages", "configure", b"\x10" + field(2, "containerd") + field(3, "v2.0.0") + field(5, 2000))
seed("nri_messages", "synchronize", b"\x10" + field(1, POD) + field(2, CONTAINER) + field(3, 1))
seed("nri_messages", "create", b"\x10" + field(1, POD) + field(2, CONTAINER))
seed("nri_messages", "update", b"\x10" + field(1, POD) + field(2, CONTAINER) + field(3, RESOURCES))
seed("nri_messages", "event", b"\x10" + field(1, 5) + field(2, POD) + field(3, CONTAINER))

# Requests of the CRI, behind 64 bytes that make the answer.
CRI_RESOURCES = field(1, 100_000) + field(2, 50_000) + field(3, 512) + field(5, 999)
SANDBOX = (field(1, field(1, "web") + field(2, "uid-1") + field(3, "default")) +
           entry(6, "koordinator.sh/qosClass", "BE") + field(8, field(1, "/kubepods/besteffort/poduid-1")))
CONFIG = (field(1, field(1, "main")) + field(6, field(1, "A") + field(2, "1")) + entry(10, "k", "v") +
          field(15, field(1, CRI_RESOURCES)) + bytes.fromhex("9a0603") + b"xyz")
NOTHING, ALL = bytes(64), bytes([1, 3, 5, 7] * 16)
for name, answer in (("plain", NOTHING), ("answered", ALL)):
    seed("cri_hook_messages", "create_" + name, answer + field(1, "sandbox") + field(2, CONFIG) + field(3, SANDBOX))
    seed("cri_hook_messages", "update_" + name, answer + field(1, "c1") + field(2, CRI_RESOURCES))
seed("cri_hook_messages", "run", NOTHING + field(1, SANDBOX) + field(2, "kata"))

# gRPC and HTTP/2.
seed("grpc", "frame", bytes.fromhex("00 00000003") + b"abc")
seed("grpc", "timeout", b"99999999H")
seed("grpc", "message", b"not%20found: 100%25")
SETTINGS = bytes.fromhex("000000 04 00 00000000")


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


# :method POST, :scheme http, :path /a (literal), as HPACK has them.
HEAD = bytes.fromhex("83 86 04 02") + b"/a"
CALL = frame(1, 4, 1, HEAD) + frame(0, 1, 1, bytes.fromhex("00 00000003") + b"abc")
seed("http2_server", "call", b"\x01\x00" + SETTINGS + CALL)
seed("http2_server", "pieces", b"\x02\x12" + SETTINGS + CALL)
seed("http2_server", "reset", b"\x03\x00" + SETTINGS + frame(1, 4, 1, HEAD) + frame(3, 0, 1, bytes(4)))
seed("http2_server", "goaway", b"\x01\x00" + SETTINGS + frame(7, 0, 0, bytes(8)) + frame(6, 0, 0, bytes(8)))
seed("http2_server", "http1", b"\x01\x01GET / HTTP/1.1\r\nHost: x\r\n\r\n")

# Files of the kernel.
for i, text in enumerate(("max 100000\n", "50000 100000\n", "0-3,8\n", "max\n", "4096\n", "-1\n",
                          "8:16 rbps=1048576 wbps=max riops=max wiops=120\n", "default 100\n8:16 50\n",
                          "8:16 enable=1 ctrl=user rpct=95.00 rlat=5000 wpct=95.00 wlat=5000 min=50.00 max=150.00\n",
                          "    L3:0=fff;1=fff\n    MB:0=100;1=100\n", "GENTLE_FAIR_SLEEPERS NO_HRTICK\n")):
    for kind in range(0, 33, 3):
        seed("cgroup_text", f"file{i}_{kind}", bytes([kind, 8, 16, 0]) + text.encode())
seed("proc_text", "stat", "cpu  10 0 20 300 5 0 1 2 0 0\ncpu0 10 0 20 300 5 0 1 2 0 0\nintr 1\n")
seed("proc_text", "meminfo", "MemTotal:       16 kB\nMemFree:         4 kB\nMemAvailable:    8 kB\n")
seed("proc_text", "psi", "some avg10=0.12 avg60=1.00 avg300=99.99 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n")
seed("proc_text", "diskstats", "   8      16 sdb 10 0 80 5 20 0 160 6 0 7 11 0 0 0 0 0 0\n")
seed("proc_text", "net_dev", "Inter-|   Receive\n face |bytes\n  eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n")
seed("proc_text", "mountinfo", "36 35 8:1 / /mnt\\040a rw shared:1 - ext4 /dev/sda1 rw,errors=continue\n")
seed("proc_text", "io_stat", "8:16 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n")
seed("proc_text", "blkio", "8:16 Read 1\n8:16 Write 2\nTotal 3\n8:16 Read 1\n8:16 Write 2\nTotal 3\n")
seed("proc_text", "numa", "Node 0 MemTotal: 16 kB\nNode 0 MemFree: 4 kB\nNode 0 Active(file): 1 kB\n"
     "Node 0 Inactive(file): 1 kB\nNode 0 SReclaimable: 1 kB\n")
seed("proc_text", "numa_stat", "anon N0=4096 N1=0\nfile N0=8192 N1=0\n")
seed("proc_text", "numa_stat_v1", "hierarchical_total=3 N0=1 N1=2\n")
seed("proc_text", "cpu_stat", "usage_usec 12\nuser_usec 3\nnr_throttled 4\n")
seed("proc_text", "schedstat", "123456 789 10\n")

# Texts of Kubernetes.
for i, text in enumerate(("1500m", "0.5", "2", "1Gi", "1e3", "-1.5Ki", "128974848", "9223372036854775807", "5m0s",
                          "1h30m", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 5949 08:49:37 GMT",
                          "https://127.0.0.1:6443/a", "https://[::1]:6443", "YWJj", "1.5e-3")):
    seed("quantity", f"text{i}", text)
POD_YAML = """apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, uid: uid-1, labels: {koordinator.sh/qosClass: BE}}
spec:
  nodeName: n1
  containers:
  - name: main
    resources: {requests: {cpu: 500m, memory: 1Gi, kubernetes.io/batch-cpu: 1000}, limits: {cpu: "1"}}
status: {phase: Running, qosClass: Burstable}
"""
seed("manifest", "pod", POD_YAML)
seed("manifest", "node", '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"capacity":'
     '{"cpu":"16","memory":"64Gi"},"allocatable":{"cpu":"15500m","kubernetes.io/batch-cpu":4000}}}')
seed("manifest", "slo", """apiVersion: slo.koordinator.sh/v1alpha1
kind: NodeSLO
metadata: {name: n1}
spec:
  resourceUsedThresholdWithBE: {enable: true, cpuSuppressThresholdPercent: 65, memoryEvictThresholdPercent: 70}
  cpuBurstStrategy: {policy: auto, cpuBurstPercent: 1000}
  systemStrategy: {minFreeKbytesFactor: 100}
  resourceQOSStrategy: {beClass: {memoryQOS: {enable: true, lowLimitPercent: 50}, resctrlQOS: {catRangeEndPercent: 30}}}
""")
seed("manifest", "list", '{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}{"kind":"Node"}')
seed("manifest", "alias", "a: &x [1, 2]\nb: *x\n---\nc: ~\n")
seed("annotations", "spec", '{"containers":{"main":{"requests":{"kubernetes.io/batch-cpu":"1000"},'
     '"limits":{"kubernetes.io/batch-memory":"1Gi"}}}}')
seed("annotations", "status", '{"cpuset":"0-3","numaNodeResources":[{"node":0,"resources":{"cpu":"4"}}]}')
seed("annotations", "devices", '{"gpu":[{"minor":0,"id":"GPU-1","resources":{"koordinator.sh/gpu-core":"100"}}],"rdma":[{"minor":1}]}')
seed("annotations", "oom", '{"main":-500}')
seed("annotations", "oom_plain", "-500")
seed("watch_lines", "events", CUTS + b'{"type":"ADDED"}\r\n\n{"type":"BOOKMARK"}\n{"ty')
seed("watch_lines", "long", CUTS + b"x" * 41 + b"\n")
seed("http_request", "get", "GET /api/v1/pods/uid-1?a=b%20c HTTP/1.1\r\nHost: localhost:6060\r\n\r\n")
seed("http_request", "post", "POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://[::1]:1\r\nContent-Length: 2\r\n\r\nab")
seed("http_request", "absolute", "GET http://localhost/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
seed("http_request", "target", "/a/%2e%2e/b?c=d")
seed("config", "file", '[qos]\ninterval = "1s"\nfast_poll = "100ms"\n[qos.pressure]\nmid_percent = 65\n[store]\nfolder = "/x"\n')
seed("config", "faults", "[qos\ninterval = 1s\n[nosuch]\na = 1\n[qos.pressure]\nmid_percent = 0.5\n")
for i, text in enumerate(("true", "65", "1h30m", "64MiB", "none", "/a/b", "127.0.0.1:6060", "restore")):
    seed("config", f"set{i}", text)

# The store.
seed("sample_block", "one", bytes.fromhex("0001 00 0e"))
seed("sample_block", "numbers", b"\0\x05" + b"".join(struct.pack("<q", n) for n in (4096, 8192, -4096, 0, 1 << 62)))
seed("rollup_block", "single", b"\x01\x00\x00\x0e")
seed("rollup_block", "numbers", b"\x03" + bytes(range(60)))
seed("metric_row", "row", bytes.fromhex("01000000 02000000 07000000 10000000 0e 00 04"))
seed("metric_row", "numbers", bytes(range(5, 80)))
seed("seal", "group", b"\0\x07" + bytes.fromhex("02 05 00 01 00 00 01") + b"ab")
seed("seal", "numbers", bytes(range(200)))
