#!/usr/bin/env bash
# Installs the browser that the test of the page looks at it with: Debian's package, where this is Debian and may be done.
set -euo pipefail
command -v chromium >/dev/null && exit 0
command -v apt-get >/dev/null || { echo 'no apt-get: install chromium by hand' >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo 'not root: apt-get install chromium fonts-dejavu-core' >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends chromium fonts-dejavu-core ||
  { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; }
