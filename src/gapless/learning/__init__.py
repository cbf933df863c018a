"""Learning: what every learner here shares: checkpoints, environments, the PPO loop."""
