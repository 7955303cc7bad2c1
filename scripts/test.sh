#!/usr/bin/env bash
# Every test, from a fresh machine: installs what is missing, builds the release preset, runs CTest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_dependencies.sh
echo "==> Building everything (release)"
cmake --preset release >/dev/null
cmake --build --preset release --parallel "$(nproc)"
echo "==> Testing"
ctest --preset release --parallel "$(nproc)"
