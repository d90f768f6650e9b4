"""Tables between Parquet and pandas in one thread, the only place that reads them.

Arrow's own threads may still run when the process ends, which then aborts now and then although all
is done ("terminate called without an active exception"), and for tables of this size they cost more
than they save. pandas' `read_parquet` cannot do without them.
"""

import pandas as pd
import pyarrow as pa
from pyarrow import parquet


def read_arrow(content: bytes) -> pa.Table:
    """The table that the bytes of a Parquet file hold."""
    return parquet.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


def in_pandas(table: pa.Table) -> pd.DataFrame:
    """The table as a frame."""
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    return frame


def read_parquet(content: bytes) -> pd.DataFrame:
    """The frame that the bytes of a Parquet file hold."""
    return in_pandas(read_arrow(content))
