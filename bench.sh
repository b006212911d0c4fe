#!/usr/bin/env bash
# Measures the numbers of BENCHMARKS.md, section by section: ./bench.sh, or ./bench.sh SECTION.. (packet threads windows delay flow congestion portals
# resilient large pending build; hybrid takes hours and only runs if it is named). Prints them; nothing is compared, nothing is stored.
# On a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")"

netloom() { "${CARGO_TARGET_DIR:-target}/release/netloom" "$@"; }

# The seconds of a run, its memory and its fingerprint.
seconds() { netloom run "$@" --format json | grep -E '"(wall_s|cpu_s|peak_rss_bytes|fingerprint)"'; }

packet() {
  cargo bench --locked -p netloom-packet --bench chunk_hops
  local case
  for case in rule program; do seconds crates/packet/benches/replay/$case.toml; done
}

threads() {
  local run=(examples/dragonfly-1056.toml --set experiment.duration="40 us") link cable=() times
  for link in terminal local global; do
    cable+=(--set "fabric.link.$link.latency=50 ns" --set "fabric.link.$link.credit_delay=50 ns")
  done
  for times in 1 2 3 4 5; do
    seconds "${run[@]}"
    seconds "${run[@]}" --set engine.scheduler=conservative --threads 2
    seconds "${run[@]}" "${cable[@]}"
    seconds "${run[@]}" "${cable[@]}" --set engine.scheduler=conservative --threads 2
  done
  cargo bench --locked -p netloom-engine --bench windows
}

# Where two threads begin to be faster than one: medians of three by the chunks that all terminals send while a credit comes back.
windows() {
  local ports credit load span case set one two k
  for case in "2 3.725 1.0 2000" "2 7.45 0.8 2500" "2 29.8 1.0 2000" "3 3.725 0.25 1500" "3 29.8 0.1 3000" "3 3.725 1.0 400" \
    "4 3.725 0.05 800" "4 3.725 1.0 100"; do
    read -r ports credit load span <<<"$case"
    set=(examples/dragonfly-72.toml --set fabric.groups=$((2 * ports * ports + 1)) --set fabric.routers_per_group=$((2 * ports))
      --set fabric.terminals_per_router="$ports" --set fabric.global_ports_per_router="$ports" --set job.0.load="$load"
      --set "experiment.duration=$span us")
    for k in terminal local global; do set+=(--set "fabric.link.$k.credit_delay=$credit ns"); done
    one='' two=''
    for k in 1 2 3; do
      one+=$(netloom run "${set[@]}" --format json | awk '/"wall_s"/ { print $2 + 0 }')$'\n'
      two+=$(netloom run "${set[@]}" --set engine.scheduler=conservative --set engine.spare=false --threads 2 --format json |
        awk '/"wall_s"/ { print $2 + 0 }')$'\n'
    done
    awk -v n=$((2 * ports * ports * (2 * ports * ports + 1))) -v c="$credit" -v l="$load" \
      -v a="$(sort -n <<<"${one%$'\n'}" | sed -n 2p)" -v b="$(sort -n <<<"${two%$'\n'}" | sed -n 2p)" \
      'BEGIN { printf "%d terminals, credits of %s ns, load %s: %.0f chunks, %.2f s, two threads %.2f s (%.2f)\n", n, c, l, n * l * c / 29.8, a, b, b / a }'
  done
}

delay() {
  cargo bench --locked -p netloom-loggops --bench delay
  cargo bench --locked -p netloom-workload --bench lowering
}

flow() {
  cargo bench --locked -p netloom-flow --bench flow
  cargo bench --locked -p netloom-flow --bench flow -- errors
}

congestion() {
  local file
  file=$(mktemp --suffix .toml)
  printf '[fabric]\ntopology = "xgft"\nchildren = [12, 12, 24]\nparents = [1, 12, 12]\n[routing]\nalgorithm = "d-mod-k"\n' >"$file"
  time netloom congestion "$file" --pattern bisect --metric hist_acc_band --runs 10000 --threads 1 >/dev/null
  rm "$file"
}

portals() {
  local place
  place=$(mktemp -d)
  netloom portals cc examples/portals/rate.c -o "$place/rate"
  time netloom portals run -n 2 --fabric examples/portals/two-nodes.toml "$place/rate" put 1 400000 1
  time netloom portals run -n 2 --fabric examples/portals/two-nodes.toml "$place/rate" get 1 400000 1
  rm -r "$place"
}

resilient() {
  local protocol
  for protocol in dor pnc ncd; do
    time netloom resilient --protocol $protocol --hops 6 --bytes "240 B" --samples 10000000
  done
  cargo bench --locked -p netloom-otf2 --bench read
}

large() {
  seconds examples/gups-65536.toml
  seconds examples/gups-65536.toml --set engine.scheduler=conservative --threads 2
  local model
  for model in packet flow delay; do seconds examples/machine-524288.toml --set model.kind=$model; done
}

pending() { cargo bench --locked -p netloom-engine --bench pending; }

hybrid() { netloom study zombie-packets --out "${CARGO_TARGET_DIR:-target}/zombies"; }

build() {
  local place
  place=$(mktemp -d)
  time CARGO_TARGET_DIR=$place cargo build --locked --release -p netloom-cli
  strip -o "$place/stripped" "$place/release/netloom" && stat -c '%s bytes stripped' "$place/stripped"
  rm -r "$place"
}

sections=("$@")
[ $# -gt 0 ] || sections=(packet threads windows delay flow congestion portals resilient large pending build)
for section in "${sections[@]}"; do
  # A function of this file, before minutes go into a build.
  if [ "$(type -t "$section")" != function ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
  fi
done
cargo build --locked --release -p netloom-cli
for section in "${sections[@]}"; do
  echo "== $section"
  "$section"
done
