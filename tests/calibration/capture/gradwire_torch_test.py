#!/usr/bin/env python3
"""What the launcher marks in a small training program, on a CPU. usage: ...py FOLDER_OF_LAUNCHER

Exit code 77 where there is no torch: the test is skipped."""

import json
import os
import subprocess
import sys
import tempfile
import types

PROGRAM = """
import sys
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4, bias=False)
        self.act = torch.nn.ReLU()

    def forward(self, x):
        return self.act(self.linear(x))

assert sys.argv[1:] == ["--steps", "2"], sys.argv
torch.manual_seed(1)
model = torch.nn.Sequential(Block(), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
with torch.no_grad():
    model(torch.randn(8, 4))  # trains nothing: no iteration begins
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
before = [parameter.clone() for parameter in model.parameters()]
for step in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
    scheduler.step()
assert any((a != b).any() for a, b in zip(before, model.parameters()))
sys.exit(7)
"""

FORWARD = ["Sequential", "0", "0.linear", "0.act", "1", "2"]
# Gradients come in the backward's order; the bias of a layer before or after its weight, as torch
# likes.
GRADIENTS = {"0.linear.weight:16", "1.weight:4", "1.bias:4", "2.weight:4", "2.bias:1"}


def run_inner(launcher_folder, program):
    """In a process of its own: the program under the launcher, with an NVTX that prints."""
    sys.path.insert(0, launcher_folder)
    import gradwire_torch

    log = open(os.environ["TEST_LOG"], "w", buffering=1)
    nvtx = types.SimpleNamespace(
        range_push=lambda text: log.write("push " + text + "\n"),
        range_pop=lambda: log.write("pop\n"),
        mark=lambda text: log.write("mark " + text + "\n"),
    )
    gradwire_torch.find_nvtx = lambda torch: nvtx
    sys.argv = ["gradwire_torch.py", program, "--steps", "2"]
    sys.exit(gradwire_torch.main())


def launch(launcher_folder, folder, mode):
    program = os.path.join(folder, "program.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    log = os.path.join(folder, "log")
    environment = dict(os.environ, TEST_LOG=log, GRADWIRE_MODE=mode, GRADWIRE_OUT=folder)
    done = subprocess.run(
        [sys.executable, __file__, launcher_folder, program],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 7, done.stderr
    with open(log) as file:
        return file.read().splitlines()


def check_full(launcher_folder, folder):
    lines = launch(launcher_folder, folder, "full")
    assert lines.count("pop") == sum(line.startswith("push") for line in lines)
    marks = [i for i, line in enumerate(lines) if line.startswith("mark gradwire.iteration:")]
    assert [lines[i] for i in marks] == ["mark gradwire.iteration:%d" % n for n in range(3)], lines
    assert not [line for line in lines[: marks[0]] if "gradwire.fwd" in line], lines
    for begin, end in zip(marks, marks[1:]):
        iteration = lines[begin + 1 : end]
        pushed = [line for line in iteration if line.startswith("push")]
        forward = ["push gradwire.fwd:" + name for name in FORWARD]
        assert pushed == forward + ["push gradwire.optimizer"], pushed
        gradients = [line for line in iteration if line.startswith("mark gradwire.grad:")]
        expected = {"mark gradwire.grad:%s:float32" % name for name in GRADIENTS}
        assert set(gradients) == expected and len(gradients) == 5, gradients
        # The last layer's gradients come first, the first layer's last, before the optimizer.
        assert {line.split(":")[1] for line in gradients[:2]} == {"2.weight", "2.bias"}, gradients
        assert "0.linear.weight" in gradients[-1], gradients
        assert iteration.index(gradients[-1]) < iteration.index("push gradwire.optimizer")
    with open(os.path.join(folder, "workload.json")) as file:
        workload = json.load(file)
    assert workload["schema"] == "gradwire.workload/1"
    assert workload["batch_per_gpu"] == 8
    assert workload["optimizer"] == "SGD"
    assert workload["parameters"][0] == {
        "name": "0.linear.weight",
        "shape": [4, 4],
        "dtype": "float32",
    }
    assert len(workload["parameters"]) == 5
    assert workload["buffers"] == {  # of the batch norm: fp32, fp32, int64
        "tensors": 3,
        "elements": 4 + 4 + 1,
        "bytes": 4 * 4 + 4 * 4 + 8,
    }


def check_light(launcher_folder, folder):
    lines = launch(launcher_folder, folder, "light")
    assert lines == ["mark gradwire.iteration:%d" % n for n in range(3)], lines


def check_names(launcher_folder):
    sys.path.insert(0, launcher_folder)
    from gradwire_torch import without_wrappers

    assert without_wrappers("module.layer1.0.conv1.weight") == "layer1.0.conv1.weight"
    assert without_wrappers("_orig_mod.layer1.weight") == "layer1.weight"
    assert without_wrappers("a._fsdp_wrapped_module.b.weight") == "a.b.weight"
    assert without_wrappers("encoder.module.weight") == "encoder.module.weight"


def check_wrappers(launcher_folder):
    """A wrapper's forward is no layer: what it wraps bears the name."""
    import torch

    sys.path.insert(0, launcher_folder)
    from gradwire_torch import Launcher, unwrapped

    class Checkpointed(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self._checkpoint_wrapped_module = inner

    model = torch.nn.Sequential(Checkpointed(torch.nn.Linear(2, 2)), torch.nn.ReLU())
    wrapped = torch.nn.DataParallel(model)
    assert unwrapped(wrapped) is model
    launcher = Launcher(torch, types.SimpleNamespace(mark=lambda _: None), False, "")
    launcher.adopt(wrapped, [])
    assert sorted(launcher.module_names.values()) == ["0", "1", "Sequential"], launcher.module_names
    assert wrapped not in launcher.module_names and model[0] not in launcher.module_names


def check_compiling(launcher_folder):
    """torch.compile is reported once, passed on, and kept; where it is disabled it compiles nothing."""
    sys.path.insert(0, launcher_folder)
    import contextlib
    import io

    from gradwire_torch import Launcher

    torch = types.SimpleNamespace(compile=lambda model, **options: (model, options))
    launcher = Launcher(torch, None, True, "")
    launcher.watch_compiling()
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        assert torch.compile("model", disable=True) == ("model", {"disable": True})
        assert not launcher.compiled and not told.getvalue()
        assert torch.compile("model", mode="default") == ("model", {"mode": "default"})
        assert torch.compile("other") == ("other", {})
    assert launcher.compiled
    assert told.getvalue().count("gradwire_torch: the program calls torch.compile") == 1
    old = types.SimpleNamespace()  # torch 1.13 has none
    Launcher(old, None, True, "").watch_compiling()
    assert not hasattr(old, "compile")


def main():
    check_compiling(sys.argv[1])
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: no torch for " + sys.executable)
        return 77
    if len(sys.argv) > 2:
        return run_inner(sys.argv[1], sys.argv[2])
    check_names(sys.argv[1])
    check_wrappers(sys.argv[1])
    for check in (check_full, check_light):
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
