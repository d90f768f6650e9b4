"""A projection head between a model's features and its classifier."""

import copy

from torch import Tensor, nn

from fedbench.architecture import BodyHead
from fedbench.errors import FedbenchError


def with_projection(module: nn.Module, width: int, classes: int, example: Tensor) -> nn.Module:
    """Features → features, ReLU → `width` → classifier (MOON, FedGKD+).

    The features of the result are the projection (B, width); the classifier sits on top of it and
    stays there at inference. `example` (1, …) is one prepared sample, to measure the features.
    """
    body = getattr(module, "body", None)
    if not isinstance(body, nn.Module):
        raise FedbenchError("projection: the model has no body and head to put it between")
    size = copy.deepcopy(body).eval()(example).shape[1]
    head = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, width))
    return BodyHead(nn.Sequential(body, head), nn.Linear(width, classes))
