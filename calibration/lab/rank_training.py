"""One rank of data-parallel training over Gloo; only compute is emulated.

usage: rank_training.py EXPERIMENTS.json RESULTS.json   (RANK, WORLD_SIZE, ... in the environment)

Each parameter tensor is an autograd Function that sleeps for its time; hooks, buckets and their
rebuilding, overlap, Gloo and the kernel's TCP are the real ones. Modes of an experiment:
  compute     DDP under no_sync: what forward and backward take, tensor by tensor
  ddp         DistributedDataParallel with `bucket_cap_mib`
  fp16        the same with fp16_compress_hook
  powersgd    the same with powerSGD_hook, of `powersgd_rank`
  no_overlap  each gradient is copied into one buffer by its hook; the buffer is all-reduced after
              backward
`slow` is {rank: factor on its compute}; of `passes` forward and backward of an iteration, all but the
last are under no_sync.
"""

import contextlib
import gc
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import models
from group import join

clock = time.perf_counter
POWERSGD_START = 2  # iterations without compression; the hook wants more than one


class Sleeping(torch.autograd.Function):
    """Passes its input on; takes the time of one tensor, and makes a gradient of its shape."""

    @staticmethod
    def forward(ctx, x, parameter, layer):
        ctx.layer = layer
        if layer["forward_s"] > 0:
            time.sleep(layer["forward_s"])
        layer["log"].append(clock())
        return x + 0

    @staticmethod
    def backward(ctx, gradient):
        layer = ctx.layer
        if layer["backward_s"] > 0:
            time.sleep(layer["backward_s"])
        made = torch.ones(layer["shape"])
        layer["log"].append(clock())
        return gradient, made, None


class Net(torch.nn.Module):
    def __init__(self, name, factor):
        super().__init__()
        self.log = []  # end of each forward, then of each backward
        self.layers = []
        self.tensors = torch.nn.ParameterList()
        for layer in models.layers(name):
            self.tensors.append(torch.nn.Parameter(torch.zeros(layer["shape"])))
            self.layers.append(dict(layer, log=self.log, forward_s=layer["forward_s"] * factor,
                                    backward_s=layer["backward_s"] * factor))

    def forward(self, x):
        for parameter, layer in zip(self.tensors, self.layers):
            x = Sleeping.apply(x, parameter, layer)
        return x


def flat_hooks(net):
    """One buffer for all gradients, filled by hooks."""
    flat = torch.zeros(sum(parameter.numel() for parameter in net.tensors))
    offset = 0
    for parameter in reversed(list(net.tensors)):
        view = flat[offset:offset + parameter.numel()].view_as(parameter)
        parameter.register_hook(lambda gradient, view=view: view.copy_(gradient))
        offset += parameter.numel()
    return flat


def median(values):
    return sorted(values)[len(values) // 2]


def run(experiment, rank, world):
    factor = float(experiment.get("slow", {}).get(str(rank), 1))
    net = Net(experiment["model"], factor)
    mode, x = experiment["mode"], torch.zeros(1)
    model, flat = net, None
    if mode == "no_overlap":
        flat = flat_hooks(net)
    else:
        cap = experiment.get("bucket_cap_mib", 25)
        model = DistributedDataParallel(net, bucket_cap_mb=cap)
    if mode == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif mode == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, experiment["powersgd_rank"],
                                            start_powerSGD_iter=POWERSGD_START)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    count = len(net.layers)
    forward = [[] for _ in range(count)]
    backward = [[] for _ in range(count)]
    iterations = []
    gc.collect()
    gc.disable()
    for iteration in range(experiment["warmup"] + experiment["iterations"]):
        if iteration == experiment["warmup"]:
            dist.barrier()
        start = clock()
        for _ in range(experiment.get("passes", 1) - 1):
            with model.no_sync():
                model(x).backward()
        net.log.clear()
        with model.no_sync() if mode == "compute" else contextlib.nullcontext():
            y = model(x)
            turn = clock()
            y.backward()
        if flat is not None:
            flat.div_(world)
            dist.all_reduce(flat)
        for parameter in net.tensors:
            parameter.grad = None
        end = clock()
        if iteration < experiment["warmup"]:
            continue
        iterations.append(end - start)
        for i in range(count):
            forward[i].append(net.log[i] - (net.log[i - 1] if i > 0 else start))
            before = net.log[count + i - 1] if i > 0 else turn
            backward[count - 1 - i].append(net.log[count + i] - before)
    gc.enable()
    result = {"iterations": [round(value, 6) for value in iterations]}
    if mode == "compute":
        result["forward"] = [round(median(values), 7) for values in forward]
        result["backward"] = [round(median(values), 7) for values in backward]
    elif mode == "ddp":
        sizes = model._get_ddp_logging_data().get("rebuilt_bucket_sizes", "")
        result["bucket_bytes"] = [int(size) for size in str(sizes).split(",") if size.strip()]
    return result


def main():
    rank, world = join()
    with open(sys.argv[1], encoding="utf-8") as file:
        experiments = json.load(file)
    results = []
    for experiment in experiments:
        own = run(experiment, rank, world)
        of_all = [None] * world
        dist.all_gather_object(of_all, own)
        if rank == 0:
            result = dict(experiment, iterations_s=[other["iterations"] for other in of_all])
            for key in ("forward", "backward"):
                if key in own:
                    # The middle over ranks: each sleeps for itself.
                    times = zip(*(other[key] for other in of_all))
                    result[key + "_s"] = [median(values) for values in times]
            if "bucket_bytes" in own:
                result["bucket_bytes"] = own["bucket_bytes"]
            results.append(result)
            with open(sys.argv[2], "w", encoding="utf-8") as file:
                json.dump(results, file)
            print(f"  {experiment['id']:<40} {median(own['iterations']) * 1e3:8.1f} ms", flush=True)
        dist.barrier()
    dist.barrier()
    os._exit(0)  # Gloo's threads are not waited for


if __name__ == "__main__":
    main()
