"""Numerics that learner authors share."""
