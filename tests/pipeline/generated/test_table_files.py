"""Random table files, written with many options, are read with the right values."""

import pytest
from tests.pipeline.generated.table_files import WRITERS, check_table_file

pytest.importorskip("pyarrow")

FILES = 200
AT_ONCE = 20


@pytest.mark.parametrize(("name", "writer"), WRITERS)
@pytest.mark.parametrize("first", range(0, FILES, AT_ONCE))
def test_random_table_files_return_the_written_values(tmp_path, name, writer, first):
    for number in range(first, first + AT_ONCE):
        directory = tmp_path / str(number)
        directory.mkdir()
        try:
            check_table_file(name, writer, number, directory)
        except Exception as error:
            error.add_note(f"check_table_file({name!r}, {writer!r}, {number}, …)")
            raise
