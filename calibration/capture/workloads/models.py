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
    # The images, where it takes such: loss() reads them here.
    images: list = dataclasses.field(default_factory=list)

    def keep_channels_last(self):
        """Weights of convolutions and images as NHWC, as matrix units want them."""
        self.model.to(memory_format=torch.channels_last)
        self.images[:] = [i.to(memory_format=torch.channels_last) for i in self.images]
        self.facts["memory_format"] = "channels_last"


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
    images = [torch.randn(batch, 3, size, size, device=device)]
    labels = torch.randint(0, classes, (batch,), device=device)
    criterion = nn.CrossEntropyLoss()

    def loss():
        output = model(images[0])
        if isinstance(output, torch.Tensor):
            return criterion(output, labels)
        # inception_v3 with its second classifier, weighted as in Szegedy et al. 2016.
        return criterion(output.logits, labels) + 0.4 * criterion(output.aux_logits, labels)

    return Workload(model, loss, {"image_size": size}, images)


def _torchvision(name, size):
    def make(batch, _length, device):
        models = _package("torchvision").models
        options = {"weights": None}
        if name in ("inception_v3", "googlenet"):
            options["init_weights"] = False
        if name == "googlenet":
            options["aux_logits"] = False
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


def _language_model(name, length_of_model, **shape):
    """A model of transformers that takes tokens and returns the loss of predicting them."""

    def make(batch, length, device):
        transformers = _package("transformers")
        length = length or length_of_model
        config, model = _LANGUAGE_MODELS[name]
        config = getattr(transformers, config)(**shape)
        with torch.device(device):  # billions of weights are drawn there
            model = getattr(transformers, model)(config)
        tokens = torch.randint(4, config.vocab_size, (batch, length), device=device)
        inputs = {"input_ids": tokens, "labels": tokens}
        if name == "electra":  # says of each token whether it was replaced
            inputs["labels"] = torch.randint(0, 2, (batch, length), device=device)
        elif name == "t5":  # 114 in 512 of target (Raffel et al., section 3.1.4)
            inputs["labels"] = tokens[:, : length * 114 // 512].contiguous()

        def loss():
            return model(**inputs).loss

        return Workload(model, loss, {"sequence_length": length})

    return make


# Configuration and model in transformers.
_LANGUAGE_MODELS = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel"),
    "opt": ("OPTConfig", "OPTForCausalLM"),
    "bloom": ("BloomConfig", "BloomForCausalLM"),
    "llama": ("LlamaConfig", "LlamaForCausalLM"),
    "mistral": ("MistralConfig", "MistralForCausalLM"),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM"),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM"),
    "electra": ("ElectraConfig", "ElectraForPreTraining"),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM"),
    "bart": ("BartConfig", "BartForConditionalGeneration"),
    "t5": ("T5Config", "T5ForConditionalGeneration"),
}


def _gpt2(layers, hidden, heads):
    return _language_model(
        "gpt2", 1024, n_layer=layers, n_embd=hidden, n_head=heads, n_positions=1024
    )


def _encoder(name, layers, hidden, heads, **shape):
    return _language_model(
        name, 512, num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
        intermediate_size=4 * hidden, **shape,
    )  # fmt: skip


def _decoder(name, length, layers, hidden, heads, kv_heads, ffn, vocabulary, tied=False):
    return (
        "transformers",
        _language_model(
            name, length, num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
            num_key_value_heads=kv_heads, intermediate_size=ffn, vocab_size=vocabulary,
            tie_word_embeddings=tied, max_position_embeddings=8192,
        ),
    )  # fmt: skip


