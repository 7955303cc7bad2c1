#!/usr/bin/env python3
"""Runs a PyTorch program, unmodified, with the marks that Gradwire's recorder wants.

  CUDA_INJECTION64_PATH=.../libgradwire_inject.so NVTX_INJECTION64_PATH=... \\
      python3 gradwire_torch.py train.py --its --arguments
  gradwire calibrate record -o DIR -- python3 gradwire_torch.py train.py --its --arguments

What it tells the recorder, as NVTX ranges and marks:
  gradwire.fwd:<module>            around the forward of each module, by its name in the outermost
                                   module (DDP's and FSDP's prefixes left out, and their forwards)
  gradwire.grad:<parameter>:<numel>:<dtype>   when a parameter's gradient is ready
  gradwire.optimizer               around the optimizer's step
  gradwire.iteration:<n>           at the first forward, and after each step
and PyTorch's own ranges of operators and autograd nodes ("aten::conv2d, seq = 12"). In light mode
(GRADWIRE_MODE=light) only iterations are marked. workload.json, in GRADWIRE_OUT, says which
parameters there are, where no file of that name is there already.

A model that torch.compile compiles runs kernels that stand for several operators, and its modules'
forwards run once, when they are traced: the launcher says so, and workload.json has "compiled". No
layers can be found in it: record the model uncompiled for a profile.

Needs Python 3.8 and torch 1.13 or newer. The program's exit code is its own.
"""

import atexit
import collections
import functools
import importlib
import json
import os
import re
import runpy
import sys
import types

# DDP's "module." stands in front; the others may stand between any two parts of a name.
WRAPPERS = re.compile(
    r"^(module\.)+|(^|\.)(_fsdp_wrapped_module|_orig_mod|_checkpoint_wrapped_module)(?=\.|$)"
)


def without_wrappers(name):
    """The name that a module or parameter has in the model itself."""
    return WRAPPERS.sub("", name).lstrip(".")


class Silence:
    """Stands for NVTX where torch has none (CPU builds): nothing is reported."""

    @staticmethod
    def range_push(_):
        pass

    @staticmethod
    def range_pop():
        pass

    @staticmethod
    def mark(_):
        pass


def find_nvtx(torch):
    try:
        torch.cuda.nvtx.mark("gradwire.launcher")
        return torch.cuda.nvtx
    except (RuntimeError, AttributeError):
        print("gradwire_torch: this torch has no NVTX; nothing is marked", file=sys.stderr)
        return Silence


