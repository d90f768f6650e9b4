"""DistilBERT for sentence classification."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from fedbench.base import registry
from fedbench.base.checks import BelowOne, Count, Layers
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead, read_checkpoint


@dataclass(frozen=True)
class DistilBERT(Architecture):
    """DistilBERT (Sanh et al. 2019): [CLS] → pre_classifier → ReLU → dropout → classifier.

    66,362,880 parameters in the backbone with a vocabulary of 30,522 words, 590,592 + 769·C in the
    classifier. The last dropout has the default of the transformers library. With `weights`
    'pretrained', the weights of distilbert-base-uncased are read from
    `<data folder>/distilbert-base-uncased/model.safetensors`. With 'random', all weights are drawn
    from N(0, 0.02²), and layers, heads and widths may be smaller. Clients train in several threads
    only if both dropouts are 0.
    """

    EXTRA: ClassVar[str] = "text"
    SAMPLES_PER_SECOND: ClassVar[float] = 2.5  # trained on one core at 128 tokens, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (6400.0, 268.0)  # see plan/train_jobs.py

    layers: Layers = 6
    heads: Count = 12
    dim: Count = 768
    hidden: Count = 3072
    dropout: BelowOne = 0.1
    last_dropout: BelowOne = 0.2
    positions: Count = 512
    weights: Literal["random", "pretrained"] = "pretrained"

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the input of the classifier: `dim` units after ReLU and dropout.

        With a projection head, the pre-classifier is its hidden layer.
        """
        if not inputs.vocabulary:
            raise FedbenchError(f"DistilBERT: samples of shape {inputs.shape} are not texts")
        (length,) = inputs.shape
        if length > self.positions:
            raise FedbenchError(
                f"DistilBERT: positions = {self.positions} must be ≥ {length}, the tokens of a text"
            )
        if self.dim % self.heads:
            raise FedbenchError(
                f"DistilBERT: dim = {self.dim} is no multiple of heads = {self.heads}"
            )
        whole = self._classifier(inputs)
        return BodyHead(_Body(whole), whole.classifier, ends_hidden=True)

    def load(self, module: nn.Module, folder: Path) -> None:
        """Read the backbone; the layers of the classifier stay as drawn."""
        if self.weights == "random":
            return
        body = module.get_submodule("body")
        wanted = {k: v for k, v in body.state_dict().items() if not k.startswith("pre_classifier")}
        file = folder / "distilbert-base-uncased" / "model.safetensors"
        body.load_state_dict(read_checkpoint(file, "distilbert.", wanted), strict=False)

    def _classifier(self, inputs: Inputs) -> Any:
        registry.require_extra("text", "DistilBERT")
        from transformers import DistilBertConfig, DistilBertForSequenceClassification

        sizes: dict[str, Any] = {
            "vocab_size": inputs.vocabulary, "num_labels": inputs.outputs, "pad_token_id": 0,
            "n_layers": self.layers, "n_heads": self.heads, "dim": self.dim,
            "hidden_dim": self.hidden, "max_position_embeddings": self.positions,
            "dropout": self.dropout, "attention_dropout": self.dropout,
            "seq_classif_dropout": self.last_dropout,
            # Plain matrix products can be mapped over clients and differentiated twice.
            "attn_implementation": "eager",
        }  # fmt: skip
        return DistilBertForSequenceClassification(DistilBertConfig(**sizes))


class _Body(nn.Module):
    """From token ids (B, tokens) to the features of [CLS] (B, dim); id 0 is masked as padding."""

    def __init__(self, whole: Any) -> None:
        super().__init__()
        self.embeddings = whole.distilbert.embeddings
        self.transformer = whole.distilbert.transformer
        del self.embeddings.position_ids  # the constant 0, 1, 2, … must not count as traffic
        self.pre_classifier, self.dropout = whole.pre_classifier, whole.dropout

    def forward(self, ids: Tensor) -> Tensor:
        # The mask is made here because the library's code for it branches on the ids, which cannot
        # be mapped over clients.
        dtype = self.pre_classifier.weight.dtype
        mask = (ids == 0)[:, None, None].to(dtype) * torch.finfo(dtype).min
        hidden = self.transformer(self.embeddings(ids), mask).last_hidden_state
        features: Tensor = self.dropout(torch.relu(self.pre_classifier(hidden[:, 0])))
        return features
