#!/usr/bin/env bash
# The tables of a page below the lines <!-- gradwire ... --> are what that command prints now. With APPROVE=1 they are
# rewritten (target `approve`).
# usage: key_tables.sh GRADWIRE PAGE SCRATCH
set -euo pipefail
gradwire=$1 page=$2 scratch=$3
mkdir -p "$scratch"

while IFS= read -r line; do
  if [[ $line =~ ^'<!-- gradwire '(.*)' -->'$ ]]; then
    table=1
    printf '%s\n' "$line"
    read -ra words <<<"${BASH_REMATCH[1]}"
    "$gradwire" "${words[@]}"
  elif [[ -z ${table:-} || $line != '|'* ]]; then
    table=
    printf '%s\n' "$line"
  fi
done <"$page" >"$scratch/page.md"

if [ -n "${APPROVE:-}" ]; then
  cp "$scratch/page.md" "$page"
else
  grep -q '^<!-- gradwire ' "$page"
  diff -u "$page" "$scratch/page.md" || { echo "to remake them: ninja approve_key_tables"; exit 1; }
fi
