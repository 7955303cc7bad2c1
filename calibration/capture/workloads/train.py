#!/usr/bin/env python3
"""Trains one model on made-up data and records it: what `fit` turns into a compute profile.

  train.py --model resnet50 --dtype tf32 --batch 32 -o DIR

writes DIR/recordings/resnet50_tf32_b32: workload.json (what ran), uninstrumented.json (times of
iterations without any recorder), and the recorder's files of a light and a full phase. Each phase
is a process of its own, since a recorder is loaded for a process's life. A recording that is
finished is left as it is, so that a run can be repeated until all are there. Phases load their
packages side by side, which takes longer than the work; the first begins when all have done so, each
other when the one before has ended, so that nothing else runs beside what is measured.

dtype: fp32 (no TF32), tf32 (TF32 in matrix products and convolutions), bf16 (torch.autocast:
parameters, gradients and optimizer stay fp32, so that gradients of 4 bytes travel), fp16 (the same
with torch.amp.GradScaler).
Exit codes: 0 done, 1 failed, 2 bad command line, 4 no GPU, 130 interrupted.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PHASES = ("uninstrumented", "light", "full")
DTYPES = ("fp32", "tf32", "bf16", "fp16")
OPTIMIZERS = ("sgd_momentum", "adam")
FORMATS = ("contiguous", "channels_last")
NO_GPU = 4
NO_GPU_MESSAGE = "no GPU that works; expected a node with an NVIDIA GPU and its driver"
BAD_COMMAND_LINE = 2
INTERRUPTED = 130


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--dtype", choices=DTYPES, default="tf32")
    parser.add_argument("--batch", type=positive, default=32, help="samples on the GPU [32]")
    parser.add_argument("--sequence-length", type=positive, help="of BERT [128], GPT-2 [1024]")
    parser.add_argument("--memory-format", choices=FORMATS, default=FORMATS[0], help="of images")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd_momentum")
    parser.add_argument("--warmup", type=positive, default=10, help="iterations before [10]")
    parser.add_argument("--iterations", type=positive, default=50, help="that count [50]")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--phases", type=phases, default=PHASES, help="[uninstrumented,light,full]")
    parser.add_argument("--inject", help="libgradwire_inject.so [beside the bench program]")
    parser.add_argument("--launcher", default=str(HERE.parent / "gradwire_torch.py"))
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("calibration"))
    # Given by this script to itself: the process of one phase.
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--ready", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def phases(text):
    chosen = text.split(",")
    if not set(chosen) <= set(PHASES):
        raise argparse.ArgumentTypeError(f"'{text}'; expected some of {', '.join(PHASES)}")
    return chosen


def fail(message, code=1):
    print(f"train.py: {message}", file=sys.stderr)
    sys.exit(code)


def recording_name(arguments):
    format_name = "" if arguments.memory_format == FORMATS[0] else f"_{arguments.memory_format}"
    return f"{arguments.model}_{arguments.dtype}_b{arguments.batch}{format_name}"


def write_json(path, content):
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content, indent=1) + "\n")
    part.rename(path)


# --- the process of one phase ------------------------------------------------------------------


def set_precision(torch, dtype):
    tf32 = dtype == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def output_where_a_gpu_is(torch, description):
    """The file that a program with no other argument writes; ends it where no GPU works."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        fail(NO_GPU_MESSAGE, NO_GPU)
    return arguments.output


def make_optimizer(torch, name, model, fused=None):
    if name == "adam":
        return torch.optim.Adam(model.parameters(), lr=1e-4, fused=fused)
    return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=fused)


def make_iteration(torch, workload, optimizer, dtype, device, pure=False):
    """A function that trains with one batch; `pure`: weights are of the type, without autocast."""
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype)
    scaler = torch.amp.GradScaler(device, enabled=dtype == "fp16")

    def iteration():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, half, half is not None and not pure):
            loss = workload.loss()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return iteration


def describe(torch, workload, arguments):
    """What ran, in the words of gradwire.workload/1."""
    cuda = arguments.device == "cuda"
    buffers = [buffer for buffer in workload.model.buffers() if buffer.numel()]
    return {
        "schema": "gradwire.workload/1",
        "model": arguments.model,
        "gpu": torch.cuda.get_device_name() if cuda else "cpu",
        "batch_per_gpu": arguments.batch,
        "dtype": arguments.dtype,
        "grad_dtype": "fp32",
        "optimizer": arguments.optimizer,
        "framework": "pytorch",
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cudnn": torch.backends.cudnn.version() or 0 if cuda else 0,
        "mode": "eager",
        "warmup": arguments.warmup,
        "iterations": arguments.iterations,
        **({"loss_scaling": "GradScaler"} if arguments.dtype == "fp16" else {}),
        **workload.facts,
        "parameters": [
            {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype).split(".")[-1]}
            for name, tensor in workload.model.named_parameters()
            if tensor.requires_grad
        ],
        "buffers": {
            "tensors": len(buffers),
            "elements": sum(buffer.numel() for buffer in buffers),
            "bytes": sum(buffer.numel() * buffer.element_size() for buffer in buffers),
        },
    }


class IterationClock:
    """Marks the starts of iterations; iteration_ns are the times between them."""

    def __init__(self, torch, device):
        self.torch = torch
        self.on_gpu = device == "cuda"
        self.starts = []

    def mark(self):
        if self.on_gpu:
            event = self.torch.cuda.Event(enable_timing=True)
            event.record()
            self.starts.append(event)
        else:
            self.starts.append(time.perf_counter_ns())

    def content(self):
        pairs = zip(self.starts, self.starts[1:])
        if self.on_gpu:
            self.torch.cuda.synchronize()
            times = [round(first.elapsed_time(second) * 1e6) for first, second in pairs]
        else:
            times = [second - first for first, second in pairs]
        return {
            "schema": "gradwire.iterations/1",
            "clock": "cuda_event" if self.on_gpu else "host",
            "iteration_ns": times,
        }


