#!/usr/bin/env bash
# The node's script against programs that only note how they were called: no GPU, no PyTorch.
# usage: calibrate_node_test.sh calibrate_node.sh
set -u
script=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*"
  cat "$folder/log" 2>/dev/null
  exit 1
}
# expect CODE command...
expect() {
  local code=$1
  shift
  "$@" >"$folder/log" 2>&1
  local got=$?
  [ $got -eq "$code" ] || fail "exit $got, expected $code: $*"
}

# Both write what they are asked for; FAKE_BENCH_CODE and FAKE_PYTHON_FAILS make them fail.
cat >"$folder/bench" <<'FAKE'
#!/usr/bin/env bash
echo "bench $1" >>"$FAKE_CALLS"
[ "${FAKE_BENCH_CODE:-0}" -eq 0 ] || exit "$FAKE_BENCH_CODE"
if [ "${2:-}" = --output ]; then echo "{}" >"$3"; fi
FAKE
cat >"$folder/python" <<'FAKE'
#!/usr/bin/env bash
[ "$1" != - ] || exit 0
echo "python $*" >>"$FAKE_CALLS"
while [ $# -gt 0 ]; do
  case $1 in
    --model) model=$2 ;;
    --dtype) dtype=$2 ;;
    --batch) batch=$2 ;;
    -o) out=$2 ;;
  esac
  shift
done
[ -n "${model:-}" ] || { echo "{}" >"$out"; exit 0; }
[ "$model" != "${FAKE_PYTHON_FAILS:-}" ] || exit 1
mkdir -p "$out/recordings/${model}_${dtype}_b$batch"
echo "{}" >"$out/recordings/${model}_${dtype}_b$batch/workload.json"
FAKE
# A machine may have GPUs of its own: to the script it has none.
mkdir "$folder/path"
printf '#!/bin/sh\n' >"$folder/path/nvidia-smi"
export PATH=$folder/path:$PATH
touch "$folder/inject.so"
chmod +x "$folder/bench" "$folder/python" "$folder/path/nvidia-smi"
export FAKE_CALLS=$folder/calls
touch "$FAKE_CALLS"
calibrate() {
  "$script" --bench "$folder/bench" --python "$folder/python" --inject "$folder/inject.so" "$@"
}

# Without running anything the plan is reported.
expect 0 calibrate --dry-run -o "$folder/none"
grep -q '^resnet50_tf32_b32 .* to do$' "$folder/log" || fail 'no recording in the plan'
[ ! -e "$folder/none" ] || fail 'a dry run made a folder'

# Bad command lines.
expect 2 calibrate --minutes 0
expect 2 calibrate --part 3/2
expect 2 calibrate --frob 1
expect 2 calibrate --pack

# No GPU: the program's own code, at once.
FAKE_BENCH_CODE=4 expect 4 calibrate -o "$folder/nogpu"
[ "$(wc -l <"$FAKE_CALLS")" -eq 1 ] || fail 'it went on without a GPU'

# A model that fails leaves the others done, and is tried again.
FAKE_PYTHON_FAILS=vgg16 expect 1 calibrate --minutes 60 -o "$folder/run"
[ -d "$folder/run/recordings/resnet50_tf32_b32" ] || fail 'a recording is missing'
[ -s "$folder/run/copies.json" ] || fail 'copies.json is missing'
grep -q '^failed: vgg16_tf32_b32' "$folder/log" || fail 'the failure is not stated'
expect 0 calibrate --minutes 60 -o "$folder/run"
[ -d "$folder/run/recordings/vgg16_tf32_b32" ] || fail 'the failed recording was not done again'

# What is done is left alone.
: >"$FAKE_CALLS"
expect 0 calibrate --minutes 60 -o "$folder/run"
[ ! -s "$FAKE_CALLS" ] || fail 'something ran twice'

# The parts of several nodes are everything, each once.
: >"$FAKE_CALLS"
for part in 1/3 2/3 3/3; do expect 0 calibrate --minutes 60 --part $part -o "$folder/part$part"; done
steps=$(wc -l <"$folder/run/done.txt")
[ "$(wc -l <"$FAKE_CALLS")" -eq "$steps" ] || fail "the parts are not the $steps steps"
[ "$(sort "$FAKE_CALLS" | uniq -d | wc -l)" -le 0 ] || fail 'two parts ran the same'

# Done elsewhere; and a budget that is too small for most.
expect 0 calibrate --minutes 60 --skip "$folder/run/done.txt" -o "$folder/skip"
[ ! -e "$folder/skip/node.json" ] || fail 'a skipped step ran'
expect 0 calibrate --minutes 1 -o "$folder/short"
[ -s "$folder/short/node.json" ] || fail 'a step that fits did not run'
[ ! -e "$folder/short/recordings/bert_large_fp32_b16" ] || fail 'a step of 70 s began'
grep -q '^no time for: .*bert_large_fp32_b16' "$folder/log" || fail 'what is left is not stated'

# Packed and unpacked it is the same.
head -c 20000000 /dev/urandom >"$folder/run/recordings/vgg16_tf32_b32/full.rank0.1.gwr"
expect 0 calibrate --minutes 60 --pack "$folder/packed" -o "$folder/run"
for part in "$folder"/packed/*; do
  [ "$(stat -c %s "$part")" -le $((15 << 20)) ] || fail "$part is larger than 15 MiB"
done
mkdir "$folder/unpacked"
if compgen -G "$folder/packed/*.zst.*" >/dev/null; then
  cat "$folder"/packed/* | zstd -q -d | tar -x -C "$folder/unpacked"
else
  cat "$folder"/packed/* | gzip -d | tar -x -C "$folder/unpacked"
fi
diff -r --exclude=partial "$folder/run" "$folder/unpacked" >"$folder/log" || fail 'unpacked differs'
echo passed
