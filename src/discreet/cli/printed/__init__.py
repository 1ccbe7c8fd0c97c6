"""What the command prints: releases, tables, errors in one line, exit codes."""
