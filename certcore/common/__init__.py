"""Utilities of all layers: errors, files, validation of untrusted values, rounding, executors, statistics."""
