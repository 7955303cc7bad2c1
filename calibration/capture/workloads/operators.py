#!/usr/bin/env python3
"""Times what the thread that launches kernels takes for an operator: chains of a hundred like
modules on tensors so small that the GPU waits for the host. Python's module, dispatch, autograd's
node and the accumulation of gradients are in it.

  operators.py -o FILE

Writes one JSON object, gradwire.operator_times/1: for each operator, type and memory format the
quickest and the median of seven passes, microseconds an operator forward and backward.
Exit codes: 0 done, 2 bad command line, 4 no GPU.
"""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import train

CHAIN = 100
PASSES, WARMUP = 7, 2
IMAGES, TOKENS = (4, 64, 7, 7), (4, 16, 64)
HEADS = 4


class Attention(nn.Module):
    """Fused attention between its views, as models of transformers have it."""

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = (x.view(batch, length, HEADS, -1).transpose(1, 2) for _ in range(3))
        result = F.scaled_dot_product_attention(q, k, v)
        return result.transpose(1, 2).reshape(batch, length, hidden)


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.narrow, self.wide = nn.Conv2d(64, 16, 1), nn.Conv2d(16, 64, 1)
        self.act, self.gate = nn.SiLU(), nn.Sigmoid()

    def forward(self, x):
        return x * self.gate(self.wide(self.act(self.narrow(self.pool(x)))))


class Checkpointed(nn.Sequential):
    def forward(self, x):
        return checkpoint(super().forward, x, use_reentrant=False)


class Twice(nn.Module):
    def forward(self, x):
        return x + x


# Name -> module, shape of its input.
OPERATORS = {
    "conv1x1": (lambda: nn.Conv2d(64, 64, 1, bias=False), IMAGES),
    "conv3x3": (lambda: nn.Conv2d(64, 64, 3, padding=1, bias=False), IMAGES),
    "depthwise": (lambda: nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), IMAGES),
    "conv1x1 bias": (lambda: nn.Conv2d(64, 64, 1), IMAGES),
    "batch_norm": (lambda: nn.BatchNorm2d(64), IMAGES),
    "max_pool": (lambda: nn.MaxPool2d(3, 1, 1), IMAGES),
    "squeeze_excite": (SqueezeExcite, IMAGES),
    "relu": (nn.ReLU, IMAGES),
    "silu": (nn.SiLU, IMAGES),
    "gelu": (nn.GELU, TOKENS),
    "add": (Twice, TOKENS),
    "dropout": (lambda: nn.Dropout(0.1), TOKENS),
    "softmax": (lambda: nn.Softmax(-1), TOKENS),
    "linear": (lambda: nn.Linear(64, 64), TOKENS),
    "linear no bias": (lambda: nn.Linear(64, 64, bias=False), TOKENS),
    "layer_norm": (lambda: nn.LayerNorm(64), TOKENS),
    "sdpa": (Attention, TOKENS),
    # What torch.utils.checkpoint adds to a block of one product and of eight.
    "linear checkpoint": (lambda: Checkpointed(nn.Linear(64, 64)), TOKENS),
    "8 linear": (lambda: nn.Sequential(*(nn.Linear(64, 64) for _ in range(8))), TOKENS),
    "8 linear checkpoint": (
        lambda: Checkpointed(*(nn.Linear(64, 64) for _ in range(8))),
        TOKENS,
    ),
}


def time_chain(make, shape, half, channels_last):
    modules = nn.ModuleList([make() for _ in range(CHAIN)]).to("cuda")
    x = torch.randn(*shape, device="cuda")
    if channels_last:
        modules = modules.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    x.requires_grad_()
    forward, backward = [], []
    for _ in range(WARMUP + PASSES):
        modules.zero_grad(set_to_none=True)
        x.grad = None
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, half):
            y = x
            for module in modules:
                y = module(y)
        forward.append(time.perf_counter() - begin)
        gradient = torch.ones_like(y)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        y.backward(gradient)
        backward.append(time.perf_counter() - begin)
    per = 1e6 / CHAIN
    times = {}
    for name, passes in (("forward", forward[WARMUP:]), ("backward", backward[WARMUP:])):
        times[f"{name}_min_us"] = per * min(passes)
        times[f"{name}_p50_us"] = per * statistics.median(passes)
    return times


def main():
    output = train.output_where_a_gpu_is(torch, __doc__)
    content = {
        "schema": "gradwire.operator_times/1",
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "rows": [],
    }
    for name, (make, shape) in OPERATORS.items():
        for half in (False, True):
            for channels_last in (False, True) if half and shape is IMAGES else (False,):
                row = {
                    "operator": name,
                    "dtype": "bf16" if half else "fp32",
                    "memory_format": "channels_last" if channels_last else "contiguous",
                }
                content["rows"].append({**row, **time_chain(make, shape, half, channels_last)})
    train.write_json(output, content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
