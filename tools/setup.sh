#!/usr/bin/env bash
# Installs what a part of the build needs and the machine lacks; silent when nothing is missing.
# usage: tools/setup.sh build | browser | check | gpu | bench | mpi | python FOLDER | packages PART...
set -euo pipefail

cache="${XDG_CACHE_HOME:-$HOME/.cache}/visapult"
tools="$cache/tools"

fail() {
  printf 'visapult set-up: %s\n' "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

has_version() { # what, minimum, found, where to get it
  if [ -z "$3" ]; then
    printf 'visapult set-up: %s is missing: install %s %s or newer (%s)\n' "$1" "$1" "$2" "$4" >&2
  elif ! at_least "$2" "$3"; then
    printf 'visapult set-up: %s %s is too old: install %s %s or newer (%s)\n' "$1" "$3" "$1" "$2" "$4" >&2
  else
    return 0
  fi
  return 1
}

has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

has_cmake() {
  local found
  found="$(cmake --version 2>/dev/null | sed -n '1s/.* //p')"
  [ -n "$found" ] && at_least 3.26 "$found"
}

# What a part cannot do without: a Debian package a line. What tests are skipped without is not among them.
packages_of() {
  case "$1" in
    build)
      have cc && have make || printf '%s\n' gcc g++ make
      has_cmake || has_venv || printf '%s\n' python3-venv
      ;;
    python)
      has_venv || printf '%s\n' python3-venv
      # VTK renders off screen through EGL.
      printf '%s\n' libegl1 libgl1 libxrender1
      ;;
    browser)
      have chromium || printf '%s\n' chromium
      printf '%s\n' libegl1 libgl1-mesa-dri
      ;;
    bench) printf '%s\n' iproute2 iperf3 g++ make libudt-dev libsrt-openssl-dev globus-gridftp-server-progs globus-gass-copy-progs ;;
  esac
}

# Of all these parts at once: who has to install them himself is told of all.
setup_packages() {
  local needed
  needed="$(for part in "$@"; do packages_of "$part"; done | sort -u)"
  # shellcheck disable=SC2086 # One word each.
  need_packages $needed
}

need_packages() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  have apt-get || fail "these Debian packages (or their like) are missing: ${missing[*]}"
  [ "$(id -u)" = 0 ] || fail "missing packages; run: sudo apt-get install ${missing[*]}"
  printf 'visapult set-up: installing %s\n' "${missing[*]}"
  # Parts are set up side by side: one installs at a time.
  mkdir -p "$cache"
  (
    flock 9
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  ) 9>"$cache/packages.lock"
}

setup_build() {
  local versions=0
  has_version rust 1.91 "$(rustc --version 2>/dev/null | cut -d' ' -f2)" 'rustup.rs' || versions=1
  has_version node 20.19 "$(node --version 2>/dev/null | tr -d v)" 'nodejs.org' || versions=1
  has_version python3 3.11 "$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null)" 'python.org' || versions=1
  setup_packages build
  [ "$versions" = 0 ] || exit 1
  # The page calculates in WebAssembly.
  if ! [ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown)" ]; then
    have rustup || fail 'Rust has no target wasm32-unknown-unknown: install it, or Rust from rustup.rs, which brings it'
    rustup target add wasm32-unknown-unknown
  fi
  # HDF5 is built from source and linked statically; its build wants a newer cmake than Debian 12 has.
  if ! has_cmake; then
    printf 'visapult set-up: installing cmake for this project in %s\n' "$tools"
    python3 -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'cmake>=3.26,<5'
  fi
}

setup_python() {
  local folder="$1"
  setup_packages python
  printf 'visapult set-up: installing what the Python tests need in %s\n' "$folder"
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/python/requirements-solvers.txt \
    || printf 'visapult set-up: the tests with the codes of others will be skipped\n' >&2
  (need_packages b3sum) || printf 'visapult set-up: manifests are not held against b3sum\n' >&2
  touch "$folder/ready"
}

setup_bench() {
  setup_packages bench
  (need_packages rsync openssh-server rclone xrootd-server xrootd-client) || printf 'visapult set-up: some that copy files are left out\n' >&2
  make --no-print-directory --silent -C bench/transport/native
  cargo build --quiet --release --locked --manifest-path bench/transport/peers/Cargo.toml --target-dir bench/transport/peers/target
}

# Both MPI libraries with their launchers and compilers. Where they cannot be installed, the tests that need them are skipped.
setup_mpi() {
  (need_packages mpich libmpich-dev openmpi-bin libopenmpi-dev gfortran) || printf 'visapult set-up: the MPI tests will be skipped\n' >&2
}

# A driver that stands in for a graphics processor. Where it cannot be installed, the tests that need one are skipped.
setup_gpu() {
  (need_packages libvulkan1 mesa-vulkan-drivers) || printf 'visapult set-up: the tests of graphics processors will be skipped\n' >&2
}

setup_check() {
  cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy
}

cd "$(dirname "$0")/.."
case "${1:-}" in
  build) setup_build ;;
  browser) setup_packages browser ;;
  check) setup_check ;;
  gpu) setup_gpu ;;
  bench) setup_bench ;;
  mpi) setup_mpi ;;
  packages) setup_packages "${@:2}" ;;
  python) setup_python "${2:?folder}" ;;
  *) fail 'usage: tools/setup.sh build | browser | check | gpu | bench | mpi | python FOLDER | packages PART...' ;;
esac
