"""The dataset on disk: a LeRobot v3.0 folder, written and read one recording at a time."""
