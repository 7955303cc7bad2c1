#!/usr/bin/env bash
# run_console_blocks.sh with small documents and a stand-in for gradwire: what must pass, and what must fail.
# usage: run_console_blocks_test.sh SCRATCH
set -euo pipefail
scratch=$1
script=$(dirname "${BASH_SOURCE[0]}")/run_console_blocks.sh
mkdir -p "$scratch"
printf '#!/bin/sh\n[ "$1" = run ] && printf "one\\ntwo %%s\\n" "$2" && { [ ! -e "$2" ] || cat "$2"; }\n' >"$scratch/program"
chmod +x "$scratch/program"
status=0

# expect pass|fail, then the document's lines
expect() {
  local wanted=$1 got=pass
  shift
  printf '%s\n' "$@" >"$scratch/document.md"
  "$script" "$scratch/document.md" "$scratch/program" "$scratch" "$scratch/work" >"$scratch/log" 2>&1 || got=fail
  if [ "$got" != "$wanted" ]; then
    printf 'should %s:\n%s\n' "$wanted" "$(cat "$scratch/document.md" "$scratch/log")"
    status=1
  fi
}

expect pass '```console' '$ gradwire run x' 'one' 'two x' '```'
expect pass '```sh' '$ build/release/gradwire run x' '...' 'two x' '```'
expect pass '```console' '$ gradwire run \' '    y' 'two y' '$ elsewhere' 'not ours' '```' 'text'
expect pass '```yaml file=x.yaml' 'a: 1' '```' '```console' '$ gradwire run x.yaml' 'a: 1' '```'
expect fail '```console' '$ gradwire run x.yaml' 'a: 1' '```'
expect fail '```console' '$ gradwire run x' 'two y' '```'
expect fail '```console' '$ gradwire run x' 'two' '```'
expect fail '```console' '$ gradwire stop' '```'
expect fail '```' '$ gradwire run x' '```'
exit $status
