"""The fingerprint of code: each way to refer to other code, and different values."""

import importlib
import os
import re
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

from headrace.pipeline.plan.cache_keys.code_fingerprint import Fingerprint

HELPER = """
VALUE = @
def g(x):
    return x + @
class Tool:
    def use(self, x):
        return x + @
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Returns a function that writes modules into a new directory, and imports `job`."""
    before, number = set(sys.modules), 0

    def load(files, value):
        nonlocal number
        number += 1
        directory = tmp_path / str(number)
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(re.sub("@(?![A-Za-z])", value, textwrap.dedent(text)))
        for name in set(sys.modules) - before:
            del sys.modules[name]
        monkeypatch.syspath_prepend(directory)
        return importlib.import_module("job")

    yield load
    for name in set(sys.modules) - before:
        del sys.modules[name]


def digest(value):
    fingerprint = Fingerprint()
    fingerprint.add(value, "map")
    return fingerprint.hexdigest()


# The text of `job`, whose function is `f`. The helper module differs in one number.
WAYS = {
    "an attribute of a module": "import helper\ndef f(e): return helper.g(e)",
    "a class of a module": "import helper\ndef f(e): return helper.Tool().use(e)",
    "a name": "from helper import g\ndef f(e): return g(e)",
    "a constant": "from helper import VALUE\ndef f(e): return e + VALUE",
    "a star": "from helper import *\ndef f(e): return g(e)",
    "a module in a dict": "import helper\nM = {'m': helper}\ndef f(e): return M['m'].g(e)",
    "a module in a list of tuples": "import helper\nM = [(helper,)]\ndef f(e): return M[0][0].g(e)",
    "a module in a closure": """
        import helper
        def make(m):
            return lambda e: m.g(e)
        f = make(helper)
        """,
    "a module in a default": "import helper\ndef f(e, m=helper): return m.g(e)",
    "a module in a keyword default": "import helper\ndef f(e, *, m=helper): return m.g(e)",
    "a module in a partial": """
        import functools, helper
        def call(m, e): return m.g(e)
        f = functools.partial(call, helper)
        """,
    "a module in an attribute of an object": """
        import helper
        class Holder:
            def __init__(self, m): self.m = m
            def __call__(self, e): return self.m.g(e)
        f = Holder(helper)
        """,
    "a module in an attribute of a class": """
        import helper
        class Holder:
            m = helper
            def __call__(self, e): return self.m.g(e)
        f = Holder()
        """,
    "a module in an attribute of a function": """
        import helper
        def f(e): return f.m.g(e)
        f.m = helper
        """,
    "a module that is passed to a function": """
        import helper
        def call(m, e): return m.g(e)
        def f(e): return call(helper, e)
        """,
    "a module that is renamed in the function": """
        import helper
        def f(e):
            m = helper
            return m.g(e)
        """,
    "a module of two": """
        import helper, math
        def f(e): return (helper if e else math).g(e)
        """,
    "an inner module": {
        "job.py": "import pack.inner\ndef f(e): return pack.inner.g(e)",
        "pack/__init__.py": "",
        "pack/inner.py": HELPER,
    },
    "an inner module that is passed on": {
        "job.py": "import pack.inner\ndef call(m): return m.inner.g(3)\ndef f(e): call(pack)",
        "pack/__init__.py": "",
        "pack/inner.py": HELPER,
    },
    "a relative import": {
        "job.py": "from pack.outer import f",
        "pack/__init__.py": "",
        "pack/outer.py": "from . import inner\ndef f(e, m=inner): return m.g(e)",
        "pack/inner.py": HELPER,
    },
    "an import in the function": "def f(e):\n    import helper\n    return helper.g(e)",
    "an import from in the function": "def f(e):\n    from helper import g\n    return g(e)",
    "a relative import in the function": {
        "job.py": "from pack.outer import f",
        "pack/__init__.py": "",
        "pack/outer.py": "def f(e):\n    from .inner import g\n    return g(e)",
        "pack/inner.py": HELPER,
    },
    "an import in the function of what was not imported": {
        "job.py": "import middle\ndef f(e, m=middle): return m.later(e)",
        "middle.py": "def later(e):\n    import helper\n    return helper.g(e)",
    },
    "getattr": "import helper\ndef f(e): return getattr(helper, 'g')(e)",
    "getattr with a computed name": "import helper\ndef f(e): return getattr(helper, chr(103))(e)",
    "vars": "import helper\ndef f(e): return vars(helper)['g'](e)",
    "the dict of a module": "import helper\ndef f(e): return helper.__dict__['g'](e)",
    "a dict of a module that is kept": """
        import helper
        NAMES = vars(helper)
        def f(e): return NAMES['g'](e)
        """,
    "globals": "from helper import g\ndef f(e): return globals()['g'](e)",
    "locals of a module": "from helper import g\nALL = locals()\ndef f(e): return ALL['g'](e)",
    "eval": "from helper import g\ndef f(e): return eval('g(e)')",
    "eval under another name": "from helper import g\nrun = eval\ndef f(e): return run('g(3)')",
    "eval in a dict": "from helper import g\nR = {'r': eval}\ndef f(e): return R['r']('g(3)')",
    "exec": "from helper import g\ndef f(e):\n    exec('y = g(3)')",
    "exec of a module": "import helper\ndef f(e):\n    exec('y = helper.g(3)')",
    "a compiled text": "from helper import g\ndef f(e): return eval(compile('g(3)', '', 'eval'))",
    "the globals of a function": "from helper import g\ndef f(e): return f.__globals__['g'](e)",
    "sys.modules": "import helper, sys\ndef f(e): return sys.modules['helper'].g(e)",
    "modules of sys": """
        import helper
        from sys import modules
        def f(e): return modules['helper'].g(e)
        """,
    "a frame": "import helper, sys\ndef f(e): return sys._getframe().f_globals['helper'].g(e)",
    "inspect": """
        import inspect
        from helper import g
        def f(e): return dict(inspect.getmembers(inspect.getmodule(f)))['g'](e)
        """,
    "pickle": """
        import pickle
        from helper import g
        def f(e): return pickle.loads(b'cjob\\ng\\n.')(e)
        """,
    "subclasses": """
        class Base: pass
        import helper
        class Other(Base):
            def use(self, e): return helper.g(e)
        def f(e): return Base.__subclasses__()[0]().use(e)
        """,
    "attrgetter": """
        import helper, operator
        get = operator.attrgetter('g')
        def f(e): return get(helper)(e)
        """,
    "a module that makes its attributes": {
        "job.py": "import lazy\ndef f(e): return lazy.g(e)",
        "lazy.py": "import helper\ndef __getattr__(name): return getattr(helper, name)",
    },
    "lru_cache": """
        import functools, helper
        @functools.lru_cache
        def cached(e): return helper.g(e)
        def f(e): return cached(e)
        """,
    "lru_cache of a method": """
        import functools, helper
        class Holder:
            @functools.lru_cache
            def cached(self, e): return helper.g(e)
            def __call__(self, e): return self.cached(e)
        f = Holder()
        """,
    "lru_cache itself": """
        import functools, helper
        @functools.lru_cache
        def f(e): return helper.g(e)
        """,
    "cached_property": """
        import functools, helper
        class Holder:
            @functools.cached_property
            def table(self): return helper.g(1)
            def __call__(self, e): return self.table
        f = Holder()
        """,
    "singledispatch": """
        import functools, helper
        @functools.singledispatch
        def f(e): return e
        @f.register
        def _(e: int): return helper.g(e)
        """,
    "an object that is pickled by its name": """
        class Odd:
            def __init__(self): self.value = @
            def __reduce__(self): return 'odd'
        odd = Odd()
        def f(e): return e + odd.value
        """,
    "slots of an object that is pickled by its name": """
        class Odd:
            __slots__ = ('value',)
            def __init__(self): self.value = @
            def __reduce__(self): return 'odd'
        odd = Odd()
        def f(e): return e + odd.value
        """,
    "a wrapped function of a library": """
        import functools
        import numpy as np
        @functools.wraps(np.linalg.norm)
        def f(e): return e + @
        """,
    "a decorator of a library": """
        import contextlib, helper
        @contextlib.contextmanager
        def opened(e): yield helper.g(e)
        def f(e):
            with opened(e) as x:
                return x
        """,
    "a class with the name of a library's": """
        class Tool:
            def use(self, e): return e + @
        Tool.__module__ = 'collections'
        Tool.__qualname__ = 'OrderedDict'
        def f(e): return Tool().use(e)
        """,
    "code with the name of a library's file": """
        import os
        NAMES = {'__name__': 'job'}
        exec(compile('def f(e): return e + @', os.__file__, 'exec'), NAMES)
        f = NAMES['f']
        """,
    "a module with the name of one of Python's": {
        "job.py": "import antigravity\ndef f(e): return antigravity.g(e)",
        "antigravity.py": HELPER,
    },
    "a changed function of a library": """
        import colorsys
        def rgb(e): return e + @
        colorsys.rgb_to_hsv = rgb
        def f(e): return colorsys.rgb_to_hsv(e)
        """,
    "an attribute of a function": "def f(e): return e + f.value\nf.value = @",
    "an attribute of a partial": """
        import functools
        def g(e): return e
        p = functools.partial(g)
        p.value = @
        def f(e): return p.value
        """,
    "an annotation of a function": "def f(e: @): return e + f.__annotations__['e']",
    "an annotation of a class": """
        class Options:
            size: @
        def f(e): return e + Options.__annotations__['size']
        """,
    "a metaclass": """
        class Meta(type):
            def use(cls, e): return e + @
        class Tool(metaclass=Meta): pass
        def f(e): return Tool.use(e)
        """,
    "a base of a class": "import helper\nclass A(helper.Tool): pass\ndef f(e): return A().use(e)",
    "a property": """
        class Tool:
            @property
            def value(self): return @
        def f(e): return Tool().value
        """,
    "the deleter of a property": """
        def drop(self): return @
        class Tool:
            value = property(None, None, drop)
        def f(e): del Tool().value
        """,
    "a class method": """
        class Tool:
            @classmethod
            def use(cls, e): return e + @
        def f(e): return Tool.use(e)
        """,
    "a member of an enum of ints": """
        import enum
        class Kind(enum.IntEnum):
            A = 1
            def use(self, e): return e + @
        f = Kind.A.use
        """,
    "a kind of int": """
        class Own(int):
            def use(self): return @
        own = Own(3)
        def f(e): return own.use()
        """,
    "a kind of str with an attribute": """
        class Own(str): pass
        own = Own('x')
        own.value = @
        def f(e): return own.value
        """,
    "a kind of dict": """
        class Own(dict):
            def __missing__(self, key): return @
        own = Own()
        def f(e): return own[e]
        """,
    "metadata of a dtype": """
        import numpy as np
        kind = np.dtype('f4', metadata={'value': @})
        def f(e): return kind.metadata['value']
        """,
    "metadata of an array's dtype": """
        import numpy as np
        a = np.zeros(3, np.dtype('f4', metadata={'value': @}))
        def f(e): return a.dtype.metadata['value']
        """,
    "metadata of a field": """
        import numpy as np
        a = np.zeros(3, [('x', np.dtype('f4', metadata={'value': @}))])
        def f(e): return a.dtype['x'].metadata['value']
        """,
    "objects in fields of an array": """
        import numpy as np
        a = np.zeros(2, [('x', object)])
        a['x'] = [@, @]
        def f(e): return a['x']
        """,
    "the order of an array in memory": """
        import numpy as np
        a = np.array([[1, 2], [1, 2]], order='CF'[@ - 1])
        def f(e): return a.ravel('K')
        """,
    "a nested function": """
        import helper
        def f(e):
            def inner(x): return helper.g(x)
            return inner(e)
        """,
    "a comprehension": "import helper\ndef f(e): return [helper.g(x) for x in e]",
    "a class in a function": """
        from helper import VALUE
        def f(e):
            class Inner:
                value = VALUE
            return Inner.value
        """,
    "a value that a program sets in a module": {
        "job.py": "import helper\nhelper.SCALE = @\ndef f(e, m=helper): return m.SCALE",
        "helper.py": "SCALE = 0",
    },
    "a function that calls itself through another": """
        def f(e): return g(e)
        def g(e): return f(e) if e else @
        """,
    "a class in an annotation": """
        class Conversion:
            def __new__(cls, x): return x + @
        class Types:
            x: Conversion
        def f(e): return Types.__annotations__["x"](e)
        """,
    "a class in an annotation as text": """
        from __future__ import annotations
        import typing
        class Conversion:
            def __new__(cls, x): return x + @
        class Types:
            x: Conversion
        def f(e): return typing.get_type_hints(Types)["x"](e)
        """,
    "a function in the annotation of an argument": """
        import typing
        def g(x: typing.Annotated[float, lambda x: x + @]): return x
        def f(e): return g.__annotations__["x"].__metadata__[0](e)
        """,
    "a default in a NamedTuple's annotations": """
        import typing
        class Factor(float):
            value = @
        class Pair(typing.NamedTuple):
            a: Factor
        def f(e): return Pair.__annotations__["a"].value
        """,
    "an annotation that names what is missing": """
        import typing
        if typing.TYPE_CHECKING:
            from nowhere import Missing
        class Types:
            x: "Missing"
            y: "g"
        def g(x): return x + @
        def f(e): return globals()[Types.__annotations__["y"]](e)
        """,
    "a class whose annotation cannot be compared": """
        import threading
        class Config:
            lock = threading.Lock()
            scale = @
        class Types:
            x: Config
        def f(e): return e * Types.__annotations__["x"].scale
        """,
    "the docstring of a class": "class A:\n    'v@'\ndef f(e): return A.__doc__",
    "the name of a function": "def v@(e): return e\nO = [v@]\ndef f(e): return O[0].__name__",
    "a class that is registered with an abstract class": """
        import abc
        class A(abc.ABC): pass
        class One: pass
        class Two: pass
        A.register([One, Two][@ - 1])
        def f(e): return isinstance(e, A)
        """,
}


