#!/usr/bin/env bash
# Calibrates a GPU node: builds the recorder and the benchmarks, runs them, records every workload.
# Needs the CUDA toolkit with nvcc, cmake, a C++ compiler, CLI11's headers, and Python with PyTorch,
# torchvision, timm and transformers.
set -u

usage() {
  cat <<'TEXT'
usage: calibrate_node.sh [options]
  -o DIR           where everything goes [calibration]; what is finished there is not done again
  --minutes M      stops before a step that would end later [9]
  --part K/N       the K-th of N parts of the steps, for several nodes at once [1/1]
  --skip FILE      names of steps that are done elsewhere, one a line (DIR/done.txt of another run)
  --only PATTERN   steps whose whole name matches this regular expression ("resnet50.*")
  --pack DIR       packs the results into DIR, at most 8 files of at most 15 MiB
  --dry-run        prints the steps with their estimated times, and ends
  --build DIR      build folder [build/capture beside the sources]
  --python PROGRAM [python3]
  --bench PROGRAM, --inject FILE   built ones; nothing is built then
Exit codes: 0 all is done, or the time is over and the next call goes on; 1 a step failed, the others
are done; 2 bad command line; 4 no GPU or driver; 130 interrupted.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=calibration minutes=9 part=1/1 skip='' only='.*' pack='' dry_run=no
build=$here/../../build/capture python=python3 bench='' inject=''

bad_usage() {
  echo "calibrate_node.sh: $1" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes; shift; continue ;;
    --help | -h) usage; exit 0 ;;
    -o | --minutes | --part | --skip | --only | --pack | --build | --python | --bench | --inject)
      [ $# -ge 2 ] || bad_usage "$1 has no value" ;;
    *) bad_usage "unknown option '$1'; --help lists them" ;;
  esac
  case $1 in
    -o) out=$2 ;;
    --minutes) minutes=$2 ;;
    --part) part=$2 ;;
    --skip) skip=$2 ;;
    --only) only=$2 ;;
    --pack) pack=$2 ;;
    --build) build=$2 ;;
    --python) python=$2 ;;
    --bench) bench=$2 ;;
    --inject) inject=$2 ;;
  esac
  shift 2
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || bad_usage "--minutes is '$minutes'; expected a whole number above 0"
[[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || bad_usage "--part is '$part'; expected K/N, as 1/3"
readonly part_index=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]}
[ "$part_index" -le "$parts" ] || bad_usage "--part is '$part'; expected K of at most N"
[ -z "$skip" ] || [ -r "$skip" ] || bad_usage "cannot read '$skip'"

# A step that takes longer than was estimated may run this much beyond the minutes.
readonly grace_seconds=20

# --- the steps: name, estimated seconds (measured on a virtual machine of one H100, 16 cores; of
# recordings not all: assumed), done when this exists (below DIR), command -----------------------------------------------------------------
names=() seconds=() results=() commands=()
step() {
  names+=("$1") seconds+=("$2") results+=("$3") commands+=("$4")
}

# Recordings, the most telling first: model, dtype, batch, optimizer, seconds.
readonly recordings='
resnet50 tf32 32 sgd_momentum 45
bert_base bf16 32 adam 60
resnet50 fp32 32 sgd_momentum 45
vgg16 tf32 32 sgd_momentum 45
resnet50 bf16 128 sgd_momentum 45
bert_large bf16 64 adam 60
resnet152 tf32 32 sgd_momentum 45
densenet201 tf32 32 sgd_momentum 60
inception_v4 tf32 32 sgd_momentum 60
gpt2 bf16 32 adam 60
inception_v3 tf32 32 sgd_momentum 55
resnet101 tf32 32 sgd_momentum 45
bert_base tf32 32 adam 45
bert_base bf16 128 adam 45
vgg16 bf16 64 sgd_momentum 45
bert_large bf16 16 adam 60
gpt2 bf16 8 adam 60
resnet50 tf32 64 sgd_momentum 45
resnet50 tf32 128 sgd_momentum 45
resnet50 bf16 64 sgd_momentum 45
densenet201 bf16 128 sgd_momentum 60
inception_v3 bf16 128 sgd_momentum 45
bert_large tf32 16 adam 60
gpt2 tf32 8 adam 60
resnet152 bf16 128 sgd_momentum 45
inception_v4 bf16 128 sgd_momentum 60
resnet50 tf32 256 sgd_momentum 45
resnet50 bf16 256 sgd_momentum 45
resnet50 fp32 64 sgd_momentum 45
resnet152 fp32 32 sgd_momentum 50
vgg16 fp32 32 sgd_momentum 45
resnet101 bf16 128 sgd_momentum 45
bert_large fp32 16 adam 70
'

