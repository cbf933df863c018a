"""What only an operator has: sensors that probe a simulator, and transfer to another robot."""
