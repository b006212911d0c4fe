#!/usr/bin/env bash
# Makes what a release consists of, from the tree as it is committed:
#
#   ./release.sh --check     says what is missing for a release, builds nothing
#   ./release.sh DIR         builds it into the new directory DIR: the program with its documents, the Debian package
#                            (needs `cargo deb`), the crates' packages, and checksums of all
#
# Nothing is published and no tag is made: docs/stability.md names those commands.
set -euo pipefail
cd "$(dirname "$0")"

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
wrong=0

# want WHAT COMMAND..: names what is missing for a release if the command fails.
want() {
  local what=$1
  shift
  if "$@" >/dev/null 2>&1; then printf 'ok       %s\n' "$what"; else
    printf 'MISSING  %s\n' "$what"
    wrong=1
  fi
}

unchanged() { [ -z "$(git status --porcelain)" ]; }
tagged() { [ "$(git describe --tags --exact-match HEAD)" = "v$version" ]; }

check() {
  printf 'netloom %s at %s\n' "$version" "$(git rev-parse --short HEAD)"
  want "CHANGELOG.md has a section for $version with its date" grep -Eq "^## $version .*[0-9]{4}-[0-9]{2}-[0-9]{2}" CHANGELOG.md
  want "CITATION.cff names version $version" grep -q "^version: \"\\?$version\"\\?" CITATION.cff
  want 'no file differs from what is committed' unchanged
  want "the commit has the tag v$version" tagged
  want 'all crates can be packed' cargo package --locked --workspace --exclude own-parts --exclude netloom-inputs --exclude netloom-python --no-verify --allow-dirty --list
}

case ${1-} in
  --check)
    check
    exit $wrong
    ;;
  '' | -*)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

out=$1
[ -e "$out" ] && { echo "$out exists; a release is built into a new directory" >&2; exit 2; }
check
[ $wrong = 0 ] || echo 'TRIAL    what is missing above must be there before it is published'
mkdir -p "$out"
out=$(cd "$out" && pwd)
target=${CARGO_TARGET_DIR:-target}
name=netloom-$version-$(rustc -vV | sed -n 's/^host: //p')

cargo build --locked --profile dist -p netloom-cli
mkdir "$out/$name"
cp "$target/dist/netloom" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT CITATION.cff "$out/$name/"
"$out/$name/netloom" --version
tar -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -r "${out:?}/$name"

if cargo deb --version >/dev/null 2>&1; then
  cargo deb --locked -p netloom-cli --profile dist --no-build --output "$out/"
else
  echo 'SKIPPED  the Debian package: cargo deb is not installed'
fi
cargo package --locked --workspace --exclude own-parts --exclude netloom-inputs --exclude netloom-python --no-verify --allow-dirty
cp "$target"/package/netloom*-"$version".crate "$out/"
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
