#!/usr/bin/env bash
# Measures the numbers of BENCHMARKS.md, section by section: ./bench.sh, or ./bench.sh SECTION.. (packet threads windows delay flow congestion portals
# resilient instructions large pending build; hybrid, which takes hours, and the tables of docs/checkers.md, hybrid.md and resilience.md,
# check_costs, hybrid_programs and resilient_collectives, only run if they are named). Prints them; nothing is compared, nothing is stored.
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

# Instructions under callgrind: they are the same on every machine of a kind, however busy. What a longer run takes more than a shorter one, by
# what it does more: set-up is left out.
counted() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "${CARGO_TARGET_DIR:-target}/release/netloom" "$@" 2>&1 >/dev/null | awk '/Collected/ { print $4 }'
}

# A row: NAME, a count of summary.json, what is set, its two values, and what `netloom run` gets.
instructions_per() {
  local name=$1 unit=$2 key=$3 value taken=() done=()
  local values=("$4" "$5")
  shift 5
  for value in "${values[@]}"; do
    taken+=("$(counted run "$@" --set "$key=$value")")
    done+=("$(netloom run "$@" --set "$key=$value" --format json 2>/dev/null | awk -v k="\"$unit\":" '$1 == k { print $2 + 0; exit }')")
  done
  awk -v n="$name" -v a="${taken[0]}" -v b="${taken[1]}" -v x="${done[0]}" -v y="${done[1]}" 'BEGIN { printf "%-48s %6.0f\n", n, (b - a) / (y - x) }'
}

# Rounds of messages to the rank 1, 2, 4 .. after each, in GOAL.
dissemination() {
  awk -v n="$1" 'BEGIN {
    print "num_ranks " n
    for (rank = 0; rank < n; rank++) {
      print "rank " rank " {"
      for (step = 1; step < n; step *= 2) {
        print "s" step ": send 8b to " (rank + step) % n " tag " step "\nr" step ": recv 8b from " (rank + n - step) % n " tag " step
        if (step > 1) print "s" step " requires s" step / 2 "\ns" step " requires r" step / 2
      }
      print "}"
    }
  }'
}

instructions() {
  local hops=(chunk_hops experiment.duration) small=examples/dragonfly-72.toml parted program model place count taken=()
  instructions_per 'chunk-hop, dragonfly-72, 100 %' "${hops[@]}" '20 us' '60 us' $small
  instructions_per 'the same, route_per = "chunk"' "${hops[@]}" '20 us' '60 us' $small --set model.route_per=chunk
  instructions_per 'chunk-hop, dragonfly-72, 10 %' "${hops[@]}" '50 us' '150 us' $small --set job.0.load=0.1
  for parted in 1 8 36; do
    instructions_per "chunk-hop, conservative, $parted partition(s)" "${hops[@]}" '20 us' '60 us' $small \
      --set engine.scheduler=conservative --set engine.partitions=$parted --threads 1
  done
  for parted in 1 64; do
    instructions_per "chunk-hop, dragonfly-1056, $parted partition(s)" "${hops[@]}" '4 us' '6 us' examples/dragonfly-1056.toml \
      --set engine.scheduler=conservative --set engine.partitions=$parted --threads 1
  done
  instructions_per 'chunk-hop, 8x8 mesh, input-queued' "${hops[@]}" '11 us' '13 us' examples/mesh-8x8.toml
  place=$(mktemp -d)
  program=$place/halo.toml
  cat >"$program" <<'END'
experiment.until = "workload-done"
fabric.topology = "fat-tree"
fabric.k = 8
fabric.levels = 3
fabric.link.terminal = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
fabric.link.tree = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
routing.algorithm = "d-mod-k"
job = [{ workload = "stencil", ranks = 125, face_bytes = "1 KiB" }]
END
  for model in delay packet flow; do
    instructions_per "message of 1 KiB, halo of 125 ranks, $model" delivered job.0.iterations 5 25 "$program" --set "model.kind=$model"
  done
  netloom portals cc examples/portals/rate.c -o "$place/rate"
  for model in put get; do
    taken=()
    for count in 1000 11000; do
      taken+=("$(counted portals run -n 2 --fabric examples/portals/two-nodes.toml "$place/rate" $model 1 $count 1)")
    done
    printf '%-48s %6.0f\n' "Portals $model, one in flight" $(((taken[1] - taken[0]) / 10000))
  done
  taken=()
  for count in 1024 2048; do
    dissemination $count >"$place/$count.goal"
    taken+=("$(counted run examples/sweep3d-loggops.toml --set "job.0.file=$place/$count.goal")")
  done
  # Two operations in each of 11 rounds of 2048 ranks, and of 10 rounds of 1024.
  printf '%-48s %6.0f\n' 'operation of GOAL text, dissemination' $(((taken[1] - taken[0]) / (2048 * 22 - 1024 * 20)))
  rm -r "$place"
}

large() {
  seconds examples/gups-65536.toml
  seconds examples/gups-65536.toml --set engine.scheduler=conservative --threads 2
  local model
  for model in packet flow delay; do seconds examples/machine-524288.toml --set model.kind=$model; done
}

