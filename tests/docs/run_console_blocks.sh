#!/usr/bin/env bash
# Runs the commands of ours in a document's ```console and ```sh blocks: lines that begin with
# `$ build/release/gradwire `, `$ gradwire ` or `$ calibration/capture/calibrate_node.sh `. Each must end with exit
# code 0, and print the lines shown under it (but for `...`, which stands for lines left out). A block
# ```yaml file=NAME is first written to that file.
# usage: run_console_blocks.sh DOCUMENT GRADWIRE REPOSITORY SCRATCH [FOLDER]; FOLDER is there for the commands
set -euo pipefail
document=$1 gradwire=$2 repository=$3 scratch=$4 folder=${5:-}

# What the commands write stays in a scratch folder, where the repository's data have their usual names.
rm -rf "$scratch"
mkdir -p "$scratch/build/release" "$scratch/results"
ln -s "$gradwire" "$scratch/build/release/gradwire"
ln -s "$repository"/{calibration,profiles,scenarios,topologies} "$scratch/"
[ -z "$folder" ] || cp -r "$folder" "$scratch/"
cd "$scratch"
PATH="$scratch/build/release:$PATH"

count=0
failures=0
fail() {
  echo "$document:$line_number: $*"
  failures=$((failures + 1))
}

run() {
  count=$((count + 1))
  echo "\$ $1"
  bash -c "$1" </dev/null >output.txt 2>&1 || fail "exit code $? from: $1; it printed: $(<output.txt)"
}

in_block=no running=no line_number=0 written=
while IFS= read -r line; do
  line_number=$((line_number + 1))
  case "$in_block $line" in
    'no ```console' | 'no ```sh') in_block=yes running=no; continue ;;
    'no ```yaml file='*) in_block=file written=${line#*file=}; : >"$written"; continue ;;
    'yes ```' | 'file ```') in_block=no; continue ;;
    no\ *) continue ;;
    file\ *) printf '%s\n' "$line" >>"$written"; continue ;;
  esac
  if [[ $line == '$ '* ]]; then
    command=${line#'$ '}
    while [[ $command == *\\ ]] && IFS= read -r line; do
      line_number=$((line_number + 1))
      command=${command%\\}$line
    done
    running=no
    if [[ $command =~ ^((build/release/)?gradwire|calibration/capture/calibrate_node.sh)( |$) ]]; then
      running=yes
      run "$command"
    fi
  elif [[ $running == yes && -n $line && $line != ... ]]; then
    grep -qxF -- "$line" output.txt || fail "not printed by '$command': $line"
  fi
done <"$document"

[ "$count" -gt 0 ] || fail "no gradwire command found"
[ "$failures" -eq 0 ]
