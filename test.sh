#!/usr/bin/env bash
# The test command: everything that guards the tree. Needs a Rust toolchain and nothing else.
#
#   ./test.sh                   all of it: format, lints, tests, documentation, examples, studies, fuzz target
#   NETLOOM_LONG=1 ./test.sh    longer forms of what is drawn at random
#
# Tests, examples and studies share one build: profile `checked`, optimised, with assertions and overflow checks. Lints and documents take its profile
# too: what runs while others are compiled (build scripts, macros) is then compiled once.
# Prints one line per step and a closing line `N passed, 0 failed`; the exit status is 0 only if nothing failed.
# Steps whose tool is not installed are named as SKIPPED, never left out silently.
set -uo pipefail
cd "$(dirname "$0")" || exit 2

passed=0 failed=0 skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# step NAME COMMAND..: runs the command, shows its output only if it fails.
step() {
  local name=$1 begun=$SECONDS
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    printf 'ok       %-58s %4d s\n' "$name" $((SECONDS - begun))
  else
    failed=$((failed + 1))
    printf 'FAILED   %-58s %4d s\n' "$name" $((SECONDS - begun))
    sed 's/^/    /' "$work/log"
  fi
}

# side NAME COMMAND..: like `step`, but beside others: as many at a time as there are processors. A line follows when it has ended.
lanes=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) sides=0
side() {
  while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n; done
  ended
  sides=$((sides + 1))
  local name=$1 log=$work/side-$sides
  shift
  {
    local begun=$SECONDS status=0
    "$@" >"$log" 2>&1 || status=$?
    printf '%s\t%s\t%s\n' "$status" $((SECONDS - begun)) "$name" >"$log.word" && mv "$log.word" "$log.end"
  } &
}

# Those that ended since the last look.
ended() {
  local end status seconds name
  for end in "$work"/side-*.end; do
    [ -e "$end" ] || continue
    IFS=$'\t' read -r status seconds name <"$end"
    rm "$end"
    if [ "$status" -eq 0 ]; then
      passed=$((passed + 1))
      printf 'ok       %-58s %4d s\n' "$name" "$seconds"
    else
      failed=$((failed + 1))
      printf 'FAILED   %-58s %4d s\n' "$name" "$seconds"
      sed 's/^/    /' "${end%.end}"
    fi
    met=$((met + 1))
  done
}

# Waits for all of them.
met=0
meet() {
  wait
  ended
  if [ "$met" -ne "$sides" ]; then
    failed=$((failed + 1))
    echo "FAILED   $((sides - met)) of $sides steps beside each other left no word"
  fi
}

skip() {
  skipped=$((skipped + 1))
  printf 'SKIPPED  %-58s (%s)\n' "$1" "$2"
}

# The numbers that cargo's test programs print, added up.
count() { awk -v word="$1" '/^test result:/ { for (i = 2; i <= NF; i++) if ($i ~ word) n += $(i - 1) } END { print n + 0 }' "$2"; }

# What a reader of a failed run needs first: the names, then what each test printed; if no test failed, what the compiler said.
failures() {
  grep -E '^test .* FAILED$' "$1"
  awk '/^failures:$/ { shown = 1; next } /^test result:/ { shown = 0 } shown' "$1" | head -n 120
  grep -qE '^test .* FAILED$' "$1" || grep -E -A 12 '^(error|warning: unused)|signal:|panicked' "$1" | head -n 60
}

# MPI of the machine: runs over several processes are tested where there is one, or where it can be installed.
mpi=()
timeout 600 crates/mpi/install-mpi.sh >/dev/null 2>&1 </dev/null && mpi=(--features netloom-cli/mpi)

# All of cargo's tests, or with `--no-run` what they and all that follows need.
tests() {
  cargo test --locked --workspace ${mpi[@]+"${mpi[@]}"} --profile checked "$@" >"$work/tests" 2>&1 && return
  failures "$work/tests"
  return 1
}

# Adds what cargo's tests came to; that they failed is counted once already.
tally() {
  local good bad
  good=$(count '^passed' "$work/tests") bad=$(count '^failed' "$work/tests")
  passed=$((passed + good)) failed=$((failed + (bad > 1 ? bad - 1 : 0)))
  printf '         %-58s\n' "cargo test: $good tests passed, $bad failed"
}

# What must be the same in every run: all but the measured performance.
result() { sed -e '/^  "performance": {/,/^  }/d' -e '/^ *"wall_s":/d' -e '/^ *"cpu_s":/d' "$1"; }

