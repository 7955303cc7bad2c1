#!/usr/bin/env bash
# Kills sweeps at random moments, in every way, goes on with each from its store, and prints what was lost: nothing.
# usage: scripts/kill_sweeps.sh [KILLS]     (default 200; the release preset must have been built)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests=build/release/tests/cli/gradwire_cli_tests
if [[ ! -x $tests ]]; then
  echo "kill_sweeps.sh: there is no $tests; build the release preset first" >&2
  exit 1
fi
GRADWIRE_KILLS="${1:-200}" "$tests" "No kill loses a finished point"