@pytest.mark.parametrize("way", WAYS)
def test_change_in_reachable_code_changes_the_digest(load, way):
    files = WAYS[way]
    files = files if isinstance(files, dict) else {"job.py": files}
    files = {"helper.py": HELPER, **files}
    first, again, other = (digest(load(files, value).f) for value in "112")
    assert first == again
    assert first != other


UNRELATED = {
    "a class in an annotation that no code reads": "class A: x = @\ndef f(e: A): return e",
    "an annotation that is not Python": "import helper\ndef f(e: 'batch dim 3'): return e",
    "another function": "def other(e): return @\ndef f(e): return e",
    "another name of a module": "import helper\ndef f(e): return helper.h(e)",
    "an unused module": "import helper\ndef f(e): return e",
    "an attribute of a library": "import numpy as np\nX = @\ndef f(e): return np.linalg.norm(e)",
    "a method of an object of a library": """
        import random
        random.seed(@)
        from random import choice
        def f(e): return random.random() + choice(e)
        """,
    "a pattern": "import re\nX = @\nP = re.compile('a')\ndef f(e): return P.match(e)",
}


@pytest.mark.parametrize("way", UNRELATED)
def test_change_in_unreachable_code_does_not_change_the_digest(load, way):
    helper = HELPER + "def h(x):\n    return x\n"
    files = {"helper.py": helper, "job.py": UNRELATED[way]}
    assert len({digest(load(files, value).f) for value in "112"}) == 1


