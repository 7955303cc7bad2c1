#!/usr/bin/env bash
# From a fresh machine to a first prediction: installs what is missing, builds, runs a small job.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_dependencies.sh
echo "==> Building gradwire (release)"
cmake --preset release >/dev/null
cmake --build --preset release --parallel "$(nproc)" --target gradwire
echo "==> build/release/gradwire run scenarios/quickstart.yaml"
build/release/gradwire run scenarios/quickstart.yaml
