#!/usr/bin/env python3
"""Whole predictions against their budgets, and against another build.

    tests/bench/budgets.py build/release/gradwire [--against COMMIT|OTHER/gradwire] [--only REGEX] [--repeats 5]

Each case is a process of its own. A line says its user CPU seconds (with its children's), of them those of the
engine's run, its wall-clock seconds (each the least of the repeats), its peak memory, and its budget, of which of the
three; with --against also what the other build took, run in turns with this one, and the ratio. A commit is built in a
folder of its own, which goes when all is measured. Results are written nowhere else.

The cases are of scenarios/ddp_1024_gpus.yaml, with other machines and strategies. What is held to a budget of engine
seconds runs 3 iterations in all, without warm-up: it says what events cost, not how many repeat. Sweeps and compares run
the 12 of the scenario, with two jobs, as a user would: their budget is of the wall clock. "points" predicts the same job
of 3 iterations with one seed after another, by one job: its budget is of CPU seconds.
"""
import argparse
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
DDP = "ddp_1024_gpus.yaml"
NO_JITTER = "jitter={iteration: 0 %, layer: 0 %}"
SHORT = "run={iterations: 3, warmup: 0}"
BERT = "profile={model: bert_large, gpu: v100-sxm2-32gb, dtype: fp32, batch_per_gpu: 8}"  # counted: older programs know it
SERVERS_LINK = "cluster.fabric.link=eth_100g"


def machines(gpus):
    return f"cluster.nodes={gpus // 8}"


def strategy(text):
    return "strategy={name: %s}" % text


def cases():
    """(name, seconds to stay under, of what, MB to stay under, arguments of gradwire); 0: no budget."""
    names = {"ddp": "ddp, version: '1.7', broadcast_buffers: false", "wfbp": "wfbp", "horovod": "horovod",
             "fsdp": "fsdp", "dear": "dear", "kungfu": "kungfu_sync"}

    def run(sets, file=DDP):
        return ["run", str(SCENARIOS / file)] + [word for text in sets for word in ("--set", text)]

    def sweep(jobs, *sets):
        return ["sweep", str(SCENARIOS / DDP), "--jobs", jobs] + [word for text in sets for word in ("--set", text)]

    def compare(*sets):
        return (["compare", str(SCENARIOS / "compare_64_gpus.yaml"), "--jobs", "2"] +
                [word for text in sets for word in ("--set", text)])

    for gpus, names_here in ((1024, ("ddp", "wfbp", "horovod", "fsdp", "dear")),
                             (4096, ("ddp", "wfbp", "horovod", "fsdp", "kungfu")),
                             (65536, ("ddp", "wfbp"))):
        for name in names_here:
            seconds = {(1024, "ddp"): 0.005, (1024, "wfbp"): 0.015, (1024, "horovod"): 0.02, (1024, "fsdp"): 0.015,
                       (1024, "dear"): 0.01, (4096, "ddp"): 0.02, (4096, "wfbp"): 0.05, (4096, "horovod"): 0.06,
                       (4096, "fsdp"): 0.04, (4096, "kungfu"): 0.15, (65536, "ddp"): 0.4, (65536, "wfbp"): 0.8}
            yield (f"jitter {name} {gpus}", seconds[gpus, name], "engine", 0,
                   run([machines(gpus), strategy(names[name]), SHORT]))
    for gpus, seconds in ((1024, 0.05), (4096, 0.15), (16384, 0.6)):
        yield (f"byteps {gpus}", seconds, "engine", 150,
               run([machines(gpus), strategy("byteps"), SERVERS_LINK, NO_JITTER, SHORT]))
    for name in ("ps_async", "ps_sync", "p3", "tictac", "ssp"):
        for gpus, seconds in ((1024, 0.3), (4096, 1)):
            yield (f"{name} {gpus}", seconds, "engine", 200,
                   run([machines(gpus), strategy(name), SERVERS_LINK, NO_JITTER, SHORT]))
    for gpus, seconds in ((64, 0.01), (1024, 0.02), (4096, 0.04)):
        yield (f"kungfu {gpus}", seconds, "engine", 0,
               run([machines(gpus), strategy("kungfu_sync"), NO_JITTER, SHORT]))
    yield ("ddp 262144", 0.4, "wall", 200, run([machines(262144), NO_JITTER]))
    yield ("ddp 1000000", 1.5, "wall", 500, run([machines(1000000), NO_JITTER]))
    yield ("ddp 65536 on rails", 0.2, "wall", 120,
           run(["points=[{label: all}]", machines(65536), strategy("ddp"), NO_JITTER], "rails.yaml"))
    yield ("compare 64", 3, "wall", 0, compare())
    yield ("compare 1024", 15, "wall", 0, compare(machines(1024)))
    every = "strategy.name: [ddp, wfbp, horovod, fsdp, dear, kungfu_sync, byteps, bytescheduler]"
    sizes = "cluster.nodes: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]"
    for name, seconds, sets in (("resnet50", 6, []), ("bert_large", 10, [BERT])):
        yield (f"sweep 8 x 10, {name}", seconds, "wall", 0, sweep("2", "vary={%s, %s}" % (every, sizes), *sets))
    for name, seconds in (("ddp", 0.2), ("horovod", 0.4)):  # 80 and 40 points a second
        yield (f"16 points of {name} 1024", seconds, "CPU", 0,
               sweep("1", "vary={run.seed: [%s]}" % ", ".join(map(str, range(1, 17))), strategy(names[name]), SHORT))
    yield ("accumulation 128, 256", 0.2, "CPU", 0,
           run(["points=[{label: all}]", "cluster.nodes=32", "strategy.grad_accumulation=128"],
               "gradient_accumulation.yaml"))
    yield ("10000 iterations, 1024", 0, "CPU", 60, run(["run.iterations=10000", NO_JITTER]))
    yield ("quickstart", 0.04, "CPU", 0, run([], "quickstart.yaml"))
    yield ("one small run", 0.02, "CPU", 0, run([machines(8)]))
    yield ("help", 0.008, "CPU", 0, ["--help"])