plan() {
  step node 5 node.json run_node
  step selftest 5 selftest.txt run_selftest
  step copies 6 copies.json 'run_to_file copies'
  step overlap 5 overlap.json 'run_to_file overlap'
  step compressors 15 compressors.json 'run_workload compressors compressors'
  step compressors_cpu 8 compressors_cpu.json 'run_to_file compressors_cpu'
  step kernels 50 kernels.json 'run_workload kernels kernels'
  step operators 20 operators.json 'run_workload operators operators'
  if [ "$(gpu_count)" -ge 2 ]; then
    step collectives 120 collectives run_collectives
    step collectives_forced 300 collectives_forced run_forced_collectives
  fi
  local model dtype batch optimizer time
  while read -r model dtype batch optimizer time; do
    [ -n "$model" ] || continue
    step "${model}_${dtype}_b$batch" "$time" "recordings/${model}_${dtype}_b$batch" \
      "run_recording $model $dtype $batch $optimizer"
  done <<<"$recordings"
  step iterations 60 iterations.json run_iterations
}

gpu_count() {
  nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU '
}

# --- what the steps run -----------------------------------------------------------------------------
# Whatever a step does not finish stays in DIR/partial.
run_bench() {
  LD_LIBRARY_PATH=$library_path timeout -s INT "$limit" "$bench" "$@"
}

run_to_file() {
  run_bench "$1" --output "$out/partial/$1.json" && mv "$out/partial/$1.json" "$out/"
}

run_node() {
  run_to_file node || return
  if command -v nvidia-smi >/dev/null; then nvidia-smi topo -m >"$out/topo.txt"; fi
}

run_selftest() {
  run_bench selftest >"$out/partial/selftest.txt" && mv "$out/partial/selftest.txt" "$out/"
}

# A program of workloads/ and the file that it writes.
run_workload() {
  timeout -s INT "$limit" "$python" "$here/workloads/$1.py" \
    -o "$out/partial/$2.json" && mv "$out/partial/$2.json" "$out/"
}

# Whole iterations of many models, some 13 minutes in all: as many as there is time for in each call.
run_iterations() {
  "$python" "$here/workloads/iterations.py" "$here/workloads/iteration_rows.txt" \
    --seconds "$remaining" -o "$out/partial/iterations.json" && mv "$out/partial/iterations.json" "$out/"
}

run_collectives() {
  NCCL_TOPO_DUMP_FILE=$out/topology.xml NCCL_GRAPH_DUMP_FILE=$out/graph.xml \
    run_bench collectives --ops all --output "$out/partial/collectives" &&
    mv "$out/partial/collectives" "$out/"
}

run_forced_collectives() {
  run_bench collectives --ops all_reduce --algorithms ring,tree,nvls --protocols ll,ll128,simple \
    --output "$out/partial/collectives_forced" && mv "$out/partial/collectives_forced" "$out/"
}

run_recording() {
  timeout -s INT "$limit" "$python" "$here/workloads/train.py" --model "$1" --dtype "$2" \
    --batch "$3" --optimizer "$4" --inject "$inject" -o "$out"
}

build_all() {
  echo "calibrate_node.sh: building in $build" >&2
  if ! {
    cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Release &&
      cmake --build "$build" -j "$(nproc)"
  } >"$out/build.log" 2>&1; then
    tail -20 "$out/build.log" >&2
    echo "calibrate_node.sh: the build failed; $out/build.log has all of it" >&2
    exit 1
  fi
  [ -n "$bench" ] || bench=$build/gradwire-bench
  [ -n "$inject" ] || inject=$(find "$build" -name libgradwire_inject.so | head -1)
}

