"""--where and --derive: what they read, that they run nothing, and that they select what they say."""

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.cli.fit import opened_table
from discreet.cli.typed.job import Job, schema_of
from discreet.tables.derived.columns import Expression, col, constant
from discreet.tables.derived.joint import Joint
from discreet.tables.derived.parsed import MOST_LEVELS, parse

from .conftest import CANARIES, FIT

age, ward, smoker, visits = (col(name) for name in ("age", "ward", "smoker", "visits"))
READ = {
    "age >= 65": age >= 65,
    "65 <= age": age >= 65,
    "18 <= age < 65": (age >= 18) & (age < 65),
    "age.between(18, 64)": age.between(18, 64),
    "age == -1.5": age == -1.5,
    "age != +2": age != 2,
    'ward == "A"': ward == "A",
    "ward != 'A'": ward != "A",
    'ward in ["A", "B"]': ward.isin(["A", "B"]),
    'ward not in ("A", "B")': ~ward.isin(["A", "B"]),
    'ward.isin(["A"])': ward.isin(["A"]),
    "smoker": smoker,
    "not smoker": ~smoker,
    "~smoker": ~smoker,
    "smoker == True": smoker == True,  # noqa: E712
    "smoker and age >= 65 and visits == 0": (smoker & (age >= 65)) & (visits == 0),
    "smoker & (age >= 65) | ~smoker": (smoker & (age >= 65)) | ~smoker,
    "smoker or not (age < 18 or visits > 3)": smoker | ~((age < 18) | (visits > 3)),
    "age.cut([18, 65])": age.cut([18, 65]),
    "(1.8 * age + 32).cut([100])": (1.8 * age + 32).cut([100]),
    "age / 4 - 1": age / 4 - 1,
    "1 - age": 1 - age,
    "-age": -age,
    "(9 / 5) * age": 1.8 * age,
    "constant(1)": constant(1),
    "joint(ward, smoker)": Joint(("ward", "smoker")),
    'joint(col("two words"), ward, smoker)': Joint(("two words", "ward", "smoker")),
    'col("two words") >= 1': col("two words") >= 1,
    'col("class") == "x"': col("class") == "x",
    "  age >= 65  ": age >= 65,
}


@pytest.mark.parametrize("text", READ)
def test_a_text_is_the_expression_that_python_would_build(text):
    assert repr(parse(text)) == repr(READ[text])


AGAIN = {
    "age.between(18, 64) or not ward == 'A'": "age >= 18 and age <= 64 or not ward == 'A'",
    "ward in ('A', 'B', 'C')": "ward in ['A', 'B', 'C']",
    "not (visits in [1, 2]) and smoker in [True, False]": "not visits in [1, 2] and smoker in [True, False]",
    "smoker and (age < 18 or age > 65)": "smoker and (age < 18 or age > 65)",
    "not (smoker and age < 18)": "not (smoker and age < 18)",
    "(1.8 * age + 32).cut([100])": "((1.8 * age) + 32).cut([100])",
    "1 - age / 2 > 0": "1 - (0.5 * age) > 0",
    "age - 3 < 0": "age - 3 < 0",
    "(age > 3) == True": "(age > 3) == True",
    "not not smoker": "not (not smoker)",
    "col('two words') == 'it''s'": "col('two words') == 'its'",
    "col('class')": "col('class')",
    "col('\ufb01ne') >= 1": "col('\ufb01ne') >= 1",
}


@pytest.mark.parametrize("text", [*READ, *AGAIN])
def test_an_expression_is_written_as_it_is_read(text):
    """What certificates show can be given to --where again, and says the same."""
    said = repr(parse(text))
    assert repr(parse(said)) == said
    assert said == AGAIN.get(text, said)


