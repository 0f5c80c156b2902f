"""All that a certificate needs: graph, fields, base certificate and targets, in memory and in one file."""
