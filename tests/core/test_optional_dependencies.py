"""The library runs without its extras, and functions that need an extra name the package."""

from tests.core.hidden_packages import run, run_without_protobuf

# Reads records with `Example` messages, which a program without protobuf cannot create.
PIPELINE = """
import pathlib, sys, tempfile
import headrace as hr

@hr.native
def doubled(example):
    return {"n": example["n"] * 2, "text": example["text"]}

with tempfile.TemporaryDirectory() as directory:
    path = str(pathlib.Path(directory, "numbers.tfrecord"))
    with hr.records.TFRecordWriter(path) as writer:
        for number in range(6):
            n = b"\\n\\x0a\\n\\x01n\\x12\\x05\\x1a\\x03\\n\\x01" + bytes([number])
            text = b"\\n\\x0d\\n\\x04text\\x12\\x05\\n\\x03\\n\\x01" + bytes([97 + number])
            writer.write(b"\\n" + bytes([len(n + text)]) + n + text)
    features = {"n": hr.Feature(int, ()), "text": hr.Feature(bytes, ())}
    examples = hr.tfrecords(path).parse(features).map(doubled).shuffle(seed=1)
    found = [(batch["n"].tolist(), batch["text"].tolist()) for batch in examples.batch(3)]
print(sorted(sum((n for n, _ in found), [])), sorted(sum((text for _, text in found), [])))
"""


def test_library_works_without_the_packages_of_its_commands():
    result = run(
        "import importlib, pkgutil, headrace\n"
        "names = [m.name for m in pkgutil.walk_packages(headrace.__path__, 'headrace.',"
        " onerror=lambda name: None)]\n"
        "extras = ('headrace.cli', 'headrace.demo', 'headrace.ray', 'headrace.torch')\n"
        "names = [n for n in names if not n.startswith(extras)]\n"
        "for name in names:\n"
        "    importlib.import_module(name)\n"
        "print(len(names))\n"
    )
    assert result.stderr == ""
    assert int(result.stdout) > 100


def test_command_names_its_missing_packages():
    result = run("from headrace.cli.main import main; main()")
    assert result.returncode == 1
    assert result.stderr == (
        "headrace: click and tqdm are required for the commands, but not "
        "installed. Install them: pip install click tqdm\n"
    )


def test_demo_names_its_missing_packages():
    result = run("import headrace.demo.train")
    assert result.returncode == 1
    assert (
        "ModuleNotFoundError: headrace.demo: click and tqdm are required for the commands, but not "
        "installed. Install them: pip install click tqdm"
    ) in result.stderr


def test_ray_module_without_ray_names_the_package():
    result = run("sys.modules.update(ray=None)\nimport headrace.ray")
    assert result.returncode == 1
    assert result.stderr.endswith(
        "ModuleNotFoundError: headrace.ray: ray is required for readers on other machines, but not "
        "installed. Install it: pip install ray\n"
    )


def test_pipeline_works_without_protobuf():
    result = run_without_protobuf(PIPELINE)
    assert result.stderr == ""
    assert result.stdout == f"{[0, 2, 4, 6, 8, 10]} {[b'a', b'b', b'c', b'd', b'e', b'f']}\n"


def test_commands_without_protobuf_name_the_package():
    result = run_without_protobuf("from headrace.cli.main import main; main()")
    assert result.stderr == (
        "headrace: google.protobuf is required for the commands, but not installed. Install it: "
        "pip install protobuf\n"
    )


def test_importing_headrace_does_not_import_ray():
    result = run("import headrace, headrace.read_service\nprint('ray' in sys.modules)")
    assert result.stdout == "False\n"


def test_messages_without_protobuf_name_the_package():
    result = run_without_protobuf("import headrace as hr\nhr.protos")
    text = (
        "google.protobuf is required for messages such as Example, but not installed. "
        "Install it: pip install"
    )
    assert result.stderr.endswith(f"ModuleNotFoundError: headrace.protos: {text} protobuf\n")
