"""A projection head between a model's features and its classifier."""

import copy

from torch import Tensor, nn

from fedbench.architecture import BodyHead
from fedbench.base.errors import FedbenchError


def with_projection(module: nn.Module, width: int, classes: int, example: Tensor) -> nn.Module:
    """Features → features, ReLU → `width` → classifier (MOON, FedGKD+).

    A body that ends in such a layer of its own (`ends_hidden`) gets the rest: `width` → classifier.
    The features of the result are the projection (B, width); the classifier sits on top of it and
    stays there at inference. `example` (1, …) is one prepared sample, to measure the features.
    """
    body = getattr(module, "body", None)
    if not isinstance(body, nn.Module):
        raise FedbenchError("projection: the model has no body and head to put it between")
    size = copy.deepcopy(body).eval()(example).shape[1]
    own = getattr(module, "ends_hidden", False)
    hidden = [] if own else [nn.Linear(size, size), nn.ReLU()]
    head = nn.Sequential(*hidden, nn.Linear(size, width))
    return BodyHead(nn.Sequential(body, head), nn.Linear(width, classes))
