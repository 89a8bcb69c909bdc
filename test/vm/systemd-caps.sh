#!/bin/sh
# In a guest whose process 1 is systemd: koordlet's caps of units that systemd owns. Slices and scopes are made as kubelet
# and the runtime make them. With unit_properties systemd knows the caps, so that nothing it does takes them away
# (property change, scope start, daemon-reload), and a stop, a kill -9 with `koordlet restore` included, leaves neither
# values nor drop-ins behind. Without it (off) what systemd puts back is gone within a tick and is never called contested.
# Ends with "N passed, N failed".
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
known() { # known UNIT PROPERTY: what systemd believes
  systemctl show -p "$2" --value "$1"
}
quota_known() { [ "$(known kubepods-besteffort.slice CPUQuotaPerSecUSec)" != infinity ]; }
within() { # within SECONDS COMMAND...: prints how long it took
  end=$(($(now) + $1 * 100)) began=$(now)
  shift
  while ! "$@"; do [ "$(now)" -lt "$end" ] || return 1; done
  echo "   after $((($(now) - began) * 10)) ms"
}
# All that systemd knows of the units and keeps of them on disk; what stays must be the same before and after.
state() {
  for unit in kubepods.slice kubepods-besteffort.slice "$pod" "cri-containerd-$id.scope"; do
    systemctl show -p CPUQuotaPerSecUSec,CPUQuotaPeriodUSec,CPUWeight,MemoryMin,MemoryLow,MemoryHigh,MemoryMax,AllowedCPUs "$unit"
  done
  for file in cpu.max cpu.weight cpu.idle memory.min memory.low memory.high memory.max cpuset.cpus; do
    echo "$file $(cat "$class/$file") $(cat "$class/$pod/$file")"
  done
  # Not what this script itself adds on the way.
  find /run/systemd -type f \( -path '*kubepods*' -o -path '*cri-*' \) | grep -v -e TasksMax -e 'cri-containerd-[45]' | sort
}
foreign() { koordlet status --json --socket /run/koordlet.sock | sed -n 's/.*"foreign_writes_total":\([0-9]*\).*/\1/p'; }

slice kubepods.slice 100
slice kubepods-besteffort.slice 1
slice "$pod" 1
sleep 100000 &
scope "cri-containerd-$id.scope" $!
for mode in auto off; do
  cat > koordlet-$mode.toml <<C
[states]
folder = "/guest/manifests"
[executor]
unit_properties = "$mode"
[store]
folder = "/run/koordlet"
[status]
socket = "/run/koordlet.sock"
listen = ""
[metrics]
listen = ""
C
done
start() { # start MODE
  koordlet run --config "koordlet-$1.toml" 2>> koordlet.log &
  daemon=$!
}
reset_by() { # reset_by NAME COMMAND...: what systemd does while koordlet sleeps; counts the caps it takes away
  name=$1
  shift
  kill -STOP $daemon
  "$@"
  if uncapped; then echo "   systemd took the cap away"; resets=$((resets + 1)); fi
  kill -CONT $daemon
  expect "$name: the cap is there within a tick (3 s in this emulator)" within 3 capped
  sleep 2
}
provoke() { # provoke SCOPE: the three things that make systemd write a unit's files again
  resets=0
  reset_by "$mode: property change" systemctl set-property --runtime kubepods-besteffort.slice TasksMax=5000
  sleep 100000 &
  reset_by "$mode: scope start" scope "$1" $!
  reset_by "$mode: daemon-reload" systemctl daemon-reload
}

expect "the pod's cgroup is where kubelet would have it" [ -d "$class/$pod/cri-containerd-$id.scope" ]
koordlet doctor --config koordlet-auto.toml | grep 'systemd bus'
state > before

mode=auto
start auto
expect "auto: the class gets its cap" within 60 capped
expect "auto: systemd knows of it" within 10 quota_known
sleep 5
seen=$(foreign)
provoke "cri-containerd-4$id.scope"
expect "auto: systemd never took a cap away" [ $resets -eq 0 ]
# A reload cuts the quotas to whole percent of a CPU: of the class and the pod, that one time.
echo "   foreign writes noticed: $(($(foreign) - seen))"
expect "auto: no reset was noticed" [ $(($(foreign) - seen)) -le 2 ]
koordlet status --json --socket /run/koordlet.sock > status.json
expect "auto: never contested" grep -q '"contested":0' status.json
kill -TERM $daemon
wait $daemon
expect "auto: a clean exit" [ $? -eq 0 ]
state > after
expect "auto: a stop leaves properties, files and drop-ins as they were" diff before after
systemctl daemon-reload
state > after
expect "auto: nor does a reload find anything" diff before after

start auto
expect "killed: the class gets its cap" within 60 capped
expect "killed: systemd knows of it" within 10 quota_known
kill -KILL $daemon
wait $daemon
systemctl daemon-reload
expect "killed: systemd keeps the cap over a reload" capped
koordlet restore --config koordlet-auto.toml
state > after
expect "killed, then koordlet restore: all as it was" diff before after
systemctl daemon-reload
expect "killed, then koordlet restore: a reload brings no cap back" uncapped

mode=off
start off
expect "off: the class gets its cap" within 60 capped
sleep 5
provoke "cri-containerd-5$id.scope"
expect "off: systemd did take caps away" [ $resets -gt 0 ]
expect "off: systemd knows of no quota" [ "$(known kubepods-besteffort.slice CPUQuotaPerSecUSec)" = infinity ]
for i in 1 2 3 4 5 6; do systemctl daemon-reload; done
expect "off: six reloads in a row: the cap is back" within 3 capped
sleep 3
koordlet status --json --socket /run/koordlet.sock > status.json
expect "off: never contested" grep -q '"contested":0' status.json
kill -TERM $daemon
wait $daemon
expect "off: a clean exit" [ $? -eq 0 ]
state > after
expect "off: nothing is left behind" diff before after
[ "$failed" -eq 0 ] || tail -40 koordlet.log
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
