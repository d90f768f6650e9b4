"""Types of numbers that several settings share."""

from typing import Annotated

from pydantic import Field

Whole = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]  # more is taken for a typing error
