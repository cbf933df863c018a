"""Ways to a robot: a World in this process or in another, Unitree's own messages."""
