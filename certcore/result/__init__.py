"""Results: certificates, attacks and their allocations, and the state of each node in an attack."""
