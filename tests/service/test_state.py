"""The state database: its migrations lead to the layout in use, and another layout is refused."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from discreet.service.settings import load, write
from discreet.service.state import people
from discreet.service.state.layout import metadata
from discreet.service.state.store import StateStore, StateUnavailableError


@pytest.fixture
def state(tmp_path, database):
    found = StateStore(database or str(tmp_path / "state.db"))
    yield found
    found.close()


def test_migrations_lead_to_the_layout_that_the_code_uses(state):
    state.upgrade()
    with state.reading() as connection:
        context = MigrationContext.configure(connection, opts={"target_metadata": metadata})
        assert compare_metadata(context, metadata) == []
    assert state.upgrade() == state.layout() == "0001"  # again, and nothing happens


def test_what_was_written_survives_a_migration(state):
    state.upgrade()
    people.add_person(state, "ada", groups=["ward"])
    _, secret = people.issue(state, "ada")
    state.upgrade()
    assert people.holder(state, secret)[0].groups == ("ward",)


def test_a_database_of_another_layout_is_refused_with_what_to_do(state):
    state.upgrade()
    state.check()
    with state.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(StateUnavailableError, match="discreet service upgrade"):
        state.check()


def test_all_workers_share_one_secret(state):
    state.upgrade()
    again = StateStore(state.url.render_as_string(hide_password=False).replace("+psycopg", ""))
    assert state.secret("ids") == again.secret("ids")
    again.close()


def test_settings_say_what_they_do_not_know(tmp_path):
    home = write(tmp_path / "kept")
    assert load(home).wait == 0.5
    (home / "service.toml").write_text("waits = 1\n")
    with pytest.raises(ValueError, match=r"unknown keys waits; known: .*wait"):
        load(home)
    (home / "service.toml").write_text("wait = -1\n")
    with pytest.raises(ValueError, match="wait is a number"):
        load(home)
    with pytest.raises(FileExistsError):
        write(home)


def test_an_owner_decides_by_command_and_not_about_their_own_request(tmp_path, fill, capsys):
    from discreet.cli.command import app
    from discreet.service.state import jobs

    settings, _ = fill(tmp_path / "service")
    state = StateStore(settings.state)
    for job, who in (("a" * 32, "ada"), ("b" * 32, "grace")):
        jobs.add(state, job, who, jobs.AWAITING, {"table": "visits", "epsilon": "2"})

    def decide(job, by):
        words = ["service", "decide", settings.folder, job, "--by", by, "--approve", "--reason", "as agreed"]
        return app(words, standalone_mode=False)

    assert decide("b" * 32, "grace") == 2
    assert decide("a" * 32, "ada") == 2
    assert decide("a" * 32, "grace") in {0, None}
    assert [each.id for each in jobs.awaiting(state)] == ["b" * 32]
    assert jobs.find(state, "a" * 32).decided_by == "grace"
    state.close()
    capsys.readouterr()
