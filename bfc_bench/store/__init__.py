"""The local store and its rows."""