def engine_seconds(document):
    """Of the run, without planning; "wall_s" is its name in results of version 0.1.0."""
    results = document.get("results", [document])  # of a scenario with points, or the one result
    return sum(result["engine"].get("run_s", result["engine"].get("wall_s", 0)) for result in results)


class Took:
    """Least CPU, engine and wall-clock seconds and most MB of some runs of a case."""

    def __init__(self):
        self.cpu = self.engine = self.wall = float("inf")
        self.memory = 0.0
        self.error = ""

    def run(self, program, arguments, limit):
        with tempfile.NamedTemporaryFile(suffix=".json") as results:
            writes = ["--json", results.name] if arguments[0] == "run" else []
            begun = time.monotonic()
            child = subprocess.Popen(
                [program, "--quiet", *arguments, *writes], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
            text = child.stderr.read().decode()
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - begun
            child.returncode = status
            if os.WIFSIGNALED(status):
                signalled = os.WTERMSIG(status)
                over = signalled in (signal.SIGXCPU, signal.SIGKILL)
                self.error = f"over {limit} s" if over else f"signal {signalled}"
                return
            if os.WEXITSTATUS(status) != 0:
                self.error = text.strip().splitlines()[-1][:100] if text.strip() else f"exit {os.WEXITSTATUS(status)}"
                return
            self.cpu = min(self.cpu, usage.ru_utime)  # of its children, too
            self.wall = min(self.wall, wall)
            self.memory = max(self.memory, usage.ru_maxrss / 1024)
            if writes:
                self.engine = min(self.engine, engine_seconds(json.loads(Path(results.name).read_text())))

    def __str__(self):
        if self.error:
            return f"{self.error:>44}"
        engine = f"{self.engine:9.4f}" if self.engine < float("inf") else " " * 9
        return f"{self.cpu:9.3f} s {engine} s {self.wall:9.3f} s {self.memory:7.0f} MB"


@contextlib.contextmanager
def program_of(build):
    """The path of another build's program: `build`, or, where that is no file, that of a commit."""
    if Path(build).is_file():
        yield build
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", "--quiet", tree, build], check=True)
        try:
            print(f"building {build} ...", file=sys.stderr, flush=True)
            subprocess.run(["cmake", "--preset", "release"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["cmake", "--build", "build/release", "--target", "gradwire"], cwd=tree, check=True,
                           stdout=subprocess.DEVNULL)
            yield str(tree / "build/release/gradwire")
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)


def measure(programs, options):
    """Prints a line for each case."""
    print(f"{'':<24} {'user CPU':>11} {'engine':>11} {'wall clock':>11} {'memory':>10}")
    for name, seconds, of, memory, arguments in cases():
        if not re.search(options.only, name):
            continue
        took = [Took() for _ in programs]
        for _ in range(options.repeats):
            for one, program in zip(took, programs):
                if not one.error:
                    one.run(program, arguments, options.limit)
        line = f"{name:<24} {took[0]}"
        line += f"   budget {seconds:6.3f} s {of:<6}" if seconds else " " * 25
        line += f" {memory:4} MB" if memory else " " * 8
        if len(took) > 1:
            line += f"   against {took[1]}"
            if not took[0].error and not took[1].error:
                line += f"   CPU x{took[0].cpu / max(took[1].cpu, 1e-3):.2f}, MB x{took[0].memory / took[1].memory:.2f}"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--against", help="a commit, or another build's program")
    parser.add_argument("--only", default="", help="regular expression of cases' names")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds that a run may take")
    options = parser.parse_args()
    with program_of(options.against) if options.against else contextlib.nullcontext() as other:
        measure([options.program] + ([other] if other else []), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