# Where PyTorch's wheels keep NCCL, cuBLAS and cuDNN.
wheel_libraries() {
  "$python" - <<'PYTHON' 2>/dev/null
import glob, sysconfig
print(":".join(sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib"))))
PYTHON
}

# --- the run ----------------------------------------------------------------------------------------
# state INDEX: why a step is not run, or "to do".
state() {
  local name=${names[$1]}
  if [ -e "$out/${results[$1]}" ]; then
    echo 'done'
  elif [ -n "$skip" ] && grep -qxF "$name" "$skip"; then
    echo skipped
  elif [[ ! $name =~ ^($only)$ ]]; then
    echo 'not asked for'
  elif [ $(($1 % parts + 1)) -ne "$part_index" ]; then
    echo "part $(($1 % parts + 1))"
  else
    echo 'to do'
  fi
}

print_plan() {
  local i total=0
  for i in "${!names[@]}"; do
    printf '%-24s %5d s  %s\n' "${names[$i]}" "${seconds[$i]}" "$(state "$i")"
    [ "$(state "$i")" != 'to do' ] || total=$((total + seconds[i]))
  done
  echo "to do: about $(((total + 59) / 60)) minutes; $minutes a call"
}

pack_results() {
  mkdir -p "$pack" || exit 1
  local suffix=gz compressor='gzip -9'
  if command -v zstd >/dev/null; then suffix=zst compressor='zstd -q -19 -T0'; fi
  rm -f "$pack"/calibration.tar.*
  tar -C "$out" --exclude='*.part' --exclude=./partial -cf - . | $compressor |
    split -b 15M -d -a 1 - "$pack/calibration.tar.$suffix." || {
    echo "calibrate_node.sh: the results do not fit 8 files of 15 MiB; expected less in $out" >&2
    exit 1
  }
  local files
  files=$(find "$pack" -name 'calibration.tar.*' | wc -l)
  if [ "$files" -gt 8 ]; then
    echo "calibrate_node.sh: the results take $files files of 15 MiB, expected at most 8; move some" \
      "recordings out of $out and pack again" >&2
    exit 1
  fi
  echo "packed into $files files; unpack: cat calibration.tar.$suffix.* | ${compressor%% *} -d | tar x"
}

plan
if [ "$dry_run" = yes ]; then
  print_plan
  exit 0
fi
mkdir -p "$out/partial" || exit 1
out=$(cd "$out" && pwd)
readonly begin=$SECONDS
if [ -z "$bench" ]; then build_all; fi
library_path=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(wheel_libraries)
trap 'exit 130' INT TERM

failed=() left=()
for i in "${!names[@]}"; do
  [ "$(state "$i")" = 'to do' ] || continue
  name=${names[$i]}
  remaining=$((minutes * 60 - (SECONDS - begin)))
  if [ "${seconds[$i]}" -gt "$remaining" ]; then
    left+=("$name")
    continue
  fi
  echo "calibrate_node.sh: $name, about ${seconds[$i]} s; $remaining s left" >&2
  step_begin=$SECONDS
  limit=$((remaining + grace_seconds))
  eval "${commands[$i]}"
  code=$?
  if [ $code -eq 0 ]; then
    echo "$name" >>"$out/done.txt"
    echo "$name $((SECONDS - step_begin))" >>"$out/seconds.txt"
  elif [ $code -eq 4 ] || [ $code -eq 130 ]; then
    exit $code
  elif [ $code -eq 5 ]; then
    left+=("$name")
  else
    failed+=("$name")
    echo "calibrate_node.sh: $name failed with $code" >&2
  fi
done

[ -z "$pack" ] || pack_results
if [ ${#left[@]} -gt 0 ]; then echo "no time for: ${left[*]}; call again"; fi
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}"
  exit 1
fi
