"""Sheets of .xlsx workbooks as rows of text, with a bound on what they unpack to."""

import warnings
import zipfile
from collections.abc import Iterator
from datetime import datetime
from itertools import zip_longest
from typing import IO, Any
from xml.etree.ElementTree import ParseError

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from vgib.errors import FileFormatError, InputError
from vgib.limits import FileReading, too_long

MOST_ROWS = 1 << 20
"""Rows that a sheet can have; a damaged file may tell of more."""

MOST_COLUMNS = 1000
"""Columns that are read."""

# What openpyxl raises for parts of a workbook that are missing or are not what they should be.
DAMAGED = (
    *(zipfile.BadZipFile, InvalidFileException, ParseError, KeyError, ValueError, TypeError),
    *(AttributeError, IndexError, EOFError, OSError, NotImplementedError),
)


class SheetRows:
    """The rows of the first sheet that holds anything; the first row names the columns.

    Attributes:
        name: Of the file and the sheet.
        header: The line and the cells of the first row that is not empty.
        seen: Rows that were given out.
        count: Rows that the sheet has, as far as it tells.

    Raises:
        FileFormatError: it is no workbook, is damaged, or unpacks to too much.
        InputError: it is empty.
    """

    def __init__(self, handle: IO[bytes], name: str, how: FileReading) -> None:
        self.how, self.seen, self._file = how, 0, name
        try:
            with zipfile.ZipFile(handle) as archive:
                how.check_zip(name, archive)
            with warnings.catch_warnings(action="ignore"):  # of styles and the like
                book = load_workbook(handle, read_only=True, data_only=True)
        except DAMAGED as error:
            raise self._damaged(error) from error
        for sheet in book.worksheets:
            self._sheet = sheet
            self.name = f"{name}, sheet {sheet.title!r}"
            first = next(self._cells(1, MOST_COLUMNS), None)
            if first is not None:
                self.header = first[0], [cell or "" for cell in first[1]]
                while self.header[1] and not self.header[1][-1]:
                    self.header[1].pop()
                self.count = max(1, min(sheet.max_row or 1, MOST_ROWS))
                return
        raise InputError(f"{name}: the workbook is empty; expected one molecule a row")

    def _damaged(self, error: Exception) -> FileFormatError:
        if isinstance(error, FileFormatError):
            return error
        return FileFormatError(
            f"{self._file} is no whole .xlsx workbook ({error}); save it again, or export a .csv"
        )

    def _cells(self, start: int, width: int) -> Iterator[tuple[int, list[str]]]:
        """The line and the texts of each row that is not empty."""
        try:
            rows = self._sheet.iter_rows(
                min_row=start, max_row=MOST_ROWS, max_col=width, values_only=True
            )
            for line, row in enumerate(rows, start):
                self.seen = line
                texts = [_text(cell) for cell in row]
                if any(texts):
                    yield line, texts
        except DAMAGED as error:
            raise self._damaged(error) from error

    def __iter__(self) -> Iterator[tuple[int, dict[str, str], str | None]]:
        """Line, filled cells and what is wrong with it, of each row below the header."""
        line, columns = self.header
        for number, texts in self._cells(line + 1, len(columns)):
            fields = {key: text for key, text in zip_longest(columns, texts) if key and text}
            is_long = any(len(text) > self.how.max_record for text in texts)
            problem = too_long("a cell", self.how.max_record) if is_long else None
            yield number, {} if problem else fields, problem


def _text(cell: Any) -> str:
    """A cell as it would be written in a .csv file."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, datetime) else str(cell).strip()
