"""What Alembic runs: on the connection that `discreet.service.state.store` hands over."""

from alembic import context

from discreet.service.state.layout import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
