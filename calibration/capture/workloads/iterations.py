#!/usr/bin/env python3
"""Times whole iterations of many models without any recorder, and the memory that they keep: what a
profile that is counted from a model's shape is held against.

  iterations.py -o FILE ROWS

ROWS is a file of lines `model dtype batch [option...]`: a model and a type of train.py's, options
channels_last, compile, sequence=N, pure (weights, gradients and the optimizer's states in bf16
themselves, without autocast), checkpoint (transformers' gradient checkpointing: each block forward
again), fused (its optimizer's one kernel), scaler (torch.amp.GradScaler: fp16 in place of bf16). Networks of images
are trained by SGD with momentum, others by Adam. Writes one JSON object, gradwire.iteration_times/1, after each row anew; rows that FILE holds are
not run again. A row that fails is in it with its error.
Exit codes: 0 all rows are there, 2 bad command line, 4 no GPU, 5 the time is over: call again.
"""

import argparse
import gc
import json
import pathlib
import sys
import time

import torch

import train
from models import load_package, make_workload

WARMUP = 8
# Iterations that count: as many as fit, at least and at most.
SECONDS = 2.5
LEAST, MOST = 8, 50
PERCENTILES = (5, 25, 50, 75, 95)
TIME_IS_OVER = 5


def parse_row(line):
    model, dtype, batch, *options = line.split()
    row = {"model": model, "dtype": dtype, "batch_per_gpu": int(batch)}
    for option in options:
        name, _, value = option.partition("=")
        row[name] = int(value) if value else True
    return row


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def time_row(row):
    torch.manual_seed(1)
    train.set_precision(torch, row["dtype"])
    workload = make_workload(row["model"], row["batch_per_gpu"], row.get("sequence"), "cuda")
    workload.model.train()
    if row.get("channels_last"):
        workload.keep_channels_last()
    if row.get("pure"):
        workload.model.to(torch.bfloat16)
    if row.get("checkpoint"):
        workload.model.gradient_checkpointing_enable()
    if row.get("compile"):
        workload.model.compile()
    name = "sgd_momentum" if workload.images else "adam"
    optimizer = train.make_optimizer(torch, name, workload.model, fused=row.get("fused"))
    half = torch.float16 if row.get("scaler") else torch.bfloat16
    autocast = row["dtype"] == "bf16" and not row.get("pure")
    scaler = torch.amp.GradScaler("cuda", enabled=row.get("scaler", False))

    def iteration():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", half, autocast):
            loss = workload.loss()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(WARMUP):
        iteration()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    for _ in range(2):
        iteration()
    torch.cuda.synchronize()
    took = (time.perf_counter() - begin) / 2
    clock = train.IterationClock(torch, "cuda")
    for _ in range(1 + min(MOST, max(LEAST, int(SECONDS / took)))):
        clock.mark()
        iteration()
    times = clock.content()["iteration_ns"]
    return {
        "optimizer": name,
        "parameters": sum(p.numel() for p in workload.model.parameters() if p.requires_grad),
        "iterations": len(times),
        "iteration_ns": {f"p{p}": percentile(times, p) for p in PERCENTILES},
        "allocated_peak": torch.cuda.max_memory_allocated(),
        "reserved_peak": torch.cuda.max_memory_reserved(),
    }


def free(compiled):
    gc.collect()
    if compiled:
        torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=train.positive, help="begins no row after these")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        train.fail(train.NO_GPU_MESSAGE, train.NO_GPU)
    begin = time.perf_counter()
    rows = [parse_row(l) for l in arguments.rows.read_text().splitlines() if l and l[0] != "#"]
    content = {
        "schema": "gradwire.iteration_times/1",
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "rows": [],
    }
    if arguments.output.exists():
        content = json.loads(arguments.output.read_text())
    done = [row["row"] for row in content["rows"]]
    for row in rows:
        if row in done:
            continue
        start = time.perf_counter()
        if arguments.seconds and start - begin > arguments.seconds:
            return TIME_IS_OVER
        try:
            load_package(row["model"])
            result = time_row(row)
            shown = f"{result['iteration_ns']['p50'] / 1e6:.3f} ms"
        except Exception as error:  # noqa: BLE001, whatever a package throws: the others go on
            result = {"error": f"{type(error).__name__}: {error}"[:300]}
            shown = result["error"]
        free(row.get("compile"))
        content["rows"].append({"row": row, **result})
        train.write_json(arguments.output, content)
        print(row, shown, f"[{time.perf_counter() - start:.1f} s]", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
