"""What every layer uses: errors, files, reading of untrusted values, rounding, executors, statistics over splits."""
