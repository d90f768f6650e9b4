"""Random views of training images, as a run's settings name them."""

from typing import Annotated

from pydantic import Field

from fedbench.base.strict import Strict


class Augment(Strict):
    """Random views of training images: a crop after zero padding, and a horizontal flip."""

    crop: Annotated[int, Field(ge=0, strict=True)] = 0
    """Pixels of padding on every side before a window of the first size is cut out; 0: no crop."""
    crop_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The probability that a sample is cropped at all."""
    flip: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The probability that a sample is mirrored left to right."""

    @property
    def as_it_acts(self) -> "Augment | None":
        """The same views in one way of writing them, which makes one identity; None: no change."""
        if self.crop and self.crop_share:
            return self
        return Augment(flip=self.flip) if self.flip else None
