#!/usr/bin/env bash
# Experiments with extreme numbers, in the release build and in the one that has assertions and overflow checks: each must end the same way, with the same words
# and the same results. `crates/inputs/extremes.sh [FILES [SEED]]`; FILES is 25000 and SEED is 0 if they are left out, which takes a quarter of an hour of
# processor time with its builds. Seeds 0 to 3 are a hundred thousand files.
#
# Prints what files came to, then `equal`, or the first files that differ; the exit status is 0 only if none does and nothing panics.
set -euo pipefail
cd "$(dirname "$0")/../.."

files=${1:-25000} seed=${2:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
test=(-p netloom-inputs --test extreme_experiments)

# built PROFILE FLAG..: the test program in one build, named so: sources may change while it runs.
built() {
  local name=$1 program
  shift
  cargo test --locked "$@" "${test[@]}" --no-run 2>&1 | tee "$work/built.log" >&2
  program=$(sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$work/built.log")
  cp "$program" "$work/$name.program"
}

# one PROFILE: all files in one build.
one() {
  (cd crates/inputs && CASES=$files SEED=$seed OUTCOMES=$work/$1 "$work/$1.program" extreme_experiments --nocapture) >"$work/$1.log" 2>&1
}

built checked --profile checked
built release --release
failed=0
# One after the other: a file that takes a minute is not to be taken for one that hangs.
one checked || failed=1
one release || failed=1
for name in checked release; do
  echo "$name: $(grep -E '^\{' "$work/$name.log" || tail -n 40 "$work/$name.log")"
done
# Files that one build predicts to need too much memory are left out: rows of a build with assertions are larger, so its predictions are other numbers.
paste -d' ' "$work/checked" "$work/release" | awk '$1 != $4 || ($2 != "memory" && $5 != "memory" && ($2 != $5 || $3 != $6))' >"$work/differ"
if [ -s "$work/differ" ]; then
  echo 'files that differ, by number (ONLY=N shows one), as the checked build and the release have them:'
  head -n 40 "$work/differ"
  failed=1
fi
[ "$failed" -eq 0 ] || exit 1
echo "$files files: equal"
