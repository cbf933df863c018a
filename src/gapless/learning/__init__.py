"""Learning: what every learner here shares.

`world_vec_env` turns any World into rsl_rl's environments for a task; `ppo_loop` trains rsl_rl's
PPO on them, with `ppo_settings`; `checkpoint`, `adam_state` and `ppo_progress` let a stopped
training go on to the same result.
"""
