"""Helpers without dependencies: files, plain JSON, credentials, control characters, processes, hook markers."""
