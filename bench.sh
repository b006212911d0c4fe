#!/usr/bin/env bash
# Measures the numbers of BENCHMARKS.md, section by section: ./bench.sh, or ./bench.sh SECTION.. (packet threads delay flow congestion portals
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
[ $# -gt 0 ] || sections=(packet threads delay flow congestion portals resilient large pending build)
cargo build --locked --release -p netloom-cli
for section in "${sections[@]}"; do
  echo "== $section"
  "$section"
done
