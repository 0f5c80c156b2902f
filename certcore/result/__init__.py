"""Results: certificates, attacks with their allocations, and the state of each node in an attack."""
