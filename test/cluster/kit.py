"""What the end-to-end cases share: the cluster, a koordlet under test, kubectl, cgroup files."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUN = os.environ.get("KOORDLET_CLUSTER_RUN", "/run/koordlet-cluster")
NODE = os.environ.get("KOORDLET_CLUSTER_NODE", "node1")
CGROUP = "/sys/fs/cgroup"


CASES = []


def case(f):
    """Enters a case into the suite; it gets the daemon under test."""
    CASES.append(f)
    return f


def figure(text):
    print(f"    {text}", flush=True)


class Failure(Exception):
    """A case that did not show what it must."""


def check(condition, message):
    if not condition:
        raise Failure(message)


def until(seconds, what, probe, pause=0.05):
    """Waits for a probe to give something true, and returns it."""
    end = time.monotonic() + seconds
    while True:
        last = probe()
        if last:
            return last
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(pause)


def percentile(values, percent):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def cluster(*args):
    subprocess.run([os.path.join(HERE, "cluster"), *args], check=True)


def kubectl(*args, stdin=None, ok=True):
    done = subprocess.run(["kubectl", "--kubeconfig", f"{RUN}/admin.kubeconfig", *args],
                          input=stdin, capture_output=True, text=True)
    if ok and done.returncode != 0:
        raise Failure(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout if done.returncode == 0 else ""


def apply(*objects):
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def get(*args):
    text = kubectl("get", *args, "-o", "json", ok=False)
    return json.loads(text) if text else None


def pod(name, command="sleep 100000", labels=None, annotations=None, resources=None):
    """A pod of this node that needs no network and no scheduler."""
    spec = {
        "hostNetwork": True, "nodeName": NODE, "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "busybox:local", "imagePullPolicy": "Never",
                        "command": ["sh", "-c", command], "resources": resources or {}}],
    }
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels or {},
                         "annotations": annotations or {}},
            "spec": spec}


def node_slo(spec):
    return {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO",
            "metadata": {"name": NODE}, "spec": spec}


def without_slo():
    kubectl("delete", "nodeslo", NODE, "--ignore-not-found")


BURN = "while :; do :; done"


def running(name):
    p = get("pod", name)
    statuses = (p or {}).get("status", {}).get("containerStatuses", [])
    return p if statuses and all("running" in s["state"] for s in statuses) else None


def delete_pods(*names):
    if names:
        kubectl("delete", "pod", "--ignore-not-found", "--grace-period=0", "--force", "--wait=false", *names)
    until(60, f"pods gone: {names}", lambda: not any(get("pod", n) for n in names), 0.2)


class Koordlet:
    """One daemon with its own folder, as the chart's ServiceAccount."""

    def __init__(self, binary, extra=(), kubeconfig=f"{RUN}/koordlet.kubeconfig", folder=None):
        self.binary, self.extra, self.kubeconfig = binary, list(extra), kubeconfig
        self.folder = folder or tempfile.mkdtemp(prefix="koordlet-e2e-")
        self.socket = f"{self.folder}/koordlet.sock"
        self.process = None

    def log(self):
        path = f"{self.folder}/log"
        return open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""

    def start(self):
        settings = {
            "states.source": "kubernetes", "states.node_name": NODE, "api.kubeconfig": self.kubeconfig,
            "store.folder": f"{self.folder}/store", "status.socket": self.socket,
            "status.listen": "", "collect.interval": "10s",
        }
        args = [self.binary, "run"]
        for key, value in settings.items():
            args += ["--set", f"{key}={value}"]
        for item in self.extra:
            args += ["--set", item]
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(args, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=20)
        self.process = None
        return code

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def api(self, path):
        """A JSON answer of the REST API; None while nothing answers."""
        connection = http.client.HTTPConnection("localhost", timeout=5)
        try:
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(5)
            connection.sock.connect(self.socket)
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            return json.loads(body) if body.startswith((b"{", b"[")) else body.decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def status(self):
        return self.api("/api/v1/status") or {}

    def ready(self):
        return self.status().get("ready") is True

    def pod_names(self):
        names, more = set(), ""
        while True:
            page = self.api("/api/v1/pods?limit=500" + more)
            if page is None:
                return names
            names |= {p["name"] for p in page["items"]}
            if not page.get("continue"):
                return names
            more = f"&continue={page['continue']}"

    def resource(self, name):
        for r in self.status().get("resources", []):
            if r["name"] == name:
                return r
        return {}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read().strip()


def quota(pod_uid, tier="besteffort"):
    """CPU quota in us of a pod's cgroup; -1: none. Both drivers and cgroup versions of this kernel."""
    return int(read(f"{CGROUP}/cpu/kubepods/{tier}/pod{pod_uid}/cpu.cfs_quota_us"))


def root_quota():
    return int(read(f"{CGROUP}/cpu/kubepods/besteffort/cpu.cfs_quota_us"))
