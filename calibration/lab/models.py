"""Tensor lists of published networks, made small, with emulated compute times.

A list item is {name, shape, forward_s, backward_s}, in forward order. The first dimension of every
shape is divided by `divided_by`, so that a shaped link of some hundred Mbit/s stands to the model
as a fast one stands to the real model. Times are shares of given totals by multiply-adds.
"""

import math


def resnet50():
    """He et al., CVPR 2016, as torchvision registers it: 161 tensors, 25 557 032 elements."""
    tensors = []

    def convolution(name, inputs, outputs, kernel, side):
        work = inputs * kernel * kernel * outputs * side * side
        tensors.append((name + ".weight", [outputs, inputs * kernel * kernel], work))

    def batch_norm(name, channels, side):
        work = 20 * channels * side * side  # small beside the convolutions (assumed)
        tensors.append((name + ".weight", [channels], work))
        tensors.append((name + ".bias", [channels], work))

    convolution("conv1", 3, 64, 7, 112)
    batch_norm("bn1", 64, 112)
    inputs = 64
    stages = [(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)]
    for stage, (width, blocks, side) in enumerate(stages, 1):
        for block in range(blocks):
            prefix = f"layer{stage}.{block}."
            side_in = 2 * side if block == 0 and stage > 1 else side
            convolution(prefix + "conv1", inputs, width, 1, side_in)
            batch_norm(prefix + "bn1", width, side_in)
            convolution(prefix + "conv2", width, width, 3, side)
            batch_norm(prefix + "bn2", width, side)
            convolution(prefix + "conv3", width, 4 * width, 1, side)
            batch_norm(prefix + "bn3", 4 * width, side)
            if block == 0:
                convolution(prefix + "downsample.0", inputs, 4 * width, 1, side)
                batch_norm(prefix + "downsample.1", 4 * width, side)
            inputs = 4 * width
    tensors.append(("fc.weight", [1000, 2048], 1000 * 2048))
    tensors.append(("fc.bias", [1000], 1000))
    return tensors, (161, 25557032)


def vgg16():
    """Simonyan and Zisserman, ICLR 2015, configuration D: 32 tensors, 138 357 544 elements."""
    tensors = []
    inputs, side, index = 3, 224, 0
    for width in [64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0]:
        if width == 0:
            side //= 2
            continue
        work = inputs * 9 * width * side * side
        tensors.append((f"features.{index}.weight", [width, inputs * 9], work))
        tensors.append((f"features.{index}.bias", [width], width * side * side))
        inputs, index = width, index + 1
    for name, columns, rows in [("fc1", 25088, 4096), ("fc2", 4096, 4096), ("fc3", 4096, 1000)]:
        tensors.append((name + ".weight", [rows, columns], rows * columns))
        tensors.append((name + ".bias", [rows], rows))
    return tensors, (32, 138357544)


def bert_base():
    """Devlin et al., NAACL 2019, encoder and pooler: 199 tensors, 109 482 240 elements."""
    hidden, inner, length = 768, 3072, 512
    tensors = [("embeddings.word", [30522, hidden], hidden * length),
               ("embeddings.position", [512, hidden], hidden * length),
               ("embeddings.type", [2, hidden], hidden * length),
               ("embeddings.norm.weight", [hidden], hidden * length),
               ("embeddings.norm.bias", [hidden], hidden * length)]

    def linear(name, columns, rows, more=0):
        tensors.append((name + ".weight", [rows, columns], rows * columns * length + more))
        tensors.append((name + ".bias", [rows], rows * length))

    def layer_norm(name):
        for part in ["weight", "bias"]:
            tensors.append((f"{name}.{part}", [hidden], hidden * length))

    for layer in range(12):
        prefix = f"layer.{layer}."
        for part in ["query", "key", "value", "output"]:
            products = length * length * hidden if part in ("query", "key") else 0
            linear(prefix + part, hidden, hidden, products)
        layer_norm(prefix + "norm1")
        linear(prefix + "intermediate", hidden, inner)
        linear(prefix + "dense", inner, hidden)
        layer_norm(prefix + "norm2")
    tensors.append(("pooler.weight", [hidden, hidden], hidden * hidden))
    tensors.append(("pooler.bias", [hidden], hidden))
    return tensors, (199, 109482240)


# name of the lab: (network, divided by, forward seconds, backward seconds)
MODELS = {"resnet50_8th": (resnet50, 8, 0.15, 0.30),
          "vgg16_32nd": (vgg16, 32, 0.10, 0.20),
          "bert_base_32nd": (bert_base, 32, 0.15, 0.30)}


def layers(name):
    """The list of a model of MODELS."""
    network, divided_by, forward, backward = MODELS[name]
    tensors, (count, elements) = network()
    assert len(tensors) == count and sum(math.prod(shape) for _, shape, _ in tensors) == elements
    work = sum(part for _, _, part in tensors)
    return [{"name": tensor,
             "shape": [max(1, round(shape[0] / divided_by))] + shape[1:],
             "forward_s": forward * part / work,
             "backward_s": backward * part / work} for tensor, shape, part in tensors]
