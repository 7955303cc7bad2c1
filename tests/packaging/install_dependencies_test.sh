#!/usr/bin/env bash
# The set-up script asks before it installs, when someone is there to answer; --yes and a machine's input do not wait.
# usage: install_dependencies_test.sh <the script>      apt-get, dpkg-query, id and sudo are stand-ins
set -euo pipefail
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
printf '#!/bin/sh\necho unknown\n' >"$work/bin/dpkg-query"   # nothing is installed
printf '#!/bin/sh\necho 0\n' >"$work/bin/id"                 # root
printf '#!/bin/sh\necho "$@" >>"%s/calls"\n' "$work" >"$work/bin/apt-get"
chmod +x "$work"/bin/*
export PATH=$work/bin:$PATH
if ! grep -qE '^ID="?(debian|ubuntu)"?$' /etc/os-release; then
  echo 'skipped: the script knows Debian and Ubuntu'
  exit 0
fi

fail() {
  echo "FAILED: $1" >&2
  cat "$work/out" >&2
  exit 1
}
# in_terminal ANSWER OPTIONS: runs the script on a terminal where somebody types ANSWER.
in_terminal() {
  local answer=$1
  shift
  rm -f "$work/calls"
  status=0
  printf '%s\n' "$answer" | script -qec "bash '$script' $*" /dev/null >"$work/out" 2>&1 || status=$?
}

rm -f "$work/calls"
bash "$script" </dev/null >"$work/out" || fail 'without a terminal it does not go on'
grep -q 'g++' "$work/out" || fail 'it does not say what it installs'
grep -q '^-q --yes install .*g++' "$work/calls" || fail 'it does not install'

if command -v script >/dev/null; then
  in_terminal n
  if [ $status -eq 0 ] || [ -e "$work/calls" ]; then fail 'a no is not taken'; fi
  in_terminal y
  [ -e "$work/calls" ] || fail 'a yes is not taken'
  in_terminal '' --yes
  if [ $status -ne 0 ] || grep -q 'Go on' "$work/out"; then fail '--yes asks'; fi
  [ -e "$work/calls" ] || fail '--yes does not install'
fi
status=0
bash "$script" --force </dev/null >"$work/out" 2>&1 || status=$?
[ $status -eq 2 ] || fail 'an unknown option is taken'
