"""Pages that are made and not written: one per model of the catalogue, and the reference of public names.

mkdocs calls the functions that begin with `on_`; tests call the others.
"""

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

import discreet
from discreet.catalogue import ROWS

HERE = Path(__file__).parent
HIDDEN = {"sizes", "design", "named"}  # parameters that the library fills from the schema
# Code, links and tags are left alone; a script follows a letter or a bracket, and is one sign or in brackets.
KEPT = re.compile(r"(```.*?```|``.+?``|`[^`\n]*`|\]\([^)]*\)|</?[a-zA-Z][^>]*>|https?://\S+)", re.DOTALL)
SCRIPT = re.compile(r"(?<!\s)([_^])(?:(\{)|(?<![^\W_]{2}[_^])([^\W_])(?!\w))")
KINDS = {
    "family": "a family with a conjugate prior",
    "counts": "a model of counts",
    "regression": "a regression",
    "groups": "a family in each group",
    "numbers": "plain numbers, without a model",
}
OPTIONS = "\n".join(
    f"      {line}"
    for line in (
        "show_root_heading: true",
        "show_root_toc_entry: true",
        "show_source: false",
        "show_bases: false",
        "inherited_members: true",
        "members_order: source",
        "heading_level: 3",
        "docstring_section_style: list",
        "show_signature_annotations: true",
        "separate_signature: true",
        'filters: ["!^_"]',
    )
)


def told(name: str) -> dict[str, Any]:
    """Return what models.toml says of a model."""
    return tomllib.loads((HERE / "models.toml").read_text(encoding="utf-8"))[name]


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """Return what a user may give the model's constructor."""
    found = inspect.signature(ROWS[name].load("model")).parameters
    return {key: one for key, one in found.items() if key not in HIDDEN}


def groups() -> dict[str, dict[str, Any]]:
    """Return the pages of the reference: file → title, introduction and names."""
    told = tomllib.loads((HERE / "reference.toml").read_text(encoding="utf-8"))
    names: dict[str, list[str]] = {file: [] for file in told}
    for name in discreet.__all__:
        names[_page_of(told, home(name).removeprefix("discreet."))].append(name)
    return {file: {**group, "names": names[file]} for file, group in told.items()}


def _page_of(told: dict[str, dict[str, Any]], where: str) -> str:
    """Return the page whose home of a name is the nearest."""
    found = [
        (len(part), file)
        for file, group in told.items()
        for part in group["homes"]
        if f"{where}.".startswith(f"{part}.")
    ]
    if not found:
        raise ValueError(
            f"{where} is on no page of the reference: name its folder in docs/making/reference.toml"
        )
    return max(found)[1]


# ── a model's page ──────────────────────────────────────────────────────────────────────────────────
def model_page(name: str) -> str:
    """Write the page of a model: what it is, its prior, what it reads, and how it is released."""
    row, said = ROWS[name], told(name)
    title = row.model.partition(":")[2]
    parts = [
        f"# {title}",
        f"`dc.{title}`, in job files and on the command line `{name}`: {KINDS[row.kind]}.",
        said["about"],
        f"```math\n{said['formula'].strip()}\n```",
        "## The prior and its parameters",
        _table(("parameter", "default", "what it is"), _parameter_rows(name, said["parameters"])),
        *_weak_prior(name),
        "## What it reads",
        said["reads"],
        "An example, as the tests use it:",
        f"```py\n{_example(name)}\n```",
        "## How it is released",
        _table(("`mechanism=`", "what it is called in certificates"), _mechanism_rows(name)),
        *_refused(name),
        "## What its posterior answers",
        _answers(name),
        f"More: {said['more']}.",
    ]
    return "\n\n".join(parts) + "\n"


def index_page() -> str:
    """Write the page that lists every model with its question."""
    rows = [
        (f"[{row.model.partition(':')[2]}]({name}.md)", told(name)["about"]) for name, row in ROWS.items()
    ]
    about = "Every model that can be fitted, with the question that it answers."
    return f"# Models\n\n{about}\n\n{_table(('model', 'what it answers'), rows)}\n"


def _parameter_rows(name: str, said: dict[str, str]) -> list[tuple[str, str, str]]:
    rows = []
    own = told(name).get("defaults", {})
    for key, one in parameters(name).items():
        rows.append((f"`{key}`", own.get(key) or _default(one.default), said[key]))
    return rows


def _default(value: object) -> str:
    if value is None:
        return "from the bounds"
    return "required" if value is inspect.Parameter.empty or value in {"", 0, ()} else f"`{value}`"


def _weak_prior(name: str) -> list[str]:
    if not ROWS[name].weak_prior:
        return []
    words = told(name)["weak"]
    ways = f'`dc.model_for(table[…], "{name}")` and `discreet fit --model {name}`'
    return [f"{ways} without a prior choose: {words}"]


