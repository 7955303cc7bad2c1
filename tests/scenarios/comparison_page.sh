#!/usr/bin/env bash
# The page of the comparison of all strategies shows the golden table, and its picture is the one that is drawn now. With
# APPROVE=1 both are rewritten (target `approve`).
# usage: comparison_page.sh GRADWIRE SCENARIO GOLDEN PAGE SCRATCH
set -euo pipefail
gradwire=$1 scenario=$2 golden=$3 page=$4 scratch=$5
mkdir -p "$scratch"

"$gradwire" compare "$scenario" --quiet --svg "$scratch/drawn.svg" >/dev/null
# The page with the golden table in place of its one block.
awk -v golden="$golden" '
  /^```$/ { print; if (!inside) while ((getline line < golden) > 0) print line; inside = !inside; next }
  !inside' "$page" >"$scratch/page.md"

if [ -n "${APPROVE:-}" ]; then
  cp "$scratch/page.md" "$page"
  cp "$scratch/drawn.svg" "${page%.md}.svg"
else
  diff -u "$page" "$scratch/page.md"
  cmp "${page%.md}.svg" "$scratch/drawn.svg"
fi
