"""Files without a header: the first row is never lost without a word."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

from rstc.errors import FileWarning, InputError
from rstc.io.formats import SUFFIXES, iter_tables, open_table_writer, read_table

HEADERS = {
    "usual names": "id,text\n1,late parcel\n2,no refund\n",
    "names of a program": "a1,body_text_v2\n1,late parcel\n2,no refund\n",
    "the first column is an index": ",text\n0,late parcel\n1,no refund\n",
    "numbered by pandas": "0,1\n7,late parcel\n8,no refund\n",
    "one column, numbered by pandas": "0\nlate parcel again\nno refund yet\n",
    "years": "country_name,2019,2020\nPeru,3,4\nChile,5,6\n",
    "questions of a survey": '"What is good?","What should be better?"\nall,the queue was long\nnothing,price\n',
    "one question": "What should be better about our shop?\nthe queue was long\nthe prices of everything\n",
    "numbers below a word": "n\n1\n2\n",
    "files that were joined": "who,what\nann,late parcel\nwho,what\nbob,no refund\n",
    "a short name of long texts": "customer message\nmy parcel is late again\nwhere is my refund please\n",
}
DATA = {
    "a number": "17,late parcel\n18,no refund\n",
    "a date": "2024-05-01,late parcel\n2024-05-02,no refund\n",
    "a class that comes again": "late parcel,delivery\nno refund,payment\nlost parcel,delivery\n",
    "a sentence": "my parcel is late again\nwhere is my refund please\n",
    "sentences": "my parcel is late again,please write to me soon\nmy refund,call\n",
}
DOUBTFUL = {
    "a phrase as long as the texts": "late parcel\nno refund\nlost password\n",
    "a word among words": "parcel\nrefund\npassword\n",
    "a sentence beside a name": "who,I am happy with the service\nann,yes\nbob,no\n",
}


def write(content: str, folder: Path, name: str = "file.csv") -> str:
    (folder / name).write_text(content)
    return str(folder / name)


@pytest.mark.parametrize("case", HEADERS)
def test_names_of_columns_are_taken_as_such(case: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(write(HEADERS[case], tmp_path), "csv", header=None)
    assert len(table) == HEADERS[case].count("\n") - 1


@pytest.mark.parametrize("case", DATA)
def test_data_in_the_first_row_is_refused_and_the_message_says_what_to_do(case: str, tmp_path: Path) -> None:
    path = write(DATA[case], tmp_path)
    with pytest.raises(InputError, match=r"looks like data, .* give --no-header"):
        read_table(path, "csv", header=None)
    table = read_table(path, "csv", header=False)
    assert len(table) == DATA[case].count("\n")
    assert table.columns.tolist() == (["column 1", "column 2"] if "," in DATA[case] else ["text"])
    assert table.iloc[0].tolist() == DATA[case].partition("\n")[0].split(",")
    assert len(read_table(path, "csv", header=True)) == DATA[case].count("\n") - 1


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_first_row_is_taken_as_names_with_a_warning(case: str, tmp_path: Path) -> None:
    path = write(DOUBTFUL[case], tmp_path)
    with pytest.warns(FileWarning, match="was taken as names of columns; give --no-header"):
        read_table(path, "csv", header=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(path, "csv", header=True)


def test_first_row_with_equal_cells_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"more than one column called 'yes'.*give --no-header"):
        read_table(write("yes,yes,late parcel\nno,yes,no refund\n", tmp_path), "csv", header=None)


@pytest.mark.parametrize("format", ["tsv", "csv.gz", "xlsx"])
def test_other_formats_with_a_header_are_checked_as_well(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{SUFFIXES[format]}"
    with open_table_writer(path, format) as write_rows:
        write_rows(pd.DataFrame({"17": ["18", "19"], "late parcel again": ["no refund", "lost"]}))
    with pytest.raises(InputError, match="looks like data"):
        read_table(str(path), format, header=None)
    table = read_table(str(path), format, header=False)
    assert table.iloc[:, 1].tolist() == ["late parcel again", "no refund", "lost"]


def test_formats_that_name_their_columns_refuse_the_option(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--no-header is for CSV, TSV and Excel files, but .* is jsonl"):
        list(iter_tables(write('{"text": "late"}\n', tmp_path, "file.jsonl"), "jsonl", header=False))


def test_only_the_first_chunk_is_compared_with_the_first_row(tmp_path: Path) -> None:
    path = write("word\n" + "late\n" * 5, tmp_path)
    assert [len(table) for table in iter_tables(path, "csv", chunk_rows=2, header=True)] == [2, 2, 1]
    assert [len(table) for table in iter_tables(path, "csv", chunk_rows=2, header=False)] == [2, 2, 2]