def _example(name: str) -> str:
    """Write the example of the catalogue as Python."""
    example, title = ROWS[name].examples[0], ROWS[name].model.partition(":")[2]
    given = ", ".join(f"{key}={_as_python(value)}" for key, value in example.prior.items())
    schema = "".join(f"    {key!r}: {dict(value)!r},\n" for key, value in example.columns.items())
    return (
        f"model = dc.{title}({given})\n"
        f'schema = dc.Schema.from_dict({{"columns": {{\n{schema}}}}})\n'
        f"rows = {list(example.rows)!r}  # {', '.join(example.columns)}"
    )


def _as_python(value: Any) -> str:  # noqa: ANN401 - of a job file
    """Write an argument; a family within a model by its name."""
    if not (isinstance(value, dict) and value.get("family") in ROWS):
        return repr(value)
    title = ROWS[value["family"]].model.partition(":")[2]
    return f"dc.{title}({', '.join(f'{k}={v!r}' for k, v in value.items() if k != 'family')})"


def _mechanism_rows(name: str) -> list[tuple[str, str]]:
    row = ROWS[name]
    kept = [(typed, home) for typed, home in row.mechanisms.items() if typed not in row.cannot]
    return [
        (f'`"{typed}"`{" (the default)" if i == 0 else ""}', f"`{home}`")
        for i, (typed, home) in enumerate(kept)
    ]


def _refused(name: str) -> list[str]:
    row = ROWS[name]
    lines = [f'- `"{typed}"`: {reason}.' for typed, reason in row.cannot.items() if typed in row.mechanisms]
    return ["Refused:", "\n".join(lines)] if lines else []


def _answers(name: str) -> str:
    row = ROWS[name]
    theta = ", ".join(f"`{part}`" for part in row.parameters)
    first = (
        f"Its parameters are {theta}."
        if row.kind == "family"
        else "Its parameters are named by their labels."
    )
    if row.predicted:
        return f"{first} `predict` and `predict_proba` give {row.predicted}."
    return f"{first} `predict` is refused: {row.unpredicted}."


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


# ── the reference ───────────────────────────────────────────────────────────────────────────────────
def reference_page(file: str) -> str:
    """Write a page of the reference: every name of a group, from its docstring."""
    group = groups()[file]
    names = [*map(str, group["names"])]
    entries = "\n\n".join(
        f'::: {home(name)}\n    options:\n{OPTIONS}\n      heading: "dc.{name}"\n      toc_label: "{name}"'
        for name in names
    )
    return f"# {group['title']}\n\n{group['about']}\n\n{entries}\n"


def home(name: str) -> str:
    """Say where a public name is defined, for those who read sources and not run them."""
    found = getattr(discreet, name)
    module = getattr(found, "__module__", None)
    at = discreet._MODULE[name]  # noqa: SLF001 - our own table of names
    return f"{module}.{name}" if str(module).startswith("discreet.") else f"discreet.{at}.{name}"


# ── mkdocs ──────────────────────────────────────────────────────────────────────────────────────────
def math(source: str, language: str, class_name: str, options: Any, md: Any, **kwargs: Any) -> str:  # noqa: ANN401, ARG001
    """Typeset a fenced formula as MathML, which browsers draw by themselves."""
    return "".join(convert(line, display="block") for line in source.strip().splitlines() if line.strip())


def raised(text: str) -> str:
    """Raise and lower what stands behind ^ and _ in the formulas of a page, outside of code and links."""
    parts = KEPT.split(text)
    return "".join(part if KEPT.fullmatch(part) else _scripts(part) for part in parts)


def _scripts(text: str) -> str:
    found = SCRIPT.search(text)
    if found is None:
        return text
    sign, bracket, one = found.groups()
    tag, start = {"_": "sub", "^": "sup"}[sign], found.end()
    end = _closed(text, start) if bracket else start
    inner, rest = (_scripts(text[start:end]), text[end + 1 :]) if bracket else (one, text[start:])
    return f"{text[: found.start()]}<{tag}>{inner}</{tag}>{_scripts(rest)}"


def _closed(text: str, start: int) -> int:
    """Find the bracket that closes the one before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"a bracket is never closed: {text[start : start + 60]!r}")


def on_page_markdown(markdown: str, **kwargs: Any) -> str:  # noqa: ANN401, ARG001
    return raised(markdown)


def on_config(config: Any) -> Any:  # noqa: ANN401 - mkdocs' configuration
    fences = [{"name": "math", "class": "math", "format": math}]
    config["mdx_configs"]["pymdownx.superfences"] = {"custom_fences": fences}
    return config


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401
    made = {f"models/{name}.md": model_page(name) for name in ROWS} | {"models/index.md": index_page()}
    made |= {f"reference/{file}.md": reference_page(file) for file in groups()}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files
