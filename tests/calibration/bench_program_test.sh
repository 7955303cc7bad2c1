#!/usr/bin/env bash
# gradwire-bench where no GPU can be seen: one line and exit 4; no library of NVIDIA's is needed to
# start. usage: bench_program_test.sh gradwire-bench
set -u
program=$1
export CUDA_VISIBLE_DEVICES=  # a machine with GPUs shows none of them
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
  echo "FAILED: $*"
  exit 1
}

needed=$(readelf -d "$program" | grep NEEDED) || fail 'readelf'
grep -E 'libcuda|libcudart|libnccl|libcublas|libcudnn|libnvidia' <<<"$needed" && fail 'it needs these'

for command in node copies collectives overlap selftest; do
  "$program" $command >out 2>err
  code=$?
  [ $code -eq 4 ] || fail "$command ends with $code, expected 4"
  [ "$(wc -l <err)" -eq 1 ] || fail "$command says more or less than one line"
  grep -q 'expected a node with an NVIDIA GPU' err || fail "$command does not say what to do"
done
[ "$(ls)" = "$(printf 'err\nout')" ] || fail 'something was written'
"$program" compressors_cpu --elements 1KiB,2KiB 2>err || fail "compressors_cpu: $(cat err)"
grep -q '"compressor": *"dithering"' compressors_cpu.json || fail 'compressors_cpu.json holds no dithering'
"$program" --version | grep -q '^gradwire-bench [0-9]' || fail '--version'
"$program" copies --help >/dev/null || fail '--help'
"$program" copies --size 1 2>/dev/null
[ $? -eq 2 ] || fail 'a misspelt option is taken'
"$program" 2>/dev/null
[ $? -eq 2 ] || fail 'no command is taken'
echo passed
