#!/usr/bin/env python3
"""Times compressors as training systems run them: by PyTorch's own operations.

  compressors.py [--device cuda|cpu] [--compressors all] -o compressors.json

Exit codes: 0 done, 1 failed, 2 bad command line, 4 no GPU, 130 interrupted (what was finished is
written).
"""

import argparse
import datetime
import json
import math
import pathlib
import platform
import sys
import time

DENSITY = 0.001  # ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh
LEVELS = 64  # GRACE, grace_dl/torch/compressor/qsgd.py: an int8 below 128 levels
RANK = 4  # PowerSGD's paper and ACP-SGD
EPSILON = 1e-8  # epfml/powersgd
WARM_UP = 3
CALLS = 20
NO_GPU = 4
BAD_COMMAND_LINE = 2


class Codec:
    """`encode` returns what travels, `decode` makes a dense gradient of it."""

    settings = ""

    def __init__(self, torch, gradient):
        self.torch = torch
        self.gradient = gradient
        self.kept = max(int(gradient.numel() * DENSITY), 1)


class Half(Codec):
    def encode(self):
        return self.gradient.to(self.torch.float16)

    def decode(self, sent):
        return sent.to(self.torch.float32)


class BFloat(Half):
    def encode(self):
        return self.gradient.to(self.torch.bfloat16)


class Sparse(Codec):
    settings = "density 0.1 %"

    def source(self):
        return self.gradient

    def indexes(self, values):
        return self.torch.topk(values.abs(), self.kept, sorted=False).indices

    def encode(self):
        values = self.source()
        indexes = self.indexes(values)
        return values[indexes], indexes

    def decode(self, sent):
        values, indexes = sent
        return self.torch.zeros_like(self.gradient).scatter_(0, indexes, values)


class TopK(Sparse):
    """ddl-benchmarks, mgwfbp/compression.py, TopKCompressor."""


class ErrorFeedbackTopK(Sparse):
    """The same with what is left, as ddl-benchmarks' EFTopKCompressor keeps it."""

    def __init__(self, torch, gradient):
        super().__init__(torch, gradient)
        self.left = torch.zeros_like(gradient)

    def source(self):
        return self.gradient + self.left

    def encode(self):
        values = self.source()
        indexes = self.indexes(values)
        sent = values[indexes]
        self.left = values
        self.left[indexes] = 0
        return sent, indexes


class RandomK(Sparse):
    """GRACE, grace_dl/torch/compressor/randomk.py: a permutation's first k."""

    def indexes(self, values):
        return self.torch.randperm(values.numel(), device=values.device)[: self.kept]


