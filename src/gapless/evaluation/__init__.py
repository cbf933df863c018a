"""Policies in worlds: survival, errors, what fails first, what it depends on."""

from gapless.evaluation.evaluating import evaluate as evaluate
from gapless.evaluation.evaluation import Evaluation as Evaluation
from gapless.evaluation.scenario import Scenario as Scenario
from gapless.evaluation.walk_prediction import WalkPrediction as WalkPrediction
from gapless.evaluation.walk_prediction import predict_walks as predict_walks
