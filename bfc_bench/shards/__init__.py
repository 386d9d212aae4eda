"""Divides a run into shards, which run as jobs of a cluster, and collects their rows."""
