"""Recordings: what a robot did, as clips on a uniform clock; datasets, checks and importers."""

from gapless.recordings.checks import CheckReport as CheckReport
from gapless.recordings.checks import check_dataset as check_dataset
from gapless.recordings.conditions import Conditions as Conditions
from gapless.recordings.dataset import Dataset as Dataset
from gapless.recordings.dataset import DatasetWriter as DatasetWriter
from gapless.recordings.dataset import Episode as Episode
from gapless.recordings.importing import ImportReport as ImportReport
from gapless.recordings.importing import import_dataset as import_dataset
from gapless.recordings.options import ImportOptions as ImportOptions
from gapless.recordings.recording import Recording as Recording
from gapless.recordings.robot_of_dataset import robot_of as robot_of
from gapless.recordings.split import Split as Split
from gapless.recordings.splitting import split_recordings as split_recordings