def wait_for_turn(arguments):
    """Says that all is loaded; a byte on standard input says that it is this process's turn, its end
    that whoever would have said so is gone."""
    os.write(arguments.ready, b"r")
    os.close(arguments.ready)
    if not sys.stdin.buffer.read(1):
        sys.exit(INTERRUPTED)


def run_phase(arguments):
    import torch

    from models import MissingPackage, UnknownModel, load_package, make_workload

    cuda = arguments.device == "cuda"
    try:
        load_package(arguments.model)
    except UnknownModel as error:
        fail(error, BAD_COMMAND_LINE)
    except MissingPackage as error:
        fail(error)
    wait_for_turn(arguments)
    if cuda and not torch.cuda.is_available():
        fail(NO_GPU_MESSAGE, NO_GPU)
    torch.manual_seed(1)
    set_precision(torch, arguments.dtype)
    workload = make_workload(
        arguments.model, arguments.batch, arguments.sequence_length, arguments.device
    )
    workload.model.train()
    if arguments.memory_format == "channels_last":
        workload.keep_channels_last()
    optimizer = make_optimizer(torch, arguments.optimizer, workload.model)
    clock = IterationClock(torch, arguments.device)
    iteration = make_iteration(torch, workload, optimizer, arguments.dtype, arguments.device)
    # One more than counts: its start is the end of the last one.
    for number in range(arguments.warmup + arguments.iterations + 1):
        if number >= arguments.warmup:
            clock.mark()
        iteration()
    content = clock.content()
    if arguments.phase == "uninstrumented":
        write_json(arguments.folder / "uninstrumented.json", content)
        write_json(arguments.folder / "workload.json", describe(torch, workload, arguments))


# --- the process that starts the phases ----------------------------------------------------------


def phase_environment(phase, arguments, folder):
    environment = dict(os.environ)
    # Ours, if anybody's, is the recorder of this phase.
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        environment.pop(name, None)
    if phase != "uninstrumented":
        environment["CUDA_INJECTION64_PATH"] = arguments.inject
        environment["NVTX_INJECTION64_PATH"] = arguments.inject
        environment["GRADWIRE_OUT"] = str(folder)
        environment["GRADWIRE_MODE"] = phase
        environment["GRADWIRE_SKIP_ITERS"] = str(arguments.warmup)
        environment["GRADWIRE_ITERS"] = str(arguments.iterations)
    return environment


def phase_command(phase, arguments, folder):
    command = [sys.executable]
    if phase != "uninstrumented":
        command.append(arguments.launcher)  # marks iterations; in the full phase much more
    command += [str(HERE / "train.py"), "--phase", phase, "--folder", str(folder)]
    command += ["--memory-format", arguments.memory_format]
    for name in ("model", "dtype", "batch", "optimizer", "warmup", "iterations", "device"):
        command += [f"--{name}", str(getattr(arguments, name))]
    if arguments.sequence_length:
        command += ["--sequence-length", str(arguments.sequence_length)]
    return command


def start_phase(phase, arguments, folder):
    """Its process, and where it says that it is loaded."""
    ready, told = os.pipe()
    process = subprocess.Popen(
        [*phase_command(phase, arguments, folder), "--ready", str(told)],
        env=phase_environment(phase, arguments, folder),
        stdin=subprocess.PIPE,
        pass_fds=[told],
    )
    os.close(told)
    return process, ready


def find_recorder(arguments):
    """The recorder's library, needed by two of the phases."""
    if set(arguments.phases) <= {"uninstrumented"}:
        return
    if not arguments.inject:
        fail("no --inject; expected the path of libgradwire_inject.so", BAD_COMMAND_LINE)
    if not os.path.exists(arguments.inject):
        fail(f"no '{arguments.inject}'; expected libgradwire_inject.so", BAD_COMMAND_LINE)
    arguments.inject = os.path.abspath(arguments.inject)
    if not os.path.exists(arguments.launcher):
        fail(f"no '{arguments.launcher}'; expected gradwire_torch.py", BAD_COMMAND_LINE)


def record(arguments):
    find_recorder(arguments)
    done = arguments.output / "recordings" / recording_name(arguments)
    if done.exists():
        print(f"train.py: {done} is there already", file=sys.stderr)
        return 0
    folder = done.with_name(done.name + ".part")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    codes = {}
    try:
        running = {phase: start_phase(phase, arguments, folder) for phase in arguments.phases}
        for _, ready in running.values():
            os.read(ready, 1)  # empty where it ended before
            os.close(ready)
        for phase, (process, _) in running.items():
            try:
                process.stdin.write(b"g")
                process.stdin.close()
            except BrokenPipeError:  # it ended before, and its code says why
                pass
            codes[phase] = process.wait()
    except KeyboardInterrupt:  # the terminal's signal reached the phases too
        return INTERRUPTED
    for phase, code in codes.items():
        if code != 0:
            print(f"train.py: the {phase} phase ended with {code}", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            return code if code in (BAD_COMMAND_LINE, NO_GPU) else 1
        if arguments.device == "cuda" and phase != "uninstrumented":
            if not list(folder.glob(f"{phase}.*.gwr")):
                shutil.rmtree(folder, ignore_errors=True)
                fail(f"the recorder wrote nothing in the {phase} phase; its own messages say why")
    folder.rename(done)
    return 0


def main():
    arguments = parse_arguments()
    if arguments.phase:
        run_phase(arguments)
        return 0
    return record(arguments)


if __name__ == "__main__":
    sys.exit(main())
