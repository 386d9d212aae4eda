"""Parts of a run that others execute: planned and written down here, run anywhere, collected as rows."""
