"""The tables of the state database, as of the newest migration."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, String, Table, Text

metadata = MetaData()

PEOPLE = Table(
    "service_people",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("role", String(10), nullable=False),  # owner or analyst
    Column("groups", Text, nullable=False),  # a JSON list
    Column("created", BigInteger, nullable=False),  # all times are seconds since 1970
)
TOKENS = Table(
    "service_tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("person", String(100), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of 256 random bits: no salt needed
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)
SESSIONS = Table(
    "service_sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("person", String(100), nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("token", String(32)),  # the token that signed in, whose revocation ends the session
    Column("expires", BigInteger, nullable=False),
)
SIGN_INS = Table(
    "service_sign_ins",  # begun at the OpenID provider, and not yet back
    metadata,
    Column("state", String(64), primary_key=True),
    Column("nonce", String(64), nullable=False),
    Column("verifier", String(128), nullable=False),
    Column("expires", BigInteger, nullable=False),
)
TABLES = Table(
    "service_tables",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("facts", Text, nullable=False),  # JSON: address, schema, unit, n, models, required budgets
)
JOBS = Table(
    "service_jobs",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("person", String(100), nullable=False),
    Column("status", String(20), nullable=False),
    Column("request", Text, nullable=False),  # JSON
    Column("created", Float, nullable=False),
    Column("lease", Float, nullable=False),  # until when a worker has it
    Column("visible", Float),  # when its end may be seen
    Column("problem", Text),
    Column("decided_by", String(100)),
    Column("decided", Float),
    Column("reason", Text),
)
SECRETS = Table(
    "service_secrets",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", String(128), nullable=False),
)