# Runs an example with the checkers on, repeats it, and spreads it over partitions and schedulers: the same bytes each time, tables included.
example() {
  local file=$1 out=$work/out-$(basename "$1" .toml) spreads='1:1:sequential 5:4:optimistic 64:3:conservative'
  # More threads than processors wait for each other most of the time: the tests of crates have enough of them. A director needs milliseconds,
  # and large networks are built anew each time; the tests of crates spread smaller ones in all these ways.
  if [ -z "${NETLOOM_LONG:-}" ]; then
    spreads='5:2:optimistic 64:2:conservative'
    case $file in *hybrid* | *8448* | *65536* | *524288*) spreads='5:2:optimistic' ;; esac
  fi
  shift
  rm -rf "$out" && mkdir "$out"
  "$netloom" check "$file" >/dev/null || return 1
  "$netloom" run "$file" "$@" --check --out "$out/first" >/dev/null || return 1
  grep -q '"fingerprint"' "$out/first/summary.json" || return 1
  for way in $spreads; do
    local partitions threads scheduler
    IFS=: read -r partitions threads scheduler <<<"$way"
    # All threads work, also where one alone would be faster: that is what is to be tried.
    "$netloom" run "$file" "$@" --out "$out/$partitions" --set "engine.partitions=$partitions" \
      --set "engine.scheduler=$scheduler" --set engine.pin=true --set engine.spare=false --threads "$threads" >/dev/null || return 1
    cmp <(result "$out/first/summary.json") <(result "$out/$partitions/summary.json") || { echo "$partitions partitions"; return 1; }
    for table in "$out"/first/*.parquet; do
      cmp "$table" "$out/$partitions/$(basename "$table")" || { echo "$partitions partitions"; return 1; }
    done
  done
  rm -rf "$out"
}

# Sweeps an example in one thread and in two: the same bytes of tables and figures. A second call runs nothing.
series() {
  local file=$1 out=$work/out-$(basename "$1" .toml) span="8 us"
  [ -n "${NETLOOM_LONG:-}" ] && span="30 us"
  rm -rf "$out"
  "$netloom" check "$file" >/dev/null || return 1
  for threads in 1 2; do
    "$netloom" sweep "$file" --set experiment.duration="$span" --set experiment.warmup="3 us" --threads $threads --out "$out/$threads" >/dev/null || return 1
    "$netloom" plot "$out/$threads" --out "$out/$threads/figures" >/dev/null || return 1
  done
  for made in "$out"/1/*.* "$out"/1/figures/*; do
    cmp "$made" "$out/2/${made#"$out/1/"}" || return 1
  done
  "$netloom" sweep "$file" --set experiment.duration="$span" --set experiment.warmup="3 us" --out "$out/1" | grep -q '^done  *0 run now' || return 1
  rm -rf "$out"
}

examples() {
  for file in examples/*.toml; do
    if grep -q '^\[\[sweep' "$file"; then
      side "example $(basename "$file" .toml): its sweep in 1 and 2 threads, its figures" series "$file"
      continue
    fi
    case $(basename "$file") in
      zero-load.toml) set -- --set experiment.duration="200 us" ;;
      dragonfly-1056.toml) set -- --set experiment.duration="5 us" ;;
      mesh-8x8.toml) set -- --set experiment.duration="9 us" ;;
      rails.toml) set -- --set job.0.count=50 ;;
      nodes.toml) set -- --set job.0.iterations=5 ;;
      dragonfly-8448.toml) set -- --set experiment.duration="1 us" ;;
      # Its geometry in 16 racks: 65,536 terminals take longer to build, six times over, than all other examples together.
      gups-65536.toml) set -- --set experiment.duration="500 ns" --set fabric.racks=16 ;;
      # The same in 4 racks, with the ranks of each as they are.
      machine-524288.toml) set -- --set fabric.racks=4 --set job.0.ranks=4096 --set 'job.0.dims=[4,32,32]' --set 'job.0.points=[32,256,256]' ;;
      hybrid-72.toml) set -- --set experiment.duration="300 us" --set 'hybrid.switch=["100 us", "200 us"]' --set hybrid.window="50 us" ;;
      # What they are warm after is longer than the others' runs.
      service-classes.toml) set -- --set experiment.duration="60 us" --set experiment.warmup="20 us" ;;
      congestion-control.toml | datacentre.toml) set -- --set experiment.duration="100 us" --set experiment.warmup="20 us" --set output.window="20 us" ;;
      hybrid-auto.toml) set -- --set experiment.duration="4.6 ms" ;;
      *) if grep -q '^until' "$file"; then set --; else set -- --set experiment.duration="50 us"; fi ;;
    esac
    side "example $(basename "$file" .toml): repeatable, in 1 to 64 partitions, in several threads" example "$file" "$@"
  done
}

# Few by default: on two processors an experiment takes ten seconds or more. NETLOOM_LONG=1: more experiments, and longer ones in the tests that draw them.
drawn=5
[ -n "${NETLOOM_LONG:-}" ] && drawn=40

# Random experiments under every scheduler agree; with a fault planted they do not. One swarm: its threads wait for each other, so two of them beside
# each other take longer than one after the other.
swarm() { "$netloom" swarm --seed 7 --count $drawn; }
planted() {
  if "$netloom" swarm --seed 7 --count 20 --plant wrong-lookahead; then echo 'the planted fault was not found'; return 1; fi
}

# All interleavings of the threads' meetings.
interleavings() {
  RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom cargo test --locked --profile checked -p netloom-engine --lib loom
}

# The binary without Parquet, OpenSM and Portals. The tables that it writes instead are those of `csv = true` in [output], which tests look at;
# with NETLOOM_LONG=1 they also run without Parquet.
bare() {
  cargo check --locked --profile checked -p netloom-cli --no-default-features || return 1
  [ -z "${NETLOOM_LONG:-}" ] || cargo test --locked --profile checked -p netloom-results --no-default-features --lib
}

# Every crate could be published: names, versions and files are there. Offline, since all it needs has been fetched by now.
packages() { cargo package --workspace --exclude own-parts --exclude netloom-inputs --no-verify --allow-dirty --offline; }

documentation() { RUSTDOCFLAGS='-D warnings' cargo doc --locked --profile checked --workspace --no-deps; }

if cargo fmt --version >/dev/null 2>&1; then
  step 'cargo fmt --check' cargo fmt --all --check
else
  skip 'cargo fmt --check' 'rustup component add rustfmt'
fi
if cargo clippy --version >/dev/null 2>&1; then
  step 'cargo clippy, warnings are errors' cargo clippy --locked --profile checked --workspace ${mpi[@]+"${mpi[@]}"} --all-targets -- -D warnings
else
  skip 'cargo clippy' 'rustup component add clippy'
fi
# Licences, sources and duplicates are also looked at by a test; this knows the advisories too, where their database can be had.
if cargo deny --version >/dev/null 2>&1; then
  step 'cargo deny: licences, sources, duplicates' cargo deny --offline check licenses sources bans
  if timeout 60 cargo deny fetch db >/dev/null 2>&1; then
    step 'cargo deny: advisories' cargo deny check advisories
  else
    skip 'cargo deny: advisories' 'needs a connection to the database of advisories'
  fi
else
  skip 'cargo deny' 'cargo install cargo-deny'
fi
command -v chromium >/dev/null || crates/report/install-browser.sh >/dev/null 2>&1 ||
  skip 'the page in a browser' 'crates/report/install-browser.sh, as root'
command -v mdbook >/dev/null || skip 'the book, as mdBook builds it' 'cargo install mdbook'
[ ${#mpi[@]} -gt 0 ] || skip 'runs over MPI ranks' 'crates/mpi/install-mpi.sh, as root on Debian or Ubuntu'
command -v cc >/dev/null || skip 'programs in C for Portals' 'apt-get install gcc libc6-dev'
command -v otf2-print >/dev/null || skip "archives before OTF2's own reader" 'apt-get install otf2-tools'
[ -e /usr/include/simgrid/s4u.hpp ] || skip 'flows beside SimGrid' 'apt-get install libsimgrid-dev g++'
if ! command -v opensm >/dev/null || ! command -v ibsim >/dev/null; then
  skip 'engines beside OpenSM' 'apt-get install opensm ibsim-utils infiniband-diags'
fi
command -v ibdmchk >/dev/null || skip 'verification beside ibdmchk' 'apt-get install ibutils'
step 'all tests and the program are built' tests --no-run
netloom=${CARGO_TARGET_DIR:-target}/checked/netloom
# What follows runs beside the tests, some of which wait: the longest first.
side 'cargo test' tests --no-fail-fast
side 'loom: meetings of threads' interleavings
if [ -x "$netloom" ]; then
  side "swarm: $drawn experiments, every scheduler, whole and in pieces" swarm
  examples
  side 'swarm finds a planted wrong lookahead' planted
  for study in studies/*/published.toml; do
    [ -e "$study" ] || continue
    name=$(basename "$(dirname "$study")")
    side "study $name --smoke" "$netloom" study "$name" --smoke
  done
  side 'study haec-sim --verify --smoke: no deviation' "$netloom" study haec-sim --verify --smoke