class Dgc(Sparse):
    """GRACE, grace_dl/torch/compressor/dgc.py, with momentum correction: the threshold from a
    sample of 1 % of the elements."""

    def __init__(self, torch, gradient):
        super().__init__(torch, gradient)
        self.u = torch.zeros_like(gradient)
        self.v = torch.zeros_like(gradient)

    def encode(self):
        torch = self.torch
        self.u = 0.9 * self.u + self.gradient
        self.v = self.v + self.u
        count = self.v.numel()
        sample = self.v[torch.randint(0, count, (max(count // 100, 1),), device=self.v.device)]
        kept = max(int(sample.numel() * DENSITY), 1)
        threshold = torch.topk(sample.abs(), kept, sorted=False).values.min()
        mask = self.v.abs() >= threshold
        indexes = torch.where(mask)[0]
        sent = self.v[indexes]
        self.u = self.u * ~mask
        self.v = self.v * ~mask
        return sent, indexes


class Sign(Codec):
    """Signs as bytes of 0 and 1, packed eight a byte by a product with powers of two."""

    def __init__(self, torch, gradient):
        super().__init__(torch, gradient)
        self.left = torch.zeros_like(gradient)
        self.powers = torch.tensor(
            [1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8, device=gradient.device
        )

    def pack(self, values):
        return ((values >= 0).to(self.torch.uint8).view(-1, 8) * self.powers).sum(
            1, dtype=self.torch.uint8
        )

    def unpack(self, packed):
        bits = (packed.unsqueeze(1) & self.powers) != 0
        return bits.view(-1).to(self.torch.float32) * 2 - 1

    def scale(self, _values):
        return None

    def encode(self):
        return self.pack(self.gradient), None

    def decode(self, sent):
        packed, scale = sent
        signs = self.unpack(packed)
        return signs if scale is None else signs * scale


class ErrorFeedbackSign(Sign):
    """Karimireddy et al. 2019: the scale is the mean magnitude."""

    def scale(self, values):
        return values.abs().mean()

    def encode(self):
        values = self.gradient + self.left
        scale = self.scale(values)
        self.left = values - scale * values.sign()
        return self.pack(values), scale


class OneBitAdam(ErrorFeedbackSign):
    """DeepSpeed, runtime/comm/nccl.py: the scale is the norm over the root of the count."""

    def scale(self, values):
        return values.norm() / math.sqrt(values.numel())


class Qsgd(Codec):
    settings = "64 levels, int8"

    def encode(self):
        torch = self.torch
        norm = self.gradient.norm()
        scaled = self.gradient.abs() * (LEVELS / norm)
        level = scaled.floor()
        level = level + (torch.rand_like(scaled) < scaled - level).to(torch.float32)
        return (level * self.gradient.sign()).to(torch.int8), norm

    def decode(self, sent):
        levels, norm = sent
        return levels.to(self.torch.float32) * (norm / LEVELS)


class PowerSgd(Codec):
    """epfml/powersgd: P = M Q, orthogonal; Q = M^T P."""

    settings = f"rank {RANK}"

    def __init__(self, torch, gradient):
        super().__init__(torch, gradient)
        rows = 2 ** ((gradient.numel().bit_length() - 1) // 2)
        self.matrix = gradient.view(rows, -1)
        self.left = torch.zeros_like(self.matrix)
        self.q = torch.randn(self.matrix.shape[1], RANK, device=gradient.device)

    def orthogonalise(self, matrix):
        for column in range(matrix.shape[1]):
            current = matrix[:, column : column + 1]
            current /= (current**2).sum().sqrt() + EPSILON
            if column + 1 < matrix.shape[1]:
                rest = matrix[:, column + 1 :]
                rest -= (current * rest).sum(0) * current

    def encode(self):
        self.sum = self.matrix + self.left
        p = self.sum @ self.q
        self.orthogonalise(p)
        self.q = self.sum.t() @ p
        return p, self.q

    def decode(self, sent):
        p, q = sent
        restored = p @ q.t()
        self.left = self.sum - restored
        return restored.view(-1)


class AcpSgd(PowerSgd):
    """lzhangbv/acpsgd: one factor a step."""

    def encode(self):
        self.sum = self.matrix + self.left
        self.orthogonalise(self.q)
        return self.sum @ self.q, self.q


CODECS = {
    "fp16": Half,
    "bf16": BFloat,
    "signsgd": Sign,
    "ef_signsgd": ErrorFeedbackSign,
    "qsgd": Qsgd,
    "topk": TopK,
    "ef_topk": ErrorFeedbackTopK,
    "dgc": Dgc,
    "randomk": RandomK,
    "powersgd": PowerSgd,
    "acp_sgd": AcpSgd,
    "onebit_adam": OneBitAdam,
}


def timed(torch, device, call):
    """Microseconds of each of CALLS calls, and their mean one behind the other."""

    def measure(calls):
        if device == "cpu":
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            return (time.perf_counter() - begin) * 1e6
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    measure(WARM_UP)
    return [measure(1) for _ in range(CALLS)], measure(CALLS) / CALLS


def summary(times, pipelined):
    """Percentiles by nearest rank, as gradwire-bench writes them."""
    ordered = sorted(times)

    def rank(percent):
        return ordered[-(-percent * len(ordered) // 100) - 1]

    return {
        "n": len(ordered),
        "mean_us": sum(ordered) / len(ordered),
        "min_us": ordered[0],
        "p50_us": rank(50),
        "p95_us": rank(95),
        "p99_us": rank(99),
        "max_us": ordered[-1],
        "pipelined_us": pipelined,
    }


def measure_row(torch, device, codec_type, elements):
    codec = codec_type(torch, torch.randn(elements, device=device) * 1e-3)
    encode = summary(*timed(torch, device, codec.encode))
    sent = codec.encode()
    decode = summary(*timed(torch, device, lambda: codec.decode(sent)))
    return {"elements": elements, "encode": encode, "decode": decode}


def memory_bandwidth(torch):
    """Nominal, bytes per second; None where this torch does not tell."""
    properties = torch.cuda.get_device_properties(0)
    clock = getattr(properties, "memory_clock_rate", None)  # kHz
    width = getattr(properties, "memory_bus_width", None)  # bits
    return 2e3 * clock * width / 8 if clock and width else None


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--compressors", default="all", help="names between commas [all]")
    parser.add_argument("--log2-elements", default="16:26", help="FIRST:LAST [16:26]")
    parser.add_argument("-o", "--output", type=pathlib.Path, default="compressors.json")
    arguments = parser.parse_args()
    names = list(CODECS) if arguments.compressors == "all" else arguments.compressors.split(",")
    for name in names:
        if name not in CODECS:
            parser.error(f"no compressor '{name}'; expected some of {', '.join(CODECS)}")
    try:
        first, last = (int(part) for part in arguments.log2_elements.split(":"))
        arguments.sizes = [2**power for power in range(first, last + 1)]
    except ValueError:
        parser.error(f"--log2-elements is '{arguments.log2_elements}'; expected e.g. 16:26")
    arguments.names = names
    return arguments


def main():
    arguments = parse_arguments()
    import torch

    on_gpu = arguments.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        print("compressors.py: no GPU that works; expected an NVIDIA GPU", file=sys.stderr)
        return NO_GPU
    record = {
        "schema": "gradwire.bench.compressors/1",
        "tool": f"compressors.py, torch {torch.__version__}",
        "date": datetime.date.today().isoformat(),
        "node": platform.node(),
        "gpu": torch.cuda.get_device_name() if on_gpu else "",
        "device": "gpu" if on_gpu else "cpu",
        "implementation": "torch",
        "memory_bandwidth_bytes_per_s": memory_bandwidth(torch) if on_gpu else None,
        "tables": [],
    }
    code = 0
    try:
        for name in arguments.names:
            rows = []
            codec = CODECS[name]
            record["tables"].append({"compressor": name, "settings": codec.settings, "rows": rows})
            for elements in arguments.sizes:
                rows.append(measure_row(torch, arguments.device, codec, elements))
    except KeyboardInterrupt:
        code = 130
    record["tables"] = [table for table in record["tables"] if table["rows"]]
    part = arguments.output.with_name(arguments.output.name + ".part")
    part.write_text(json.dumps(record) + "\n")
    part.rename(arguments.output)
    return code


if __name__ == "__main__":
    sys.exit(main())
