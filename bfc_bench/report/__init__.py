"""What a run leaves for readers: figures, tables and one HTML page."""
