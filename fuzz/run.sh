#!/usr/bin/env bash
# Fuzzes every reader, one after the other: `fuzz/run.sh [SECONDS [READER..]]`, 120 seconds of processor time each if nothing is said, so that other work
# on the machine takes nothing from them. Needs cargo-fuzz and a nightly toolchain.
#
# What is found anew is kept in fuzz/found/READER, what breaks a reader in fuzz/artifacts/READER; `cargo +nightly fuzz tmin READER FILE` makes that small.
# A small one goes into fuzz/corpus/READER under a name, where tests read it, and its reader gets a test of its own.
set -uo pipefail
cd "$(dirname "$0")" || exit 2

seconds=${1:-120}
readers=("${@:2}")
[ ${#readers[@]} -gt 0 ] || mapfile -t readers < <(cargo +nightly fuzz list)
# Readers of several files write them: to memory, where there is such a folder.
[ -d /dev/shm ] && export TMPDIR=${TMPDIR:-/dev/shm}
# Freed memory that the sanitizer keeps counts towards the limit below, and is no reader's.
export ASAN_OPTIONS=quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# All targets are one program, which looks at its name: it is built once.
cargo +nightly fuzz build experiment || exit 1
program=${CARGO_TARGET_DIR:-target}/$(rustc +nightly -vV | sed -n 's/^host: //p')/release/experiment
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
# Processor seconds of all programs that ended, this script's own included.
spent() { awk '{ print int(($14 + $15 + $16 + $17) / ticks) }' ticks="$(getconf CLK_TCK)" <(sed 's/([^)]*)/()/' /proc/$$/stat); }
# One reader until its time is used up: libFuzzer knows elapsed time only, so it is called again for what is left.
fuzz() {
  local reader=$1 begun left
  shift
  begun=$(spent) left=$seconds
  : >"found/$reader.log"
  while [ "$left" -gt 0 ]; do
    "$programs/$reader" "$@" -artifact_prefix="artifacts/$reader/" -max_total_time="$left" -rss_limit_mb=512 \
      -malloc_limit_mb=256 -timeout=60 -max_len=65536 -print_final_stats=1 >>"found/$reader.log" 2>&1 || return 1
    left=$((seconds - $(spent) + begun))
  done
}

broken=0
for reader in "${readers[@]}"; do
  mkdir -p "found/$reader" "artifacts/$reader"
  ln -s "$(realpath "$program")" "$programs/$reader"
  corpora=("found/$reader")
  # Some readers begin with what only this build can make.
  [ -d "corpus/$reader" ] && corpora+=("corpus/$reader")
  if fuzz "$reader" "${corpora[@]}"; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "found/$reader.log" | awk '{ n += $1 } END { print n + 0 }')
    printf 'ok      %-22s %s runs\n' "$reader" "$runs"
  else
    broken=$((broken + 1))
    printf 'BROKEN  %-22s see fuzz/found/%s.log\n' "$reader" "$reader"
  fi
done
[ "$broken" -eq 0 ]
