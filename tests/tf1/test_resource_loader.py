"""Files next to the program."""

from pathlib import Path

import headrace.tf1 as tf

HERE = Path(__file__).parent


def test_paths_are_relative_to_the_calling_file():
    loader = tf.resource_loader
    assert loader.get_data_files_path() == loader.get_root_dir_with_all_resources() == str(HERE)
    assert loader.get_path_to_datafile("a") == str(HERE / "a")
    assert loader.load_resource("test_resource_loader.py") == Path(__file__).read_bytes()
    assert loader.readahead_file_path("a") == "a"