# The table of docs/checkers.md: instructions of whole runs with --check over those without it.
check_costs() {
  local place text
  place=$(mktemp -d)
  text=$(sed -n '/<!-- file: stencil.toml -->/,/^```$/p' docs/checkers.md)
  sed '1,2d;$d' <<<"$text" >"$place/stencil.toml"
  ratio() {
    local name=$1
    shift
    awk -v n="$name" -v a="$(counted run "$@")" -v b="$(counted run "$@" --check)" 'BEGIN { printf "| %s | %.2f |\n", n, b / a }'
  }
  ratio '`packet`: `examples/dragonfly-72.toml`, 120 us at full load' examples/dragonfly-72.toml --set 'experiment.duration=120 us'
  ratio '`packet`: `examples/halo-64.toml`' examples/halo-64.toml
  ratio '`hybrid`: `examples/hybrid-72.toml`, 400 us with one stay (`hybrid.switch=["0.15 ms","0.3 ms"]`, `hybrid.window="0.1 ms"`)' \
    examples/hybrid-72.toml --set 'experiment.duration=400 us' --set 'hybrid.switch=["0.15 ms","0.3 ms"]' --set 'hybrid.window=0.1 ms'
  ratio '`packet` with `[resilience]`: `examples/lossy-links.toml`' examples/lossy-links.toml
  ratio '`flow`: `examples/flow-fat-tree.toml`' examples/flow-fat-tree.toml
  ratio '`flow`: `examples/halo-64.toml`' examples/halo-64.toml --set model.kind=flow
  ratio '`delay`: `examples/sweep3d-loggops.toml`' examples/sweep3d-loggops.toml
  ratio '`delay`: `examples/halo-64.toml`' examples/halo-64.toml --set model.kind=delay
  ratio '`delay`: `stencil.toml`, 512 ranks, 50 iterations' "$place/stencil.toml"
  local pure=(--set model.cost=pure --set model.overhead= --set model.gap= --set model.byte_gap=)
  ratio 'the same with `model.cost="pure"`' "$place/stencil.toml" "${pure[@]}"
  ratio '`cost = "pure"`, and `model.byte_time="80 ps"`' "$place/stencil.toml" "${pure[@]}" --set 'model.byte_time=80 ps'
  rm -r "$place"
}

# The table of docs/hybrid.md: how far six programs are off under `automatic`, in per cent of their time on `packet`.
hybrid_programs() {
  local place program window set predictor times
  place=$(mktemp -d)
  sed -n '/<!-- file: programs.toml -->/,/^```$/p' docs/hybrid.md | sed '1,2d;$d' >"$place/programs.toml"
  while IFS=';' read -r program window set; do
    times=()
    for predictor in packet mean quantile; do
      # shellcheck disable=SC2086 # Settings are words of their own.
      set -- --set "job.0.workload=$program" $set
      [ $predictor = packet ] || set -- "$@" --set model.kind=hybrid --set hybrid.director=automatic --set hybrid.predictor=$predictor --set "hybrid.window=$window us" --set hybrid.min_stay=10us
      times+=("$(netloom run "$place/programs.toml" "$@" --format json | sed -n 's/^  "simulated_ps": \([0-9]*\),$/\1/p')")
    done
    awk -v n="$program${set:+, $set}" -v w="$window" -v p="${times[0]}" -v a="${times[1]}" -v b="${times[2]}" 'BEGIN {
      gsub(/--set job\.0\./, "", n); printf "| %s | %d us | %+.2f %% | %+.2f %% |\n", n, w, (a / p - 1) * 100, (b / p - 1) * 100 }'
  done <<'END'
conjugate-gradient;200;--set job.0.iterations=60 --set job.0.face_bytes=16KiB
conjugate-gradient;100;--set job.0.iterations=60 --set job.0.face_bytes=16KiB
stencil;200;--set job.0.iterations=60 --set job.0.face_bytes=16KiB
ring;100;--set job.0.iterations=200 --set job.0.hop_bytes=16KiB
sweep;100;--set job.0.iterations=4 --set job.0.points=[128,128,128]
fft;60;--set job.0.iterations=20 --set job.0.points=[64,64,64]
fft;100;--set job.0.iterations=40 --set job.0.points=[128,128,128]
training-step;100;--set job.0.iterations=2
END
  rm -r "$place"
}

# The table of collectives in docs/resilience.md: makespans in us.
resilient_collectives() {
  local operation name loss protocol cells
  makespan() {
    netloom run examples/resilient-allreduce.toml --set "job.0.operation=$operation" --set "job.0.collectives=[\"$operation=$name\"]" \
      --set "model.loss=$1" --set "model.protocol=$2" --format json | sed -n 's/^  "simulated_ps": \([0-9]*\),$/\1/p' |
      awk -v digits="$3" '{ printf "%.*f\n", digits, $1 / 1e6 }' | sed ':next; s/^\([0-9]*[0-9]\)\([0-9]\{3\}\)\([.,].*\)\{0,1\}$/\1,\2\3/; t next'
  }
  while read -r operation name; do
    cells=''
    for loss in 0.01 0.05; do
      cells+=' |'
      for protocol in dor pnc ncd; do cells+=" $(makespan $loss $protocol 0) /"; done
      cells=${cells% /}
    done
    echo "| $operation, \`$name\` | $(makespan 0 dor 1)$cells |"
  done <<'END'
allreduce ring
allreduce recursive-doubling
allreduce rabenseifner
bcast binomial
bcast scatter-ring
END
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
[ $# -gt 0 ] || sections=(packet threads windows delay flow congestion portals resilient instructions large pending build)
for section in "${sections[@]}"; do
  # A function of this file, before minutes go into a build.
  if [ "$(type -t "$section")" != function ]; then
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
  fi
done
cargo build --locked --release -p netloom-cli
for section in "${sections[@]}"; do
  echo "== $section"
  "$section"
done
