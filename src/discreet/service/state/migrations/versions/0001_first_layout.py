"""People, tokens, sessions, tables and jobs: the first layout."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Lay out what version 0.1 remembers; written out, so that later layouts leave it alone."""
    op.create_table(
        "service_people",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "service_tokens",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("person", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.BigInteger),
    )
    op.create_table(
        "service_sessions",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("person", sa.String(100), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("token", sa.String(32)),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "service_sign_ins",
        sa.Column("state", sa.String(64), primary_key=True),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("verifier", sa.String(128), nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "service_tables",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "service_jobs",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("person", sa.String(100), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("lease", sa.Float, nullable=False),
        sa.Column("visible", sa.Float),
        sa.Column("problem", sa.Text),
        sa.Column("decided_by", sa.String(100)),
        sa.Column("decided", sa.Float),
        sa.Column("reason", sa.Text),
    )
    op.create_table(
        "service_secrets",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.String(128), nullable=False),
    )
