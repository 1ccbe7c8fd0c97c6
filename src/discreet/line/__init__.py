"""The straight line, a file per step: `choose`, `calibrate`, `charge`, `after_charge`."""
