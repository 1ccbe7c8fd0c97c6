"""Plans of models of counts."""
