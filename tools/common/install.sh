# Sourced by the scripts beside it: installs the Debian packages that Cairn needs and this machine lacks, without asking.

cairn_packages=(g++ cmake ninja-build libfmt-dev libmimalloc-dev doctest-dev libcli11-dev libedit-dev libxxhash-dev nlohmann-json3-dev
                libdlpack-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev libtiff-dev libdnnl-dev libopenblas-dev python3 pkg-config)

# The libraries must get on with what NumPy brings; packages are made and looked at, that of Python too; manual pages are rendered. The packages are built from the same sources once
# more, which ccache remembers.
test_packages=(python3-numpy python3-dev python3-venv dpkg-dev file groff-base ccache)

sanitize_packages=(clang-14 libclang-rt-14-dev)  # for the preset `sanitize` alone
tidy_packages=(clang-tidy-14)
format_packages=(clang-format-14)

install_packages() { install_missing "${cairn_packages[@]}"; }
install_test_packages() { install_missing "${test_packages[@]}"; }
install_sanitize_packages() { install_missing "${sanitize_packages[@]}"; }
install_tidy_packages() { install_missing "${tidy_packages[@]}"; }
install_format_packages() { install_missing "${format_packages[@]}"; }

install_missing() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
  local missing=() package as_root=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      echo "These packages are missing and only root can install them: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo -n)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# What takes half of the time to build where some programs are asked for, on this machine: no CUDA, kernels for its processor alone.
for_here=(-DCAIRN_GENERATIONS=native -DCAIRN_CUDA=OFF)

# build_preset PRESET [TARGET ...]: configures and builds one preset of CMakePresets.json, all of it or those targets.
# A folder that was configured for some programs of this machine (for_here) is made one for everything, if everything is
# asked for.
build_preset() {
  local options=()
  if [ "$1" = release ]; then
    if [ "${2:-installable}" != installable ]; then
      [ -e build/CMakeCache.txt ] || options=("${for_here[@]}")
    elif grep -q '^CAIRN_GENERATIONS:.*=native' build/CMakeCache.txt 2>/dev/null; then
      options=(-DCAIRN_GENERATIONS=all -DCAIRN_CUDA=ON)
    fi
  fi
  cmake --preset "$1" "${options[@]}" >"build-$1.log" 2>&1 || { cat "build-$1.log" >&2; rm -f "build-$1.log"; return 1; }
  rm -f "build-$1.log"
  cmake --build --preset "$1" ${2:+--target "${@:2}"}
}
