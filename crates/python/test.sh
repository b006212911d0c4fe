#!/usr/bin/env bash
# The tests of the Python package, with the library that the workspace's tests are built with: nothing is compiled twice.
#
#   crates/python/test.sh [FEATURES]   make the environment, build the library, check types, run the tests
#   crates/python/test.sh --prepare    make the environment alone; if that cannot be, say why in a line and end with 1
#   NETLOOM_LONG=1                     pack a wheel as well, and run the tests with it installed
#
# FEATURES are those of the workspace's tests (`--features netloom-cli/mpi`), so that cargo finds all built.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
here=$root/crates/python
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
work=$target/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

# lacks COMMAND..: the last line of what a command said if it failed.
lacks() {
  local said
  said=$("$@" 2>&1) && return 1
  printf '%s\n' "$said" | tail -n 1
}

# An environment with what the tests use. It is kept, and made anew when Python or the requirements change.
prepare() {
  local why key
  command -v python3 >/dev/null || { echo 'no python3'; return 1; }
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo 'python3 is older than 3.10'; return 1; }
  key=$(python3 -c 'import sys; print(sys.version, sys.base_prefix)'; cat "$here/requirements-test.txt")
  [ -e "$work/made" ] && [ "$(cat "$work/made")" = "$key" ] && return 0
  rm -rf "$work"
  if why=$(lacks python3 -m venv "$work/venv"); then
    echo "python3 -m venv does not work (apt-get install python3-venv): $why"
    return 1
  fi
  if why=$(lacks timeout 600 "$work/venv/bin/python" -m pip install --quiet --no-compile --retries 1 --timeout 20 -r "$here/requirements-test.txt"); then
    echo "pip cannot install crates/python/requirements-test.txt: $why"
    return 1
  fi
  printf '%s\n' "$key" >"$work/made"
}

# The package, installed by hand: its files, and the library beside them, from where cargo puts what tests need.
install() {
  local packages library=$target/checked/deps/libnetloom_python.so
  [ -e "$library" ] || library=${library%.so}.dylib
  packages=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))') || return 1
  rm -rf "$packages/netloom"
  cp -r "$here/netloom" "$packages/netloom" && cp "$library" "$packages/netloom/_netloom.abi3.so"
}

tests() { (cd "$here/tests" && NETLOOM_PROGRAM=$target/checked/netloom "$1" -m unittest); }

wheel() {
  local packed=$work/packed
  rm -rf "$packed"
  "$work/venv/bin/python" -m pip install --quiet --no-compile 'maturin>=1.9.4,<2' || return 1
  # The lock file is the workspace's; `release` is built soon, and a wheel for users takes profile `dist`.
  (cd "$here" && "$work/venv/bin/maturin" build --locked --profile release --interpreter python3 --out "$packed/wheels") || return 1
  python3 -m venv "$packed/venv" &&
    "$packed/venv/bin/python" -m pip install --quiet --no-compile -r "$here/requirements-test.txt" "$packed"/wheels/*.whl &&
    tests "$packed/venv/bin/python"
}

if [ "${1:-}" = --prepare ]; then
  prepare
  exit
fi
if ! why=$(prepare); then
  echo "SKIPPED  the Python package ($why)"
  exit 0
fi
cargo test --locked --workspace "$@" --profile checked --no-run || exit 1
install || exit 1
(cd "$here" && MYPYPATH=tests "$work/venv/bin/python" -m mypy --cache-dir "$work/mypy" netloom tests examples) || exit 1
tests "$work/venv/bin/python" || exit 1
[ -z "${NETLOOM_LONG:-}" ] || wheel
