"""A replay and its exact slopes, in JAX: MuJoCo's own step, differentiated."""
