"""Rules that matter are tests: what a bare import loads, which layer imports which, that the names exist."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.stub import stub

SRC = Path(discreet.__file__).parent
# What each layer may import of the others. Mathematics from nothing; nothing from what is right of it.
LAYERS = {
    "numerics": set(),  # and everybody may import it
    "privacy": set(),
    "sampling": {"privacy"},
    "families": {"privacy", "sampling"},
    # what users fit beyond one family: which cells are counted, and what they mean
    "models": {"privacy", "sampling", "families"},
    "mechanisms": {"privacy", "sampling", "families", "models"},
    # Markov steps that look at private statistics, each with its guarantee; budget and rows stay outside
    "mcmc": {"privacy", "sampling", "families", "models", "mechanisms", "place"},
    "audit": {"privacy", "sampling", "families", "models", "mechanisms", "mcmc"},
    "datasets": set(),
    "experiments": {
        *("privacy", "sampling", "families", "models", "mechanisms", "mcmc"),
        # the page of claims is written as reports are
        *("posteriors", "audit", "datasets", "report"),
    },
    "tables": {"privacy", "families", "statistics", "shown"},
    # rows of the user's own, encoded by the public schema: no engine, no private table
    "encoding": {"tables"},
    "statistics": {"privacy", "families", "models", "tables"},
    "ledger": {"privacy", "release", "shown", "place"},
    # from the private table to the release; read, draw and record stand in one place
    "line": {
        *(
            "privacy",
            "sampling",
            "families",
            "models",
            "mechanisms",
            "mcmc",
            "tables",
            "statistics",
            "ledger",
        ),
        *("release", "posteriors", "privatise", "place", "query"),
    },
    # what left the building
    "release": {
        "privacy",
        "sampling",
        "families",
        "models",
        "mechanisms",
        "posteriors",
        "report",
        "place",
        "shown",
        "encoding",
    },
    # what is right of the release is post-processing: of mechanisms it knows only the value they released
    "posteriors": {"privacy", "sampling", "families", "models", "mechanisms", "shown", "encoding"},
    "report": {"privacy", "families", "models", "release", "posteriors"},
    "planning": {"privacy", "sampling", "families", "models", "mechanisms", "posteriors"},
    "query": {"privacy", "sampling", "families", "models", "posteriors", "shown"},
}
# estimators take arrays instead of a table, and pay as privatise does
LAYERS["learn"] = {*LAYERS["planning"], "ledger", "line", "privatise", "release", "report"}
# private tables behind HTTP: the line and the readings, with the words of the command
LAYERS["service"] = {*LAYERS, *("privatise", "place", "shown", "cli")}
# and here all meet
LAYERS["cli"] = {
    *LAYERS,
    *("privatise", "place", "shown"),
}
# what any layer may import
EVERYWHERE = {"compiled", "lazy", "numerics", "catalogue", "shown"}
# Left of the release: where private rows are read and budgets are spent.
PRIVATE_SIDE = {"tables", "statistics", "ledger", "line", "privatise", "learn"}
PUBLIC_SIDE = ["release", "posteriors", "report", "planning", "query"]
# Third-party packages that a bare `import discreet` may load: none. Every public name loads on first use.
BARE_IMPORT_MAY_LOAD: set[str] = set()
# And what touching every public name may load at most.
HEAVY = {"numba", "ibis", "matplotlib", "arviz", "sklearn", "opendp", "dp_accounting", "pyarrow", "pandas"}


def _loaded_after(code: str) -> set[str]:
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout  # noqa: S603
    tops = {name.partition(".")[0] for name in out.split()}
    return tops - set(sys.stdlib_module_names) - {"discreet"}


def test_a_bare_import_loads_only_what_is_listed():
    assert _loaded_after("import discreet") <= BARE_IMPORT_MAY_LOAD


def test_touching_every_public_name_loads_nothing_heavy():
    light = [name for name in discreet.__all__ if name != "counts"]  # which builds a query, with Ibis
    loaded = _loaded_after(f"import discreet\nfor n in {light}: getattr(discreet, n)")
    assert "numpy" in loaded  # the probe works
    assert not loaded & HEAVY


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_exists_and_is_documented(name):
    thing = getattr(discreet, name)
    assert thing.__doc__


def test_packages_are_reachable_and_every_name_they_promise_is_there():
    for name in discreet._PACKAGES:
        package = getattr(discreet, name)
        for public in getattr(package, "__all__", ()):
            assert getattr(package, public) is not None, f"{name}.{public}"


def test_public_errors_are_public_names():
    """Whatever a caller may want to catch has a name in `discreet` or in a package that it names."""
    inner = {
        "DoesNotFitError",
        "StaleScopeError",
        "Withheld",
        # told to whoever asks over HTTP, as problem+json
        *("ComputeLostError", "Refused", "StateUnavailableError", "TooBusyError"),
        *("TooLongError", "Unknown"),
        "ServiceRefusedError",  # public in discreet.client, which needs an extra
    }  # caught before they reach a user
    for path in SRC.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            bases = {ast.unparse(base) for base in getattr(node, "bases", ())}
            if any(base.endswith(("Error", "Exception", "KeyboardInterrupt")) for base in bases):
                assert node.name in inner or hasattr(discreet, node.name), node.name


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        discreet.nonsense  # noqa: B018


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("discreet.")}
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_import_only_what_they_may(layer):
    for path in (SRC / layer).rglob("*.py"):
        assert _imports(path) <= LAYERS[layer] | EVERYWHERE | {layer}, path.name


@pytest.mark.parametrize("part", PUBLIC_SIDE)
def test_nothing_right_of_the_release_reaches_back_to_the_rows_or_the_budget(part):
    place = SRC / part
    for path in [place] if place.is_file() else place.rglob("*.py"):
        assert not _imports(path) & PRIVATE_SIDE, path.name


def test_every_folder_is_a_known_layer():
    folders = {p.name for p in SRC.iterdir() if any(p.glob("*.py"))}
    assert folders == set(LAYERS)


def test_the_type_stub_names_what_the_package_exports():
    written = (SRC / "__init__.pyi").read_text()
    named = {
        alias.asname
        for node in ast.parse(written).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert named == {*discreet.__all__, *discreet._PACKAGES}
    assert written == stub(), "run `make stub`"


def test_privatise_is_the_walk_and_nothing_else():
    lines = (SRC / "privatise.py").read_text().splitlines()
    assert len(lines) <= 60
    functions = [n for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.FunctionDef)]
    assert [function.name for function in functions] == ["privatise"]


# Both are public names, and the kernel's stands in the fingerprints of chains that were stopped
TWO_CLASSES = {"Mixture": {"models/mixture.py", "mcmc/mixture.py"}}


def test_a_class_name_means_one_thing():
    homes: dict[str, set[str]] = {}
    for path in SRC.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(path.relative_to(SRC).as_posix())
    assert {name: places for name, places in homes.items() if len(places) > 1} == TWO_CLASSES


def test_no_function_is_called_underscore():
    """A traceback shows the name and nothing else."""
    for path in SRC.rglob("*.py"):
        names = {n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)}
        assert "_" not in names, path


# Laws, reference numbers, attacks and the walk of every row run over everything; data are data.
ACROSS = {"laws", "numbers", "attacks", "reference", "catalogue"}


def test_tests_stand_where_the_code_stands():
    tests = Path(__file__).parent
    folders = {p.parent.relative_to(tests) for p in tests.rglob("test_*.py")} - {Path()}
    strangers = {p for p in folders if p.parts[0] not in ACROSS and not (SRC / p).is_dir()}
    assert strangers == {Path("report/browser"), Path("service/browser")}  # pages in a real browser


# Where modules are named by strings: the catalogue, public names, numba's kernels, optional extras.
BY_STRING = {
    *("__init__.py", "catalogue.py", "lazy.py", "sampling/in_bulk/batches.py"),
    *("learn/__init__.py", "posteriors/inference_data.py"),
}
# What each layer may load from a row.
LOADS = {
    "statistic": {"statistics"},
    "binder": {"statistics"},
    "weak_prior": {"statistics"},
    "reader": {"posteriors", "mechanisms"},  # a noisy statistic reads itself
    "parts": {"posteriors"},
    "record_law": {"posteriors"},
    "planner": {"planning"},
    "simulator": {"planning"},
    "report": {"report"},
    "model": {"release", "cli", "audit", "statistics", "service"},
}


def test_modules_are_named_by_strings_in_few_places():
    """The layer test sees imports; it cannot see strings."""
    for path in SRC.rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text()))
        named = [node for node in tree if isinstance(node, ast.Attribute) and node.attr == "import_module"]
        assert not named or path.relative_to(SRC).as_posix() in BY_STRING, path


def test_layers_load_only_their_own_parts_of_a_row():
    seen = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load" and node.args:
                what = getattr(node.args[0], "value", None)
                if what in LOADS:
                    seen.add(what)
                    assert path.relative_to(SRC).parts[0] in LOADS[what], (path, what)
    assert seen == set(LOADS)
