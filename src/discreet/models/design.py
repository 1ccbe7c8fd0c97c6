"""Columns of a table as numbers of a row x: centred and scaled by public bounds, or one indicator a level."""

from discreet.families.named_columns import Feature, Units, encoded, references

__all__ = ["Feature", "Units", "encoded", "references"]