else
  failed=$((failed + 1))
  echo "FAILED   there is no program at $netloom: examples, swarm and studies did not run"
fi
# Its library is there by now as well.
if lacks=$(crates/python/test.sh --prepare); then
  side 'the Python package: types, tests, its example' crates/python/test.sh ${mpi[@]+"${mpi[@]}"}
else
  skip 'the Python package' "$lacks"
fi
side 'the binary without its features' bare
side 'crates can be packaged' packages
side 'cargo doc, warnings are errors' documentation
meet
tally
if command -v cargo-fuzz >/dev/null && rustup toolchain list 2>/dev/null | grep -q nightly; then
  # All targets are one program under other names.
  step 'fuzz targets build' cargo +nightly fuzz build experiment
else
  skip 'fuzz target' 'cargo install cargo-fuzz; rustup toolchain install nightly'
fi

# A release build has no assertions: what `--check` finds there it finds by itself.
planted_in_release() {
  cargo test --locked --release -p netloom-packet -p netloom-flow -p netloom-loggops -p netloom-portals planted
}

if [ -n "${NETLOOM_LONG:-}" ]; then
  step 'planted faults are found in release builds' planted_in_release
  step 'extreme experiments: release and checked builds agree' crates/inputs/extremes.sh
  step 'mutants: places are found' cargo test --locked --manifest-path mutants/Cargo.toml
fi

[ "$skipped" -gt 0 ] && echo "$skipped skipped: see the lines marked SKIPPED"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
