#!/usr/bin/env bash
# Runs the engine's threaded tests under the thread sanitizer. Needs a nightly toolchain; nothing else.
#
# The standard library comes compiled without the sanitizer, so what only the test harness shares is left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
known=$(mktemp)
trap 'rm -f "$known"' EXIT
printf 'race:test::\nrace:std::sync::mpmc\n' >"$known"
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" TSAN_OPTIONS="suppressions=$known halt_on_error=1"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target/tsan}
cargo +nightly test --locked -p netloom-engine --target x86_64-unknown-linux-gnu --lib --test phold -- meeting thread checkpoint
