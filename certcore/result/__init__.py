"""What comes out: attacks and their allocations, what becomes of each node, the certificate itself."""
