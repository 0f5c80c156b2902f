"""Nothing is believed unchecked: bounds are proven in exact integers, and proofs can be checked by anybody."""
