"""The input of a certificate: graph, receptive fields, base certificate and targets, in memory and in one file."""
