#!/usr/bin/env bash
# Installs the packages that Gradwire needs and this machine lacks; silent when nothing is missing. Says what it will do
# and waits for a yes, unless nobody is there to give it (standard input is no terminal).
# usage: scripts/install_dependencies.sh [--yes] [--ci]
#   --yes  does not ask          --ci  adds the tools of .ci/run, and does not ask
# This is the only place that lists packages. The names are those of Debian 12 and Ubuntu 24.04.
set -euo pipefail

packages=(
  g++ cmake ninja-build                                   # build
  libboost-dev libboost-filesystem-dev libfmt-dev libsimgrid-dev libyaml-dev
  libcli11-dev libssl-dev nlohmann-json3-dev libpugixml-dev
  libsimdjson-dev libsqlite3-dev zlib1g-dev               # traces of other tools
  catch2 libbenchmark-dev                                 # tests
  libmimalloc-dev                                         # memory, a quarter faster
  graphviz                                                # draws topologies, at run time
)
ci_packages=(ccache clang clang-format clang-tidy lld dpkg-dev file)  # the last two: cpack -G DEB

yes=no
[ -t 0 ] || yes=yes
for option in "$@"; do
  case "$option" in
    --yes) yes=yes ;;
    --ci) packages+=("${ci_packages[@]}") yes=yes ;;
    *) echo "usage: $0 [--yes] [--ci]" >&2; exit 2 ;;
  esac
done

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}
missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

system=$(. /etc/os-release 2>/dev/null && echo "${ID-} ${VERSION_ID-}") || system=unknown
case "$system" in
  'debian 12' | 'ubuntu 24.04') ;;
  *)
    echo "This script knows the packages of Debian 12 and Ubuntu 24.04; this system is '$system'." >&2
    echo "Install what corresponds to these, and run it again: ${missing[*]}" >&2
    exit 1
    ;;
esac

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
# apt-get speaks only when it fails.
apt() {
  local output
  if ! output=$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q --yes "$@" 2>&1); then
    printf '%s\n' "$output" >&2
    exit 1
  fi
}

echo "==> Installing, with ${as_root[*]:+${as_root[*]} }apt-get from this system's archive, and what they need themselves:"
echo "    ${missing[*]}"
if [ $yes = no ]; then
  read -r -p '    Go on? [Y/n] ' answer || answer=no
  case "$answer" in
    '' | y | Y | yes) ;;
    *) echo "Nothing was installed." >&2; exit 1 ;;
  esac
fi
apt update
apt install --no-install-recommends "${missing[@]}"
