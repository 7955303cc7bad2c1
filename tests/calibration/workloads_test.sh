#!/usr/bin/env bash
# The Python workloads on a CPU: needs a python3 with PyTorch, else the test is skipped.
# usage: workloads_test.sh FOLDER   (calibration/capture)
set -u
capture=$1
python=''
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import torch' 2>/dev/null; then python=$candidate; fi
done
[ -n "$python" ] || { echo 'skipped: no python3 with PyTorch'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1

fail() {
  echo "FAILED: $*"
  exit 1
}
train() {
  "$python" "$capture/workloads/train.py" --device cpu --batch 4 --warmup 2 --iterations 5 \
    -o "$folder" "$@"
}

# What was trained is reported whole: the toy has 6 parameters, 3 buffers of 1025 elements.
train --model toy --dtype bf16 --phases uninstrumented || fail 'train.py'
"$python" - "$folder/recordings/toy_bf16_b4" <<'PYTHON' || fail 'its files'
import json, sys
workload = json.load(open(sys.argv[1] + "/workload.json"))
times = json.load(open(sys.argv[1] + "/uninstrumented.json"))
assert workload["schema"] == "gradwire.workload/1"
names = [parameter["name"] for parameter in workload["parameters"]]
assert names == ["0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias"], names
assert workload["parameters"][0] == {"name": "0.weight", "shape": [512, 256], "dtype": "float32"}
assert workload["buffers"] == {"tensors": 3, "elements": 512 + 512 + 1}
assert times["schema"] == "gradwire.iterations/1" and times["clock"] == "host"
assert len(times["iteration_ns"]) == 5 and min(times["iteration_ns"]) > 0
PYTHON

# What is finished stays; what fails leaves nothing.
touch -d '3 days ago' "$folder/recordings/toy_bf16_b4/workload.json"
train --model toy --dtype bf16 --phases uninstrumented 2>/dev/null || fail 'a second time'
[ -z "$(find "$folder/recordings" -name workload.json -mtime -1)" ] || fail 'it was done again'
train --model toyz --phases uninstrumented 2>"$folder/err"
[ $? -eq 2 ] || fail 'an unknown model is taken'
grep -q "no model 'toyz'; expected one of resnet50" "$folder/err" || fail 'its message'
train --model toy --phases full 2>/dev/null
[ $? -eq 2 ] || fail 'it records without a recorder'
[ "$(ls "$folder/recordings")" = toy_bf16_b4 ] || fail 'parts are left'

# All phases, two of them under the launcher. A CPU gives a recorder nothing to record: any file
# stands for its library.
touch "$folder/inject.so"
train --model toy --inject "$folder/inject.so" 2>"$folder/err" || fail 'three phases'
[ -s "$folder/recordings/toy_tf32_b4/uninstrumented.json" ] || fail 'the files of three phases'
[ ! -e "$folder/recordings/toy_tf32_b4.part" ] || fail 'a part is left'

# Every compressor's operations run, and decode to the gradient's size.
"$python" "$capture/workloads/compressors.py" --device cpu --log2-elements 10:11 \
  -o "$folder/compressors.json" || fail 'compressors.py'
"$python" - "$folder/compressors.json" "$capture/workloads" <<'PYTHON' || fail 'its file'
import json, sys
sys.path.insert(0, sys.argv[2])
import torch
from compressors import CODECS
record = json.load(open(sys.argv[1]))
assert [table["compressor"] for table in record["tables"]] == list(CODECS)
for table in record["tables"]:
    assert [row["elements"] for row in table["rows"]] == [1024, 2048]
torch.manual_seed(1)
gradient = torch.randn(4096)
for name, kind in CODECS.items():
    codec = kind(torch, gradient.clone())
    restored = codec.decode(codec.encode())
    assert restored.shape == gradient.shape, name
    if name in ("fp16", "bf16", "qsgd"):
        assert (restored - gradient).abs().max() < 0.02 * gradient.norm(), name
    elif name.endswith(("topk", "dgc", "randomk")):
        kept = restored != 0
        assert kept.any() and (restored[kept] == gradient[kept]).all(), name
        # 0.1 % of 4096; DGC's threshold is a sample's, which lets through what it happens to.
        assert name == "dgc" or kept.sum() <= 4, name
    else:  # a compressor's result points the way the gradient does
        assert torch.dot(restored, gradient) > 0, name
PYTHON
echo passed