def _t5(layers, hidden, heads, ffn):
    return _language_model(
        "t5", 512, d_model=hidden, d_ff=ffn, num_layers=layers, num_heads=heads, d_kv=64,
        vocab_size=32128, decoder_start_token_id=0,
    )  # fmt: skip


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
    "inception_v3": ("torchvision", _torchvision("inception_v3", 299)),
    "efficientnet_b4": ("torchvision", _torchvision("efficientnet_b4", 380)),
    "efficientnet_v2_s": ("torchvision", _torchvision("efficientnet_v2_s", 300)),
    "inception_v4": ("timm", _timm("inception_v4", 299)),
    "nasnet_a_large": ("timm", _timm("nasnetalarge", 331)),
    "xception": ("timm", _timm("legacy_xception", 299)),
    "se_resnext101_32x4d": ("timm", _timm("legacy_seresnext101_32x4d", 224)),
    "bert_base": ("transformers", _bert(12, 768, 12)),
    "bert_large": ("transformers", _bert(24, 1024, 16)),
    "gpt2": ("transformers", _gpt2(12, 768, 12)),
    "gpt2_medium": ("transformers", _gpt2(24, 1024, 16)),
    "gpt2_large": ("transformers", _gpt2(36, 1280, 20)),
    "roberta_base": (
        "transformers",
        _encoder("roberta", 12, 768, 12, vocab_size=50265, max_position_embeddings=514),
    ),
    "distilbert_base": (
        "transformers",
        _language_model("distilbert", 512, n_layers=6, dim=768, n_heads=12, hidden_dim=3072),
    ),
    "electra_base": ("transformers", _encoder("electra", 12, 768, 12, embedding_size=768)),
    "bart_base": (
        "transformers",
        _language_model(
            "bart", 512, d_model=768, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=3072,
            decoder_ffn_dim=3072, encoder_attention_heads=12, decoder_attention_heads=12,
        ),  # fmt: skip
    ),
    "t5_base": ("transformers", _t5(12, 768, 12, 3072)),
    "gpt2_xl": ("transformers", _gpt2(48, 1600, 25)),
    "roberta_large": (
        "transformers",
        _encoder("roberta", 24, 1024, 16, vocab_size=50265, max_position_embeddings=514),
    ),
    "electra_large": ("transformers", _encoder("electra", 24, 1024, 16, embedding_size=1024)),
    "bart_large": (
        "transformers",
        _language_model(
            "bart", 512, d_model=1024, encoder_layers=12, decoder_layers=12, encoder_ffn_dim=4096,
            decoder_ffn_dim=4096, encoder_attention_heads=16, decoder_attention_heads=16,
        ),  # fmt: skip
    ),
    "t5_small": ("transformers", _t5(6, 512, 8, 2048)),
    "t5_large": ("transformers", _t5(24, 1024, 16, 4096)),
    "opt_125m": (
        "transformers",
        _language_model(
            "opt", 2048, num_hidden_layers=12, hidden_size=768, num_attention_heads=12,
            ffn_dim=3072, vocab_size=50272,
        ),  # fmt: skip
    ),
    "opt_1_3b": (
        "transformers",
        _language_model(
            "opt", 2048, num_hidden_layers=24, hidden_size=2048, num_attention_heads=32,
            ffn_dim=8192, vocab_size=50272,
        ),  # fmt: skip
    ),
    "bloom_560m": (
        "transformers",
        _language_model("bloom", 2048, n_layer=24, hidden_size=1024, n_head=16, vocab_size=250880),
    ),
    # Llama 3.2 1B's shape.
    "llama_1b": _decoder("llama", 2048, 16, 2048, 32, 8, 8192, 128256, tied=True),
    "llama2_7b": _decoder("llama", 4096, 32, 4096, 32, 32, 11008, 32000),
    "llama3_8b": _decoder("llama", 8192, 32, 4096, 32, 8, 14336, 128256),
    "mistral_7b": _decoder("mistral", 8192, 32, 4096, 32, 8, 14336, 32000),
    "qwen2_5_7b": _decoder("qwen2", 4096, 28, 3584, 28, 4, 18944, 152064),
    "toy": ("torch", _toy),
}
# Those that torchvision has under our name, of images of 224 pixels a side.
MODELS |= {
    name: ("torchvision", _torchvision(name, 224))
    for name in (
        "resnet18 resnet34 resnet50 resnet101 resnet152 wide_resnet50_2 resnext50_32x4d "
        "resnext101_32x8d vgg11 vgg13 vgg16 vgg19 alexnet googlenet densenet121 densenet161 "
        "densenet201 mobilenet_v2 mobilenet_v3_large efficientnet_b0 vit_b_16 vit_l_16 vit_h_14 "
        "swin_t swin_s swin_b convnext_tiny convnext_base"
    ).split()
}


def load_package(name):
    """What takes long and needs no GPU. Raises UnknownModel or MissingPackage."""
    if name not in MODELS:
        raise UnknownModel(f"no model '{name}'; expected one of {', '.join(MODELS)}")
    package = _package(MODELS[name][0])
    if package.__name__ == "transformers":  # loads its parts when they are named
        for _, model in (("", "BertForPreTraining"), *_LANGUAGE_MODELS.values()):
            assert getattr(package, model)


def make_workload(name, batch, sequence_length, device):
    """Raises UnknownModel or MissingPackage."""
    load_package(name)
    return MODELS[name][1](batch, sequence_length, device)
