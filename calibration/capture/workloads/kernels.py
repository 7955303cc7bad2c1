#!/usr/bin/env python3
"""Times the kernels that transformers are made of, by shape: matrix products, fused attention,
norms, activations, losses, embeddings, optimizers. Operands are larger than the GPU's cache or rotate
through more memory than it holds, as they do in training.

  kernels.py -o FILE

Writes one JSON object, gradwire.kernel_times/1. Exit codes: 0 done, 1 a shape failed (its error is
in FILE), 2 bad command line, 4 no GPU.
"""

import statistics
import sys
import time

import torch
import torch.nn.functional as functional
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import train

# More than any GPU's cache of the second level.
CACHE = 128 << 20
HIDDEN = (512, 768, 1024, 1280, 1600, 2048, 2560, 4096, 5120, 8192)
TOKENS = (512, 2048, 8192, 16384)
# In and out features: grouped keys and values, gated units, vocabularies as they are published and
# as they are padded.
PAIRS = (
    (4096, 1024), (4096, 14336), (14336, 4096), (8192, 28672), (28672, 8192), (768, 30522),
    (1024, 30522), (1024, 30528), (768, 32128), (1024, 50265), (768, 50257), (768, 50304),
    (1600, 50257), (4096, 32000), (2048, 128256), (4096, 128256),
)  # fmt: skip
IMAGES = ((768, 2304), (768, 768), (768, 3072), (3072, 768), (1024, 4096), (4096, 1024))
CLASSIFIERS = ((25088, 4096), (4096, 4096), (4096, 1000), (2048, 1000), (512, 1000))
ATTENTION = (
    # batch, heads, tokens, features of a head, causal
    (64, 12, 128, 64, False), (64, 16, 128, 64, False), (32, 12, 512, 64, False),
    (16, 16, 512, 64, False), (128, 12, 197, 64, False), (64, 16, 197, 64, False),
    (32, 12, 1024, 64, True), (8, 12, 1024, 64, True), (8, 16, 1024, 64, True),
    (4, 20, 1024, 64, True), (4, 32, 2048, 64, True), (8, 16, 2048, 128, True),
    (2, 32, 2048, 128, True), (4, 32, 4096, 128, True), (2, 32, 8192, 128, True),
    (1, 64, 8192, 128, True), (2, 32, 4096, 80, True), (16, 12, 2048, 64, False),
)  # fmt: skip


def graph_time(calls):
    """The median time of one of `calls`, which are captured one after the other, repeated until a
    replay takes 2 ms."""
    for call in calls[:2]:
        call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    calls[0]()
    torch.cuda.synchronize()
    rounds = max(1, min(50, int(2e-3 / (time.perf_counter() - begin) / len(calls))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for call in calls:
                call()
    graph.replay()
    return event_time(graph.replay, 5) / (rounds * len(calls))


def event_time(call, count):
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    for mark in marks[:-1]:
        mark.record()
        call()
    marks[-1].record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:])) * 1e-3


