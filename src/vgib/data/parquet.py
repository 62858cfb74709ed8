"""Parquet files as rows of text, with a bound on the memory that they take."""

from collections.abc import Iterator
from functools import reduce
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vgib.errors import FileFormatError, InputError
from vgib.limits import FileReading, too_long

ROWS_AT_ONCE = 4096
"""Rows that are unpacked together, since row groups may be too large for the memory."""

BYTES_AT_ONCE = 1 << 24
"""Bytes of text that are written out together, where a column says the same in many rows."""

DAMAGED = (pa.ArrowException, OSError, NotImplementedError)


class ParquetRows:
    """The rows of a Parquet file; columns of lists and the like are not among them.

    Text is read as a dictionary, so that a long cell that stands in every row is looked at once,
    and left out before it is there as often.

    Attributes:
        columns: The names of the columns.
        seen: How many rows were given out.
        count: How many there are.

    Raises:
        FileFormatError: it is damaged, or unpacks to too much.
        InputError: it is empty.
    """

    def __init__(self, handle: IO[bytes], name: str, how: FileReading) -> None:
        self.name, self.how, self.seen = name, how, 0
        try:
            kinds = {field.name: field.type for field in pq.read_schema(handle)}
            texts = [key for key, kind in kinds.items() if _is_text(kind)]
            self.file = pq.ParquetFile(handle, read_dictionary=texts)
            about = self.file.metadata
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
            pages = [group.column(place) for group in groups for place in range(group.num_columns)]
        except DAMAGED as error:
            raise FileFormatError(
                f"{name} is no whole Parquet file ({error}); write it again"
            ) from error
        packed = sum(page.total_compressed_size for page in pages)
        how.check_unpacked(name, packed, sum(page.total_uncompressed_size for page in pages))
        self.columns = [key for key, kind in kinds.items() if not pa.types.is_nested(kind)]
        self.count: int = about.num_rows
        if not self.count:
            raise InputError(f"{name}: the file is empty; expected one molecule a row")

    def __iter__(self) -> Iterator[tuple[dict[str, str], str | None]]:
        """The cells of each row that are not empty, and what is wrong with it."""
        try:
            for batch in self.file.iter_batches(ROWS_AT_ONCE, columns=self.columns):
                step = max(1, BYTES_AT_ONCE // min(_longest(batch), self.how.max_record))
                for start in range(0, len(batch), step):
                    yield from self._rows(batch.slice(start, step))
        except DAMAGED as error:
            raise FileFormatError(
                f"{self.name}: the Parquet file is damaged after row {self.seen} ({error}); write "
                "it again"
            ) from error

    def _rows(self, batch: pa.RecordBatch) -> Iterator[tuple[dict[str, str], str | None]]:
        cells = [self._short(column) for column in batch.columns]
        cut = [
            pc.xor(column.is_null(), left.is_null())
            for column, left in zip(batch.columns, cells, strict=True)
        ]
        is_cut = reduce(pc.or_, cut).to_pylist()
        rows = pa.table(cells, names=batch.schema.names).to_pylist()
        for row, is_short in zip(rows, is_cut, strict=True):
            self.seen += 1
            known = {key: str(cell) for key, cell in row.items() if cell is not None}
            yield known, too_long("the record", self.how.max_record) if is_short else None

    def _short(self, column: pa.Array) -> pa.Array:
        """A column with nothing in the place of what is too long."""
        if not pa.types.is_dictionary(column.type):
            return column
        words = column.dictionary
        fits = pc.less_equal(pc.binary_length(words), self.how.max_record)
        return pc.if_else(fits, words, pa.scalar(None, words.type)).take(column.indices)


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(test(kind) for test in tests)


def _longest(batch: pa.RecordBatch) -> int:
    words = [one.dictionary for one in batch.columns if pa.types.is_dictionary(one.type)]
    return max([1, *(pc.max(pc.binary_length(one)).as_py() or 1 for one in words)])
