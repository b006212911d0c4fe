#!/bin/sh
# Installs an MPI for tests and for use on one machine: Open MPI, as Debian and Ubuntu have it. On a cluster load its own instead
# (`module load openmpi`). Needs the rights to install packages; says so and fails otherwise.
set -eu
if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
  echo "there is an MPI: $(mpirun --version | head -n 1)"
  exit 0
fi
command -v apt-get >/dev/null || { echo 'no apt-get: install an MPI with mpicc and mpirun' >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo 'not root: sudo crates/mpi/install-mpi.sh' >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
packages='libopenmpi-dev openmpi-bin'
# shellcheck disable=SC2086
apt-get install -y --no-install-recommends $packages ||
  { apt-get update && apt-get install -y --no-install-recommends $packages; }
