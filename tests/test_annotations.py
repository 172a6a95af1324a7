"""Parameters have precise annotations: few are annotated with `Any`."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "headrace"
LARGEST_SHARE = 0.05


def source_files() -> list[Path]:
    return sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")])


def parameters(file: Path) -> Iterator[tuple[str, ast.expr | None]]:
    """Yields the position and the annotation of each parameter except `self` and `cls`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            args = node.args
            named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
            for arg in [*named, *filter(None, (args.vararg, args.kwarg))]:
                if arg.arg not in ("self", "cls"):
                    location = f"{file.relative_to(PACKAGE)}:{arg.lineno} {node.name}({arg.arg})"
                    yield location, arg.annotation


def says_nothing(annotation: ast.expr | None) -> bool:
    """Returns whether an annotation is missing, `Any`, or a union with `Any`."""
    match annotation:
        case None | ast.Name(id="Any"):
            return True
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return says_nothing(left) or says_nothing(right)
        case _:
            return False


def test_few_parameters_are_annotated_with_any():
    every = [entry for file in source_files() for entry in parameters(file)]
    vague = [location for location, annotation in every if says_nothing(annotation)]
    assert len(vague) < LARGEST_SHARE * len(every), "\n".join(vague)