class Launcher:
    """Hooks into torch for one process."""

    def __init__(self, torch, nvtx, full, folder):
        self.torch = torch
        self.nvtx = nvtx
        self.full = full
        self.folder = folder
        self.model = None  # the outermost module that ran first
        self.module_names = {}
        self.depth = 0
        self.iterations = 0
        self.optimizer = None  # the one whose steps count
        self.open_forwards = []
        self.batch = None
        self.autograd_hooks = []  # of old torch: the nodes must be kept
        self.operator_ranges = None
        self.compiled = False

    def install(self):
        self.watch_compiling()
        hooks = self.torch.nn.modules.module
        hooks.register_module_forward_pre_hook(self.before_forward)
        hooks.register_module_forward_hook(self.after_forward)
        self.hook_optimizers()
        atexit.register(self.finish)

    def watch_compiling(self):
        """Module.compile() calls torch.compile too."""
        compile_ = getattr(self.torch, "compile", None)  # torch 2.0
        if compile_ is None:
            return

        @functools.wraps(compile_)
        def told_compile(*arguments, **options):
            if not self.compiled and not options.get("disable"):
                self.compiled = True
                print(
                    "gradwire_torch: the program calls torch.compile: kernels stand for several "
                    "operators, and no layers can be found; expected a run without it for a profile",
                    file=sys.stderr,
                )
            return compile_(*arguments, **options)

        self.torch.compile = told_compile

    # --- iterations ------------------------------------------------------------------------------

    def mark_iteration(self):
        self.nvtx.mark("gradwire.iteration:%d" % self.iterations)
        self.iterations += 1

    def hook_optimizers(self):
        """Around every optimizer's step, whatever its class."""
        launcher = self
        module = importlib.import_module("torch.optim.optimizer")
        if hasattr(module, "register_optimizer_step_post_hook"):  # torch 2.0
            module.register_optimizer_step_pre_hook(lambda *_: launcher.before_step())
            module.register_optimizer_step_post_hook(
                lambda optimizer, *_: launcher.after_step(optimizer)
            )
            return
        made = self.torch.optim.Optimizer.__init__

        @functools.wraps(made)
        def init(optimizer, *arguments, **options):
            made(optimizer, *arguments, **options)
            step = optimizer.step.__func__

            @functools.wraps(step)
            def marked_step(self, *arguments, **options):
                launcher.before_step()
                try:
                    return step(self, *arguments, **options)
                finally:
                    launcher.after_step(self)

            optimizer.step = types.MethodType(marked_step, optimizer)

        self.torch.optim.Optimizer.__init__ = init

    def before_step(self):
        if self.full:
            self.nvtx.range_push("gradwire.optimizer")

    def after_step(self, optimizer):
        if self.full:
            self.nvtx.range_pop()
        if self.optimizer is None:
            self.optimizer = optimizer
        if self.optimizer is optimizer:
            self.mark_iteration()

    # --- modules ---------------------------------------------------------------------------------

    def adopt(self, module, inputs):
        """The outermost module of the first training forward is the model."""
        self.model = module
        for name, part in unwrapped(module).named_modules():
            if unwrapped(part) is part:
                self.module_names[part] = without_wrappers(name) or type(part).__name__
        self.batch = next((len(value) for value in inputs if is_tensor(self.torch, value)), None)
        if self.full:
            for name, parameter in module.named_parameters():
                if parameter.requires_grad:
                    self.hook_gradient(without_wrappers(name), parameter)
            self.name_operators()
        self.mark_iteration()

    def name_operators(self):
        """From here on torch itself pushes a range around each operator. Not before the program has
        chosen its GPU: torch waits for the current one here."""
        if not self.torch.cuda.is_available():
            return
        self.operator_ranges = self.torch.autograd.profiler.emit_nvtx(record_shapes=False)
        self.operator_ranges.__enter__()

    def finish(self):
        if self.operator_ranges is not None:
            self.operator_ranges.__exit__(None, None, None)
            self.operator_ranges = None
        self.write_workload()

    def before_forward(self, module, inputs):
        if self.model is None and self.torch.is_grad_enabled() and self.depth == 0:
            if any(parameter.requires_grad for parameter in module.parameters()):
                self.adopt(module, inputs)
        self.depth += 1
        name = self.module_names.get(module) if self.full else None
        if name is not None:
            self.nvtx.range_push("gradwire.fwd:" + name)
            self.open_forwards.append(module)

    def after_forward(self, module, _inputs, _output):
        self.depth = max(0, self.depth - 1)
        if self.open_forwards and self.open_forwards[-1] is module:
            self.open_forwards.pop()
            self.nvtx.range_pop()

    # --- gradients -------------------------------------------------------------------------------

    def hook_gradient(self, name, parameter):
        dtype = str(parameter.dtype).split(".")[-1]
        text = "gradwire.grad:%s:%d:%s" % (name, parameter.numel(), dtype)

        def ready(*_):
            self.nvtx.mark(text)

        if hasattr(parameter, "register_post_accumulate_grad_hook"):  # torch 2.1
            parameter.register_post_accumulate_grad_hook(ready)
            return
        # The node that adds to .grad: an expanded view's only neighbour. It must be kept alive.
        with self.torch.enable_grad():
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        node.register_hook(ready)
        self.autograd_hooks.append(node)

    # --- the model, in words ---------------------------------------------------------------------

    def workload(self):
        parameters = [(n, p) for n, p in self.model.named_parameters() if p.requires_grad]
        buffers = [buffer for buffer in self.model.buffers() if buffer.numel()]
        cuda = bool(parameters) and parameters[0][1].is_cuda
        modules = collections.Counter(
            id(p) for module in self.model.modules() for p in module.parameters(recurse=False)
        )
        return {
            "schema": "gradwire.workload/1",
            "model": type(unwrapped(self.model)).__name__,
            "gpu": self.torch.cuda.get_device_name(parameters[0][1].device) if cuda else "cpu",
            **({"batch_per_gpu": self.batch} if self.batch else {}),
            "dtype": str(parameters[0][1].dtype).split(".")[-1] if parameters else "",
            "optimizer": type(self.optimizer).__name__ if self.optimizer else "",
            "framework": "pytorch",
            "torch": self.torch.__version__,
            **({"compiled": True} if self.compiled else {}),
            "warmup": int(os.environ.get("GRADWIRE_SKIP_ITERS") or 0),
            "parameters": [
                {
                    "name": without_wrappers(name),
                    "shape": list(parameter.shape),
                    "dtype": str(parameter.dtype).split(".")[-1],
                    **({"shared": True} if modules[id(parameter)] > 1 else {}),
                }
                for name, parameter in parameters
            ],
            "buffers": {
                "tensors": len(buffers),
                "elements": sum(buffer.numel() for buffer in buffers),
                "bytes": sum(buffer.numel() * buffer.element_size() for buffer in buffers),
            },
        }

    def write_workload(self):
        if self.model is None or not self.folder or int(os.environ.get("RANK") or 0) != 0:
            return
        path = os.path.join(self.folder, "workload.json")
        if os.path.exists(path):
            return
        try:
            with open(path + ".part", "w") as file:
                json.dump(self.workload(), file, indent=1)
                file.write("\n")
            os.rename(path + ".part", path)
        except OSError as error:
            print("gradwire_torch: no workload.json: %s" % error, file=sys.stderr)


def unwrapped(module):
    """The module within DDP, FSDP, a checkpoint or torch.compile."""
    inner = ["_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"]
    if any(c.__name__ in ("DistributedDataParallel", "DataParallel") for c in type(module).__mro__):
        inner.append("module")
    for name in inner:
        if name in getattr(module, "_modules", {}):
            return unwrapped(module._modules[name])
    return module


def is_tensor(torch, value):
    return isinstance(value, torch.Tensor) and value.dim() > 0


def run(script, arguments):
    sys.argv = [script] + arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if len(sys.argv) > 1 else 2
    script, arguments = sys.argv[1], sys.argv[2:]
    if not os.path.exists(script):
        print("gradwire_torch: no '%s'; expected a Python program" % script, file=sys.stderr)
        return 2
    import torch

    full = os.environ.get("GRADWIRE_MODE", "full") != "light"
    launcher = Launcher(torch, find_nvtx(torch), full, os.environ.get("GRADWIRE_OUT", ""))
    launcher.install()
    run(script, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
