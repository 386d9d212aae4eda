"""Running a suite: from words to cells, a plan, batches, and rows."""