REFUSED = {
    "": "1 to 2000 characters",
    "age >=": "cannot read",
    "two words >= 1": 'col("its name")',
    "__import__('os').system('true')": "not an operation on a row|have .between",
    "open('/etc/passwd')": "not an operation on a row",
    "age.__class__": "Attribute is not among",
    "age.__class__()": "have .between",
    "age.between.__self__(1)": "Attribute is not among",
    "(lambda: 1)()": "not an operation on a row",
    "[age for age in visits]": "ListComp is not among",
    "(age := 1)": "NamedExpr is not among",
    "f'{age}'": "JoinedStr is not among",
    "age[0]": "Subscript is not among",
    "age ** 2": "Pow is not among",
    "age // 2 == 1": "FloorDiv is not among",
    "smoker if age else ward": "IfExp is not among",
    "age is 3": "not with is",
    "age == None": "a finite number, a text in quotes",
    "ward == b'A'": "a finite number, a text in quotes",
    "age >= 1e999": "a finite number",
    f"age >= {'9' * 400}": "a finite number",
    "age >= 1e308 * 10": "not finite",
    'age >= "\\d"': "invalid escape",
    "age > visits": "between a column and a public value",
    "1 < 2": "between a column and a public value",
    "age >= 65 & ward == 'A'": "bind more tightly",
    "age and 3": "a column or a comparison belongs here",
    "not 'A'": "a column or a comparison belongs here",
    "age * visits": "one column and public numbers",
    "2 / age": "one column and public numbers",
    "age / 0": "not finite",
    "1 / 0 * age": "not finite",
    "age + 'a'": "arithmetic needs numbers",
    "age + True": "arithmetic needs numbers",
    "-'a' * age": "arithmetic needs numbers",
    "ward in 'ABC'": "square brackets",
    "ward in []": "square brackets",
    "ward in [smoker]": "lists hold public values",
    "ward in [*'ab']": "Starred is not among",
    f"visits in [{', '.join(map(str, range(MOST_LEVELS + 1)))}]": "1 to 100 values",
    "age.between(1)": "have .between",
    "age.between(lower=1, upper=2)": "by position",
    "age.between(1, visits)": "a public number belongs here",
    "age.cut(18)": "square brackets",
    "age.cut([65, 18])": "rising order",
    "cut(age, [18])": "not an operation on a row",
    "col(1) >= 2": "col takes a text",
    "joint(ward)": "two or more different columns",
    "joint(ward, ward)": "two or more different columns",
    "joint(ward, age >= 65)": "two or more different columns",
    "joint(ward, 3)": "two or more different columns",
    "constant('a')": "constant takes a number",
    "constant(age)": "constant takes a number",
    "3": "constant(3)",
    "\ufb01ne >= 1": "look-alikes",  # a ligature, which Python reads as "fine"
    "(" * 300 + "age" + ")" * 300: "cannot read",
    "age >= 65 and " + "~" * 1500 + "smoker": "nested more than 30 deep",
    " & ".join(["smoker"] * 40): "join predicates by and, or, in",
    "age >= 1" + " and age >= 1" * 200: "1 to 2000 characters",
    "age\0": "cannot read",
}


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_with_what_why_and_what_to_write(text):
    with pytest.raises(ValueError, match=REFUSED[text].replace("(", r"\(").replace(")", r"\)")) as caught:
        parse(text)
    assert caught.value.__cause__ is None


WORDS = (
    "age ward 1 -2.5 'A' [1,2] ( ) and or not & | ~ == < in .cut .isin .between col lambda + * / ** , [ ] : "
    "if else = __import__ None True is \x00 é f'{age}' await yield 9e999"
)
TOKENS = st.sampled_from(WORDS.split())


@given(text=st.lists(TOKENS, max_size=14).map(" ".join) | st.text(max_size=30))
@settings(deadline=None, max_examples=400, derandomize=True)
def test_any_text_is_an_expression_or_a_value_error_and_nothing_is_compiled(text):
    try:
        found = parse(text)
    except ValueError:
        return
    assert isinstance(found, Expression)


def test_nothing_is_ever_run(monkeypatch):
    """Compiling to a tree is allowed; eval, exec and code objects are not."""

    def refuse(*_):
        raise AssertionError

    real = compile

    def trees_only(*args, **kwargs):
        flags = kwargs.get("flags", args[3] if len(args) > 3 else 0)
        return real(*args, **kwargs) if flags & ast.PyCF_ONLY_AST else refuse()

    monkeypatch.setattr("builtins.eval", refuse)
    monkeypatch.setattr("builtins.exec", refuse)
    monkeypatch.setattr("builtins.compile", trees_only)
    for text in READ:
        parse(text)
    with pytest.raises(AssertionError):
        eval("1")  # noqa: S307 - the control: the guard is up


# ── in a job ────────────────────────────────────────────────────────────────────────────────────────


def counted(home, column, model, **job):
    made = Job(data="rows.parquet", schema="schema.toml", column=(column,), relation="add_remove", **job)
    table = opened_table(made, schema_of(made))
    return table[column].bounded(model, dc.ADD_REMOVE).read()


def test_the_rows_kept_are_those_that_plain_python_keeps(home):
    from pyarrow import parquet

    rows = parquet.read_table(home / "rows.parquet").to_pylist()
    ages = [min(max(row["age"] or 0, 0), 128) for row in rows]
    keep = [r["ward"] == "A" or not 18 <= a < 65 for r, a in zip(rows, ages, strict=True)]
    yes = [r["smoker"] == "yes" for r in rows]
    got = counted(home, "smoker", dc.BetaBernoulli(1, 1), where=('ward in ["A"] or not 18 <= age < 65',))
    assert (got.values.tolist(), got.n) == ([sum(s and k for s, k in zip(yes, keep, strict=True))], sum(keep))
    assert 0 < sum(keep) < len(rows)
    bands = counted(
        home,
        "band",
        dc.DirichletCategorical([1] * 3),
        derive={"half": "age / 2", "band": "half.cut([5, 30])"},
        where=("half < 40", "not smoker"),
    )
    chosen = [a / 2 for a, s in zip(ages, yes, strict=True) if a / 2 < 40 and not s]
    assert bands.values.tolist() == [
        sum(low <= h < up for h in chosen) for low, up in ((0, 5), (5, 30), (30, 99))
    ]
    assert bands.n == len(chosen) > 0