REFUSED = {
    "import_module": "import importlib\ndef f(e): return importlib.import_module(e)",
    "import_module by its name": "from importlib import import_module\ndef f(e): import_module(e)",
    "__import__": "def f(e): return __import__(e)",
    "run_path": "import runpy\ndef f(e): return runpy.run_path(e)",
    "locate": "import pydoc\ndef f(e): return pydoc.locate(e)",
}


@pytest.mark.parametrize("way", REFUSED)
def test_import_by_computed_name_is_rejected(load, way):
    with pytest.raises(ValueError, match=r'which imports a module by name.*key="v1"'):
        digest(load({"job.py": REFUSED[way]}, "1").f)


def test_module_without_source_is_rejected_if_all_of_it_is_reachable():
    module = types.ModuleType("unwritten")
    sys.modules["unwritten"] = module
    try:
        exec("def f(e): return globals()[e]\ndef g(e): return f(e) if e else 0", vars(module))
        with pytest.raises(ValueError, match=r"source of the module unwritten cannot be read.*key"):
            digest(module.f)
    finally:
        del sys.modules["unwritten"]
    with pytest.raises(ValueError, match=r"its module is not loaded.*key"):
        digest(module.f)


def test_objects_that_cannot_be_compared_are_rejected():
    for value in (threading.Lock(), np.frompyfunc(abs, 1, 1), [threading.Lock()]):
        with pytest.raises(
            ValueError, match=r'cannot check whether that object has changed.*key="v1"'
        ):
            digest(value)
    inner = {1}
    loop = [inner]
    loop.append(loop)
    with pytest.raises(ValueError, match="cannot check whether"):
        digest(loop)


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import job
from headrace.pipeline.plan.cache_keys.code_fingerprint import Fingerprint
for value in job.VALUES:
    fingerprint = Fingerprint()
    fingerprint.add(value, "map")
    print(fingerprint.hexdigest())
