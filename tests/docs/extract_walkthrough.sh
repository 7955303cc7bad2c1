#!/usr/bin/env bash
# Writes the files that CONTRIBUTING.md's walk-through shows (code blocks with `file=PATH`) below a folder, and the
# catalogue with the walk-through's line (the block `cpp catalogue`) in it. Fails where a part is missing.
# usage: extract_walkthrough.sh CONTRIBUTING.md REPOSITORY FOLDER
set -euo pipefail
page=$1 repository=$2 folder=$3
catalogue=sim/config/strategy/strategy_catalogue.cpp
rm -rf "$folder"
mkdir -p "$folder/$(dirname "$catalogue")"

awk -v folder="$folder" '
  /^```/ && inside { inside = 0; if (path) close(path); path = ""; next }
  /^```/ {
    inside = 1
    if (match($0, /file=[^ ]+/)) {
      path = folder "/" substr($0, RSTART + 5, RLENGTH - 5)
      directory = path
      sub(/\/[^\/]*$/, "", directory)
      system("mkdir -p \"" directory "\"")
    } else if ($0 ~ /catalogue/) {
      path = folder "/catalogue_line"
    }
    next
  }
  inside && path { print > path }
' "$page"

awk -v line="$(cat "$folder/catalogue_line")" '
  /^#include "strategies\// && !included { print "#include \"strategies/all_reduce/counted_wfbp.hpp\""; included = 1 }
  /^ *[{]"ddp", / && !entered { print line; entered = 1 }
  { print }
  END { exit !(included && entered) }
' "$repository/$catalogue" >"$folder/$catalogue"
