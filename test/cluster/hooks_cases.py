"""Containers that have their values with their first instruction: by NRI, by the CRI proxy, and with restarts."""
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

import kit
from kit import Koordlet, apply, case, check, figure, get, kubectl, node_slo, pod, running, until, without_slo

KUBELET_HEALTH = int(os.environ.get("KOORDLET_CLUSTER_KUBELET_PORT", "20250")) + 2
# Prints its own cgroup's values first of all.
FIRST = "cat /sys/fs/cgroup/cpu/cpu.shares /sys/fs/cgroup/memory/memory.limit_in_bytes; sleep 100000"
BATCH = {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "64Mi"}
BE_VALUES = ["512", str(64 * 2**20)]  # 500 milli CPU as shares, the batch memory
LS_VALUES = ["10", str(32 * 2**20)]   # 10 milli CPU, the memory limit


def be_pod(name):
    return pod(name, FIRST, {"koordinator.sh/qosClass": "BE"}, resources={"requests": BATCH, "limits": BATCH})


def ls_pod(name):
    own = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}}
    return pod(name, FIRST, {"koordinator.sh/qosClass": "LS"}, resources=own)


def printed(name):
    uid = get("pod", name)["metadata"]["uid"]
    path = f"/var/log/pods/default_{name}_{uid}/main/0.log"
    return [line.split(" ", 3)[3].strip() for line in kit.read(path).splitlines()] if os.path.exists(path) else []


def hooks_ready(k):
    return k.status().get("hooks", {}).get("state") == "ready"


def hundred_pods(k):
    """50 BE and 50 LS pods: all have printed the right values."""
    pods = {f"be-{i:02}": (be_pod(f"be-{i:02}"), BE_VALUES) for i in range(50)}
    pods |= {f"ls-{i:02}": (ls_pod(f"ls-{i:02}"), LS_VALUES) for i in range(50)}
    try:
        # Off: under the caps of a node that starts 100 pods they would take minutes to start.
        apply(node_slo({"resourceUsedThresholdWithBE": {"enable": False}}))
        until(15, "the hooks are ready", lambda: hooks_ready(k))
        apply(*[p for p, _ in pods.values()])
        wrong = []
        for name, (_, expected) in pods.items():
            found = until(300, f"{name} has printed", lambda n=name: len(printed(n)) == 2 and printed(n), 0.5)
            if found != expected:
                wrong.append(f"{name}: {found}, expected {expected}")
        figure(f"right {len(pods) - len(wrong)}/{len(pods)}")
        hooks = k.status()["hooks"]
        figure("longest answer {longest_answer_us} us, {events} events, {unknown_pods} of pods that the state did not know"
               .format(**hooks))
        check(not wrong, "; ".join(wrong[:3]))
    finally:
        without_slo()
        kit.delete_pods(*pods)


@case
def runtime_hooks(k):
    """50 BE and 50 LS pods: every container finds its values in its cgroup with its first instruction"""
    hundred_pods(k)


class Proxy:
    """koordlet cri-proxy between this cluster's kubelet and containerd, and a daemon that it asks."""

    def __init__(self, k):
        self.k = k
        self.socket, self.hooks = f"{kit.RUN}/cri.sock", f"{kit.RUN}/cri-hooks.sock"
        self.process, self.daemon = None, None

    def start(self):
        with open(f"{kit.RUN}/cri-proxy.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.k.binary, "cri-proxy", "--listen", self.socket, "--runtime", f"{kit.RUN}/containerd.sock",
                 "--hooks", self.hooks], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until(5, "the proxy listens", lambda: os.path.exists(self.socket))

    def __enter__(self):
        self.k.stop()  # one daemon at a time, and this one is no plugin of containerd
        self.start()
        self.daemon = Koordlet(self.k.binary, [*[e for e in self.k.extra if not e.startswith("hooks.socket=")],
                                               f"hooks.socket={self.hooks}"], folder=self.k.folder).start()
        try:
            self.kubelet(self.socket)
            until(20, "koordlet is ready", self.daemon.ready)
        except kit.Failure:
            self.__exit__()
            raise
        return self

    def kubelet(self, endpoint):
        subprocess.run([f"{kit.HERE}/cluster", "restart", "kubelet"], check=True,
                       env={**os.environ, "KUBELET_RUNTIME_ENDPOINT": f"unix://{endpoint}"})
        until(60, "kubelet is well", kubelet_is_well, 0.5)

    def __exit__(self, *_):
        self.kubelet(f"{kit.RUN}/containerd.sock")
        self.daemon.stop()
        self.process.terminate()
        self.process.wait(timeout=20)
        print("\n".join("    " + line for line in kit.read(f"{kit.RUN}/cri-proxy.log").splitlines()[-20:]))
        self.k.start()
        until(20, "koordlet is ready", self.k.ready)


