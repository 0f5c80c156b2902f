"""What the pages share: frame, sidebar, state, background work and components."""
