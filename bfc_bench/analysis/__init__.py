"""From rows to statements: curves, thresholds, exponents, comparisons, feature errors, with their intervals."""
