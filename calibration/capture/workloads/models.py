"""The networks that train.py knows, with made-up inputs. Each needs its own package, and no network
access: weights are random."""

import dataclasses
from typing import Callable

import torch
from torch import nn


@dataclasses.dataclass
class Workload:
    """A model with one batch of inputs; `loss` runs the forward pass."""

    model: nn.Module
    loss: Callable[[], torch.Tensor]
    # What else shapes the work, for workload.json.
    facts: dict


class UnknownModel(Exception):
    """The name is not one of ours."""


class MissingPackage(Exception):
    """The package that has the model is not installed."""


def _package(name):
    try:
        return __import__(name)
    except ImportError as error:
        raise MissingPackage(f"{error}; expected the package '{name}'") from error


def _classifier(model, batch, size, device, classes=1000):
    images = torch.randn(batch, 3, size, size, device=device)
    labels = torch.randint(0, classes, (batch,), device=device)
    criterion = nn.CrossEntropyLoss()

    def loss():
        output = model(images)
        if isinstance(output, torch.Tensor):
            return criterion(output, labels)
        # inception_v3 with its second classifier, weighted as in Szegedy et al. 2016.
        return criterion(output.logits, labels) + 0.4 * criterion(output.aux_logits, labels)

    return Workload(model, loss, {"image_size": size})


def _torchvision(name, size):
    def make(batch, _length, device):
        models = _package("torchvision").models
        options = {"weights": None}
        if name == "inception_v3":
            options["init_weights"] = False
        model = getattr(models, name)(**options).to(device)
        workload = _classifier(model, batch, size, device)
        workload.facts["aux_head"] = name == "inception_v3"
        return workload

    return make


def _timm(name, size):
    def make(batch, _length, device):
        model = _package("timm").create_model(name, pretrained=False).to(device)
        return _classifier(model, batch, size, device)

    return make


def _bert(layers, hidden, heads):
    def make(batch, length, device):
        transformers = _package("transformers")
        length = length or 128
        config = transformers.BertConfig(
            num_hidden_layers=layers,
            hidden_size=hidden,
            num_attention_heads=heads,
            intermediate_size=4 * hidden,
        )
        model = transformers.BertForPreTraining(config).to(device)
        tokens = torch.randint(0, config.vocab_size, (batch, length), device=device)
        following = torch.randint(0, 2, (batch,), device=device)

        def loss():
            return model(input_ids=tokens, labels=tokens, next_sentence_label=following).loss

        # Every position is predicted, not the masked ones alone.
        return Workload(
            model, loss, {"sequence_length": length, "head": "pretraining_all_positions"}
        )

    return make


def _gpt2(layers, hidden, heads):
    def make(batch, length, device):
        transformers = _package("transformers")
        length = length or 1024
        config = transformers.GPT2Config(
            n_layer=layers, n_embd=hidden, n_head=heads, n_positions=max(length, 1024)
        )
        model = transformers.GPT2LMHeadModel(config).to(device)
        tokens = torch.randint(0, config.vocab_size, (batch, length), device=device)

        def loss():
            return model(input_ids=tokens, labels=tokens).loss

        return Workload(model, loss, {"sequence_length": length})

    return make


def _toy(batch, _length, device):
    """Three layers: to try the plumbing on a CPU."""
    model = nn.Sequential(
        nn.Linear(256, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 10)
    ).to(device)
    inputs = torch.randn(batch, 256, device=device)
    labels = torch.randint(0, 10, (batch,), device=device)
    criterion = nn.CrossEntropyLoss()
    return Workload(model, lambda: criterion(model(inputs), labels), {})


# Our name -> package that has the model, (batch, sequence length or None, device) -> Workload.
MODELS = {
    "resnet50": ("torchvision", _torchvision("resnet50", 224)),
    "resnet101": ("torchvision", _torchvision("resnet101", 224)),
    "resnet152": ("torchvision", _torchvision("resnet152", 224)),
    "vgg16": ("torchvision", _torchvision("vgg16", 224)),
    "densenet201": ("torchvision", _torchvision("densenet201", 224)),
    "inception_v3": ("torchvision", _torchvision("inception_v3", 299)),
    "inception_v4": ("timm", _timm("inception_v4", 299)),
    "bert_base": ("transformers", _bert(12, 768, 12)),
    "bert_large": ("transformers", _bert(24, 1024, 16)),
    "gpt2": ("transformers", _gpt2(12, 768, 12)),
    "gpt2_medium": ("transformers", _gpt2(24, 1024, 16)),
    "toy": ("torch", _toy),
}


def load_package(name):
    """What takes long and needs no GPU. Raises UnknownModel or MissingPackage."""
    if name not in MODELS:
        raise UnknownModel(f"no model '{name}'; expected one of {', '.join(MODELS)}")
    package = _package(MODELS[name][0])
    if package.__name__ == "transformers":  # loads its parts when they are named
        assert package.BertForPreTraining and package.GPT2LMHeadModel


def make_workload(name, batch, sequence_length, device):
    """Raises UnknownModel or MissingPackage."""
    load_package(name)
    return MODELS[name][1](batch, sequence_length, device)