def kubelet_is_well():
    """The node itself never becomes ready here: there is no network plugin."""
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{KUBELET_HEALTH}/healthz", timeout=2).status == 200
    except OSError:
        return False


@case
def cri_proxy(k):
    """the same with kubelet on the proxy's socket; exec, logs, attach and port-forward work through it"""
    with Proxy(k) as proxy:
        hundred_pods(proxy.daemon)
        server = "echo ready; exec busybox httpd -f -p 127.0.0.1:18080 -h /etc"
        try:
            apply(pod("web", server, {"koordinator.sh/qosClass": "LS"}))
            until(60, "web runs", lambda: running("web"))
            check(kubectl("exec", "web", "--", "echo", "hello").strip() == "hello", "exec answers")
            check("ready" in until(10, "logs come", lambda: kubectl("logs", "web", ok=False)), "logs have the line")
            forward(18080, 18081)
            attach_says("web")
            figure("exec, logs, port-forward and attach work")
        finally:
            kit.delete_pods("web")
        bench = os.path.join(os.path.dirname(proxy.daemon.binary), "test/bench_cri_live")
        if os.path.exists(bench):
            kit.cluster("stop", "kubelet")  # it ends sandboxes that it did not make
            for line in kit.run(bench, f"{kit.RUN}/containerd.sock", proxy.socket, "docker.io/library/busybox:local",
                                "100").splitlines():
                figure(line)


