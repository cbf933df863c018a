"""Tracking: motions become policies, and policies are tuned in corrected simulators."""

from gapless.tracking.train_settings import TrainSettings as TrainSettings
from gapless.tracking.training import finetune as finetune
from gapless.tracking.training import train as train
