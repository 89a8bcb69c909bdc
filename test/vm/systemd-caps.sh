#!/bin/sh
# In a guest whose process 1 is systemd: koordlet's caps of units that systemd owns. Slices and scopes are made as kubelet
# and the runtime make them; whatever systemd then puts back (property change, scope start, daemon-reload) is gone
# within a tick, is never called contested, and a stop leaves nothing behind. Ends with "N passed, N failed".
passed=0 failed=0
uid=33333333_cccc_4ccc_8ccc_000000000003
id=3333333333333333333333333333333333333333333333333333333333333333
pod=kubepods-besteffort-pod$uid.slice
class=/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice
ok() { passed=$((passed + 1)); echo "ok: $1"; }
bad() { failed=$((failed + 1)); echo "FAILED: $1"; }
expect() { # expect NAME COMMAND...
  name=$1; shift
  if "$@"; then ok "$name"; else bad "$name"; fi
}
manager() { busctl --quiet call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager "$@"; }
slice() { # slice NAME WEIGHT: as kubelet does
  manager StartTransientUnit 'ssa(sv)a(sa(sv))' "$1" replace 5 Description s "$1" DefaultDependencies b false \
    CPUAccounting b true MemoryAccounting b true CPUWeight t "$2" 0
}
scope() { # scope NAME PID: as the runtime does
  manager StartTransientUnit 'ssa(sv)a(sa(sv))' "$1" replace 5 PIDs au 1 "$2" Slice s "$pod" Delegate b true \
    CPUAccounting b true MemoryAccounting b true 0
}
now() { cut -d' ' -f1 /proc/uptime | tr -d .; }
capped() { read -r quota _ < "$class/cpu.max" && [ "$quota" != max ]; }
uncapped() { ! capped; }
within() { # within SECONDS COMMAND...: prints how long it took
  end=$(($(now) + $1 * 100)) began=$(now)
  shift
  while ! "$@"; do [ "$(now)" -lt "$end" ] || return 1; done
  echo "   after $((($(now) - began) * 10)) ms"
}

slice kubepods.slice 100
slice kubepods-besteffort.slice 1
slice "$pod" 1
sleep 100000 &
scope "cri-containerd-$id.scope" $!
cat > koordlet.toml <<C
[states]
folder = "/guest/manifests"
[store]
folder = "/run/koordlet"
[status]
socket = "/run/koordlet.sock"
listen = ""
[metrics]
listen = ""
C
expect "the pod's cgroup is where kubelet would have it" [ -d "$class/$pod/cri-containerd-$id.scope" ]
koordlet run --config koordlet.toml 2> koordlet.log &
daemon=$!
expect "the class gets its cap" within 60 capped
# The settled value; the node's own use moves it, so only "capped" is compared below.
sleep 5

reset_by() { # reset_by NAME COMMAND...: systemd puts back its own value while koordlet sleeps, koordlet the cap once awake
  name=$1
  shift
  kill -STOP $daemon
  "$@"
  if uncapped; then echo "   systemd took the cap away"; resets=$((resets + 1)); fi
  kill -CONT $daemon
  expect "$name: the cap is back within a tick (3 s in this emulator)" within 3 capped
  sleep 2
}
resets=0
reset_by "property change" systemctl set-property --runtime kubepods-besteffort.slice TasksMax=5000
sleep 100000 &
reset_by "scope start" scope "cri-containerd-4$id.scope" $!
reset_by "daemon-reload" systemctl daemon-reload
expect "systemd did take caps away" [ $resets -gt 0 ]
for i in 1 2 3 4 5 6; do systemctl daemon-reload; done
expect "six reloads in a row: the cap is back" within 3 capped
sleep 3
koordlet status --json --socket /run/koordlet.sock > status.json
expect "never contested" grep -q '"contested":0' status.json
kill -TERM $daemon
wait $daemon
expect "a clean exit" [ $? -eq 0 ]
expect "nothing is left behind: the class has no cap" uncapped
expect "nothing is left behind: systemd knows of no quota" \
  [ "$(systemctl show -p CPUQuotaPerSecUSec --value kubepods-besteffort.slice)" = infinity ]
expect "nothing is left behind: no drop-in of a quota" \
  [ -z "$(find /run/systemd -path '*kubepods*' -name '*Quota*' 2>/dev/null)" ]
[ "$failed" -eq 0 ] || tail -30 koordlet.log
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