def tensors(shapes, dtype):
    """Sets of tensors of `shapes`, as many as the cache does not hold."""
    size = sum(torch.Size(s).numel() for s in shapes) * torch.empty((), dtype=dtype).element_size()
    count = max(1, min(16, -(-CACHE // size)))
    return [[torch.randn(s, device="cuda", dtype=dtype) for s in shapes] for _ in range(count)]


def product(tokens, inputs, outputs, dtype):
    """A linear layer's three products: tokens x inputs by inputs x outputs."""
    sets = tensors(((tokens, inputs), (outputs, inputs), (tokens, outputs)), dtype)
    return {
        "forward": graph_time([lambda s=s: s[0] @ s[1].T for s in sets]),
        "input_gradient": graph_time([lambda s=s: s[2] @ s[1] for s in sets]),
        "weight_gradient": graph_time([lambda s=s: s[2].T @ s[0] for s in sets]),
    }


def product_fp8(tokens, inputs, outputs):
    """The same in 8 bits: weights and activations e4m3, gradients e5m2, one scale a tensor, results
    in bf16; sums on tensor cores forward, in fp32 backward, as Transformer Engine's defaults are.
    Only rows by columns are multiplied: the gradients' operands lie transposed already."""
    rows = ((tokens, inputs), (outputs, inputs), (tokens, outputs), (inputs, outputs),
            (outputs, tokens), (inputs, tokens))  # fmt: skip
    e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2
    types = (e4m3, e4m3, e5m2, e4m3, e5m2, e4m3)
    sets = [
        [value.to(dtype) for value, dtype in zip(values, types)]
        for values in tensors(rows, torch.bfloat16)
    ]
    scale = torch.ones((), device="cuda")

    def multiply(a, b, fast):
        return torch._scaled_mm(
            a, b.T, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=fast
        )

    return {
        "forward": graph_time([lambda s=s: multiply(s[0], s[1], True) for s in sets]),
        "input_gradient": graph_time([lambda s=s: multiply(s[2], s[3], False) for s in sets]),
        "weight_gradient": graph_time([lambda s=s: multiply(s[4], s[5], False) for s in sets]),
    }


def scores(batch, heads, length, size, dtype):
    """The two products of attention whose scores lie in memory."""
    sets = tensors(((batch * heads, length, size),) * 2 + ((batch * heads, length, length),), dtype)
    return {
        "scores": graph_time([lambda s=s: torch.bmm(s[0], s[1].transpose(1, 2)) for s in sets]),
        "values": graph_time([lambda s=s: torch.bmm(s[2], s[1]) for s in sets]),
    }


def both_ways(call, inputs, parameters=(), count=10):
    """Seconds forward and backward of `call` on one of `inputs` after the other, which are larger
    than the cache together; the host's, where it takes longer."""
    inputs = [i.requires_grad_(i.is_floating_point()) for i in inputs]
    outputs = [call(i) for i in inputs]
    gradients = [torch.ones_like(o) for o in outputs]
    wanted = [[*([i] if i.requires_grad else []), *parameters] for i in inputs]

    def forward():
        for i in inputs:
            call(i)

    def backward():
        for output, want, gradient in zip(outputs, wanted, gradients):
            torch.autograd.grad(output, want, gradient, retain_graph=True)

    backward()
    torch.cuda.synchronize()
    return {
        "forward": event_time(forward, count) / len(inputs),
        "backward": event_time(backward, count) / len(inputs),
    }


def attention(backend, batch, heads, length, size, causal, dtype):
    shape = (batch, heads, length, size)
    sets = tensors((shape, shape, shape), dtype)[:2]
    for values in sets:
        for value in values:
            value.requires_grad_()
    with sdpa_kernel(backend):

        def call(s):
            return functional.scaled_dot_product_attention(*s, is_causal=causal)

        outputs = [call(s) for s in sets]
        gradient = torch.randn_like(outputs[0])

        def backward():
            for output, s in zip(outputs, sets):
                torch.autograd.grad(output, s, gradient, retain_graph=True)

        backward()
        return {
            "forward": event_time(lambda: [call(s) for s in sets], 10) / len(sets),
            "backward": event_time(backward, 10) / len(sets),
        }


class LlamaNorm(nn.Module):
    """RMSNorm as transformers has it, operator by operator in fp32."""

    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden, device="cuda"))

    def forward(self, states):
        kept = states.dtype
        states = states.to(torch.float32)
        variance = states.pow(2).mean(-1, keepdim=True)
        return self.weight * (states * torch.rsqrt(variance + 1e-6)).to(kept)


def cross_entropy(tokens, words, dtype):
    labels = torch.randint(0, words, (tokens,), device="cuda")
    logits = torch.randn(tokens, words, device="cuda", dtype=dtype)
    return both_ways(lambda x: functional.cross_entropy(x.float(), labels), [logits], count=5)


def embedding(tokens, words, hidden):
    table = nn.Embedding(words, hidden, device="cuda")
    indices = [torch.randint(0, words, (tokens,), device="cuda") for _ in range(2)]
    return both_ways(table, indices, [table.weight], count=5)


def elementwise():
    for tokens, hidden in ((32768, 768), (16384, 1024), (8192, 4096), (4096, 8192)):
        for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
            wide = [torch.randn(tokens, hidden, device="cuda", dtype=dtype) for _ in range(4)]
            layer = nn.LayerNorm(hidden, device="cuda", dtype=dtype)
            rms = nn.RMSNorm(hidden, device="cuda", dtype=dtype)
            llama = LlamaNorm(hidden)
            calls = {
                "layer_norm": (layer, list(layer.parameters())),
                "rms_norm": (rms, list(rms.parameters())),
                "rms_norm_operators": (llama, list(llama.parameters())),
                "gelu": (functional.gelu, []),
                "gelu_tanh": (lambda x: functional.gelu(x, approximate="tanh"), []),
                "silu": (functional.silu, []),
                "relu": (functional.relu, []),
                "dropout": (lambda x: functional.dropout(x, 0.1), []),
                "double": (lambda x: x + x, []),
                "to_other": (
                    lambda x: x.to(torch.float32 if x.dtype == torch.bfloat16 else torch.bfloat16),
                    [],
                ),
                "softmax": (lambda x: functional.softmax(x, -1), []),
            }
            for call, (function, parameters) in calls.items():
                yield (
                    {"kernel": call, "dtype": name, "tokens": tokens, "hidden": hidden},
                    lambda f=function, w=wide, p=parameters: both_ways(
                        f, [x.detach().clone() for x in w], p
                    ),
                )


def shapes_of(name):
    if name == "gpt2":
        block = [(768,)] * 4 + [(768, 2304), (2304,), (768, 768), (768,)]
        block += [(768, 3072), (3072,), (3072, 768), (768,)]
        return [(50257, 768), (1024, 768), *block * 12, (768,), (768,)]
    block = [(2048, 2048), (512, 2048), (512, 2048), (2048, 2048), (8192, 2048), (8192, 2048)]
    return [(128256, 2048), *(block + [(2048, 8192), (2048,), (2048,)]) * 16, (2048,)]


def optimizer_step(make, name, clip):
    parameters = [nn.Parameter(torch.randn(s, device="cuda")) for s in shapes_of(name)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = make(parameters)

    def step():
        if clip:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        else:
            optimizer.step()

    for _ in range(3):
        step()
    return {"step": event_time(step, 10)}


def optimizers():
    makes = {
        f"{kind}_{way}": (
            lambda p, k=kind, w=way: (
                torch.optim.SGD(
                    p, lr=1e-3, momentum=0.9, foreach=w == "foreach", fused=w == "fused"
                )
                if k == "sgd_momentum"
                else getattr(torch.optim, {"adam": "Adam", "adamw": "AdamW"}[k])(
                    p, lr=1e-4, foreach=w == "foreach", fused=w == "fused"
                )
            )
        )
        for kind in ("sgd_momentum", "adam", "adamw")
        for way in ("loop", "foreach", "fused")
    }
    makes["clip_grad_norm"] = lambda p: None
    for model in ("gpt2", "llama_1b"):
        for name, make in makes.items():
            yield (
                {"kernel": name, "model": model},
                lambda m=make, n=model, c=name == "clip_grad_norm": optimizer_step(m, n, c),
            )


DTYPES = {"bf16": torch.bfloat16, "tf32": torch.float32, "fp32": torch.float32}


def products():
    pairs = [pair for h in HIDDEN for pair in ((h, 3 * h), (h, h), (h, 4 * h), (4 * h, h))]
    cases = [(t, *p, "bf16") for p in [*pairs, *PAIRS] for t in TOKENS if t == 8192 or p[1] < 5e4]
    cases += [(t, *p, "bf16") for p in IMAGES for t in (197 * 16, 197 * 64)]
    cases += [(t, *p, d) for p in CLASSIFIERS for t in (32, 128) for d in DTYPES]
    few = [p for p in pairs if p[0] in (768, 1024, 3072, 4096) and p[1] <= 4096] + [(768, 30522)]
    cases += [(t, *p, d) for p in few for t in (2048, 8192) for d in ("tf32", "fp32")]
    for tokens, inputs, outputs, dtype in cases:
        yield (
            {"kernel": "product", "dtype": dtype, "tokens": tokens, "in": inputs, "out": outputs},
            lambda t=tokens, i=inputs, o=outputs, d=dtype: product(t, i, o, DTYPES[d]),
        )
    for batch, heads, length, size, _ in ATTENTION:
        if batch * heads * length * length < 1 << 30:
            for dtype in ("bf16", "tf32"):
                yield (
                    {"kernel": "scores", "dtype": dtype, "batch": batch, "heads": heads,
                     "tokens": length, "size": size},
                    lambda b=batch, h=heads, n=length, s=size, d=dtype: scores(
                        b, h, n, s, DTYPES[d]
                    ),
                )  # fmt: skip


def products_fp8():
    pairs = [(h, o) for h in HIDDEN if h % 16 == 0 and h >= 1024 for o in (3 * h, h, 4 * h)]
    pairs += [(4 * h, h) for h in HIDDEN if h >= 1024] + [p for p in PAIRS if p[0] >= 4096]
    for tokens in (2048, 8192, 16384):
        for inputs, outputs in pairs:
            if outputs < 30000 or tokens == 8192:
                yield (
                    {"kernel": "product", "dtype": "fp8", "tokens": tokens, "in": inputs,
                     "out": outputs},
                    lambda t=tokens, i=inputs, o=outputs: product_fp8(t, i, o),
                )  # fmt: skip


def attentions():
    kinds = (
        ("flash", SDPBackend.FLASH_ATTENTION, "bf16"),
        ("cudnn", SDPBackend.CUDNN_ATTENTION, "bf16"),
        ("efficient", SDPBackend.EFFICIENT_ATTENTION, "tf32"),
    )
    for kind, backend, dtype in kinds:
        for batch, heads, length, size, causal in ATTENTION:
            yield (
                {"kernel": f"attention_{kind}", "dtype": dtype, "batch": batch, "heads": heads,
                 "tokens": length, "size": size, "causal": causal},
                lambda k=backend, b=batch, h=heads, n=length, s=size, c=causal, d=dtype: attention(
                    k, b, h, n, s, c, DTYPES[d]
                ),
            )  # fmt: skip


def others():
    for tokens, words in ((8192, 50257), (8192, 30522), (4096, 128256), (8192, 32000)):
        for dtype in ("bf16", "fp32"):
            yield (
                {"kernel": "cross_entropy", "dtype": dtype, "tokens": tokens, "words": words},
                lambda t=tokens, w=words, d=dtype: cross_entropy(t, w, DTYPES[d]),
            )
    for tokens, words, hidden in ((8192, 50257, 768), (8192, 128256, 2048), (16384, 32000, 4096)):
        yield (
            {"kernel": "embedding", "dtype": "fp32", "tokens": tokens, "words": words,
             "hidden": hidden},
            lambda t=tokens, w=words, h=hidden: embedding(t, w, h),
        )  # fmt: skip


def main():
    output = train.output_where_a_gpu_is(torch, __doc__)
    content = {
        "schema": "gradwire.kernel_times/1",
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "rows": [],
    }
    failed = 0
    for group in (optimizers, elementwise, others, attentions, products, products_fp8):
        begin = time.perf_counter()
        for shape, measure in group():
            torch.backends.cuda.matmul.allow_tf32 = shape.get("dtype") != "fp32"
            try:
                times = {way: float(f"{seconds:.6g}") for way, seconds in measure().items()}
            except Exception as error:  # noqa: BLE001, one shape's trouble is not another's
                times = {"error": f"{type(error).__name__}: {error}"[:200]}
                failed += 1
            content["rows"].append({**shape, **times})
        torch.cuda.empty_cache()
        took = time.perf_counter() - begin
        print(f"{group.__name__}: {took:.1f} s, {failed} failed", file=sys.stderr, flush=True)
        train.write_json(output, content)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