def forward(port, local):
    with subprocess.Popen(["kubectl", "--kubeconfig", f"{kit.RUN}/admin.kubeconfig", "port-forward", "web",
                           f"{local}:{port}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tunnel:
        try:
            line = tunnel.stdout.readline()
            check("Forwarding" in line, f"port-forward listens: {line}")

            def code():
                try:
                    return urllib.request.urlopen(f"http://127.0.0.1:{local}/none", timeout=5).status
                except urllib.error.HTTPError as e:
                    return e.code
            check(code() == 404, "the pod's server answers through port-forward")
        finally:
            tunnel.terminate()


def attach_says(name):
    """An attached terminal stays open, and ends when it is told to."""
    with subprocess.Popen(["kubectl", "--kubeconfig", f"{kit.RUN}/admin.kubeconfig", "attach", name],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as attached:
        time.sleep(2)
        check(attached.poll() is None, "attach holds on")
        attached.terminate()


class Load:
    """Starts BE and LS pods one after the other, until it is told to stop."""

    def __init__(self):
        self.pods, self.stopped = {}, threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        for n in range(200):
            if self.stopped.wait(0.5):
                return
            name, make, values = (f"load-{n:03}", be_pod, BE_VALUES) if n % 2 == 0 else (f"load-{n:03}", ls_pod, LS_VALUES)
            apply(make(name))
            self.pods[name] = values

    def __enter__(self):
        self.thread.start()
        return self

    def end(self):
        self.stopped.set()
        self.thread.join()

    def __exit__(self, *_):
        self.end()
        without_slo()
        kit.delete_pods(*self.pods)


def values_now(name):
    """Of the running container's cgroup; None: none runs."""
    p = running(name)
    if not p:
        return None
    uid = p["metadata"]["uid"]
    tier = "besteffort" if p["status"]["qosClass"] == "BestEffort" else "burstable"
    container = p["status"]["containerStatuses"][0]["containerID"].split("://")[1]
    base = f"kubepods/{tier}/pod{uid}/{container}"
    try:
        return [kit.read(f"{kit.CGROUP}/cpu/{base}/cpu.shares"), kit.read(f"{kit.CGROUP}/memory/{base}/memory.limit_in_bytes")]
    except OSError:
        return None


def right_in_the_end(load, seconds):
    """All pods of the load run with their values, at the latest after so long."""
    end = time.monotonic() + seconds
    wrong = dict(load.pods)
    while wrong and time.monotonic() < end:
        wrong = {name: expected for name, expected in wrong.items() if values_now(name) != expected}
        time.sleep(0.2)
    figure(f"right in the end {len(load.pods) - len(wrong)}/{len(load.pods)}")
    check(not wrong, "; ".join(f"{n}: {values_now(n)}, expected {e}" for n, e in list(wrong.items())[:3]))


def restarts_under_load(daemon, after_runtime=lambda: None):
    apply(node_slo({"resourceUsedThresholdWithBE": {"enable": False}}))
    until(15, "the hooks are ready", lambda: hooks_ready(daemon))
    with Load() as load:
        until(60, "the load runs", lambda: len(load.pods) >= 4)
        daemon.stop(signal.SIGKILL)
        time.sleep(5)
        daemon.start()
        until(20, "koordlet is back", daemon.ready)
        until(40, "the hooks are back", lambda: hooks_ready(daemon))
        kit.cluster("kill", "containerd")
        time.sleep(3)
        kit.cluster("start", "containerd")
        after_runtime()
        until(60, "the hooks are back after the runtime", lambda: hooks_ready(daemon))
        time.sleep(5)
        load.end()
        right_in_the_end(load, 180)
        hooks = daemon.status()["hooks"]
        figure("{repaired} repaired at Synchronize, {connections} connections".format(**hooks))
        apply(be_pod("after"))
        try:
            found = until(60, "a pod that starts now has printed", lambda: len(printed("after")) == 2 and printed("after"), 0.3)
            check(found == BE_VALUES, f"a pod that starts now is right: {found}")
        finally:
            kit.delete_pods("after")


@case
def hooks_restart(k):
    """koordlet and containerd killed and restarted while pods start: they keep starting, and end with their values"""
    restarts_under_load(k)


@case
def cri_proxy_restart(k):
    """the same with the CRI proxy between, which is not restarted when the runtime is"""
    with Proxy(k) as proxy:
        restarts_under_load(proxy.daemon)
        check(proxy.process.poll() is None, "the proxy lives")


@case
def batch_resources(k):
    """without NRI the tick writes batch resources, of pods and containers, and takes them back"""
    k.stop()
    daemon = Koordlet(k.binary, [*k.extra, "hooks.nri=false"], folder=k.folder).start()
    try:
        apply(node_slo({"resourceUsedThresholdWithBE": {"enable": False}}))
        until(20, "koordlet is ready", daemon.ready)
        apply(be_pod("batch"))
        uid = until(60, "the pod runs", lambda: running("batch"))["metadata"]["uid"]
        start = time.monotonic()
        until(10, "the container has its values", lambda: values_now("batch") == BE_VALUES, 0.02)
        figure(f"values {time.monotonic() - start:.2f} s after kubelet said that the pod runs")
        base = f"kubepods/besteffort/pod{uid}"
        pod_values = [kit.read(f"{kit.CGROUP}/cpu/{base}/cpu.shares"),
                      kit.read(f"{kit.CGROUP}/memory/{base}/memory.limit_in_bytes")]
        check(pod_values == BE_VALUES, f"the pod's own files: {pod_values}, expected {BE_VALUES}")
        check(kit.quota(uid) == 50000, f"the pod's quota: {kit.quota(uid)}, expected 50000")
        path = f"{kit.CGROUP}/cpu/{base}/cpu.shares"
        with open(path, "w", encoding="utf-8") as f:
            f.write("2")
        until(5, "what another one wrote is put right", lambda: kit.read(path) == "512", 0.02)
        check(daemon.stop() == 0, "exit 0")
        check(kit.read(path) == "2" and kit.quota(uid) == -1, "at the end the files are as kubelet made them")
    finally:
        daemon.stop()
        without_slo()
        kit.delete_pods("batch")
        k.start()
        until(20, "koordlet is ready", k.ready)
