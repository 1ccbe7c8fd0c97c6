"""The straight line, from the charge on: `after_charge` walks it, `forms` writes what it releases."""
