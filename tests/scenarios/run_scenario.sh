#!/usr/bin/env bash
# Runs a scenario that ships and compares its table with the golden file; twice, and the results are the same to
# the bit. With APPROVE=1 the golden file is rewritten for review (target `approve`).
# usage: run_scenario.sh GRADWIRE SCENARIO GOLDEN SCRATCH
set -euo pipefail
gradwire=$1 scenario=$2 golden=$3 scratch=$4
rm -rf "$scratch"
mkdir -p "$scratch"

command=run
! grep -q '^vary:' "$scenario" || command=sweep
[[ $(basename "$scenario") != compare_* ]] || command=compare
grep -q '^strategy:' "$scenario" || command=collective  # nothing is trained
predict() { "$gradwire" "$command" "$scenario" --quiet --json "$scratch/$1.json" | grep -v '^Engine ' >"$scratch/$1.txt"; }

predict first
predict second
without_clock() { sed -E 's/"(plan_s|run_s|total_s|peak_memory)": *[0-9.e+-]+//g' "$1"; }
cmp <(without_clock "$scratch/first.json") <(without_clock "$scratch/second.json")

if [ -n "${APPROVE:-}" ]; then
  cp "$scratch/first.txt" "$golden"
else
  diff -u "$golden" "$scratch/first.txt" || { echo "if this is right: ninja approve"; exit 1; }
fi