KEEP = ("--relation", "add_remove", "--where", 'ward != "C" and age < 100')


@pytest.fixture
def kept(run):
    assert run("ledger", "init", "kept.db", "--budget", "pure:2", "--relation", "add_remove").code == 0
    return ("--ledger", "kept.db")


def test_a_fit_of_a_derived_column_where_something_holds(run, kept):
    done = run(
        *FIT[:4], "--model", "dirichlet_categorical", "--prior", "alpha=1", *kept, "--column", "band",
        "--derive", "older = age / 2", "--derive", "band = older.cut([9, 32])", *KEEP,
        "--target", "pure:0.5", "--out", "bands", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert [row["parameter"] for row in said["posterior"]] == ["below 9", "9 to 32", "from 32"]
    (selection,) = [
        line for line in said["certificate"]["assumed_public"] if line.startswith("the selection")
    ]
    assert selection == (
        "the selection: older = 0.5 * age; band = older.cut([9, 32]); where ward != 'C' and age < 100"
    )
    assert not any(canary in done.out + done.err for canary in CANARIES)


def test_a_job_file_has_the_same_keys_and_options_win(run, home, kept):
    job = home / "job.toml"
    job.write_text(
        'data = "rows.parquet"\nschema = "schema.toml"\ncolumn = "old"\nmodel = "beta_bernoulli"\n'
        'prior = { alpha = 1, beta = 1 }\ntarget = "pure:0.5"\nrelation = "add_remove"\nledger = "kept.db"\n'
        "out = \"r\"\nwhere = ['ward in [\"A\", \"B\"]', 'visits < 9']\n[derive]\nold = 'age >= 65'\n"
    )
    assert run("fit", "job.toml").code == 0
    done = run("fit", "job.toml", "--where", "age >= nonsense", "--out", "r2")
    assert done.code == 2
    assert "age >= nonsense" in done.err
    job.write_text('data = "rows.parquet"\nwhere = 65\n')
    assert run("fit", "job.toml").code == 2
    job.write_text('data = "rows.parquet"\nwhere = [65]\n')
    done = run("fit", "job.toml")
    assert done.code == 2
    assert "take text" in done.err


WRONG = {
    "no predicate": (("--where", "age + 1"), "where takes a predicate"),
    "unknown column": (("--where", "agee >= 65"), "no column 'agee' is declared"),
    "unknown level": (("--where", 'ward == "D"'), "not a declared level"),
    "levels have no order": (("--where", 'ward >= "A"'), "use == or isin"),
    "call": (("--where", "print(age)"), "not an operation on a row"),
    "substitute": (("--where", "age >= 65", "--relation", "substitute"), "add --relation add_remove"),
    "derived twice": (("--derive", "a = -age", "--derive", "a = age / 2"), "twice"),
    "derived over a column": (("--derive", "age = age / 2"), "there already"),
    "no name": (("--derive", "age >= 65"), "NAME = EXPRESSION"),
    "comparison for a name": (("--derive", "age == 65"), "NAME = EXPRESSION"),
    "cut of a category": (("--derive", "x = ward.cut([1])"), "cut needs numbers"),
    "where of a number": (("--where", "1"), "reads no column"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_expression_is_one_line_with_the_next_step_and_charges_nothing(run, kept, case):
    options, word = WRONG[case]
    done = run(*FIT, *kept, *KEEP[:2], "--target", "pure:0.5", "--out", "r", *options)
    assert done.code == 2, done.err
    assert word in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert len(json.loads(run("ledger", "history", "kept.db", "--json").out)) == 1


def test_long_lists_and_chains_reach_the_engine(home):
    levels = ", ".join(map(str, range(17)))
    texts = (f"visits in [{levels + ', 3' * (MOST_LEVELS - 17)}]", " and ".join(["age >= 0"] * 150))
    assert counted(home, "smoker", dc.BetaBernoulli(1, 1), where=texts).n == 200


def test_the_help_teaches_expressions_that_can_be_read(run):
    shown = run("fit", "--help").out
    lines = shown[shown.index("Expressions (") : shown.index("How many rows")].splitlines()[1:]
    first = [line.strip().split("  ")[0] for line in lines if line.strip()]
    assert len(first) == 7
    for text in first:
        parse(text)