"""
VALUES = """
import collections, dataclasses, enum, functools, re, typing
import numpy as np
import helper
T = typing.TypeVar("T")
Pair = collections.namedtuple("Pair", "a b")
class Color(enum.Enum):
    RED = 1
@dataclasses.dataclass(frozen=True)
class Options:
    size: int = 3
    names: set = dataclasses.field(default_factory=lambda: {"a", "b"})
@functools.lru_cache(maxsize=5)
def cached(n): return n
cached(3)
@functools.singledispatch
def f(e): return helper
@f.register
def _(e: str): return Pair, Color.RED, T, np.add
f("x")
class Generic(typing.Generic[T]): pass
VALUES = [f, cached, Pair(1, 2), Color.RED, Options(), re.compile("a"), {"x", "y", "z"}, T, Generic,
    np.random.default_rng(3), np.zeros(3), np.dtype("U3"), functools.partial(f, helper), helper,
    lambda e: (globals(), np.mean(e), collections.OrderedDict), range(3), slice(1), Color]
"""


def test_fingerprints_are_the_same_in_other_processes_and_directories(tmp_path):
    results = []
    for number in (1, 2):
        directory = tmp_path / str(number)
        directory.mkdir()
        (directory / "helper.py").write_text(HELPER.replace("@", "1"))
        (directory / "job.py").write_text(VALUES)
        path = os.pathsep.join([os.getcwd(), *sys.path])
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, directory],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        results.append(run.stdout.split())
    assert results[0] == results[1]
    assert len(set(results[0])) == len(results[0])
