"""`gapless correct`: learn what no parameter expresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.correct_options import (
    Correct,
    correct_settings,
    model_settings,
    same_world,
    trainer_settings,
)
from gapless.cli.correct_parts import forget_trainings, make_trainings
from gapless.cli.correction_option import calibration_of
from gapless.cli.correction_report import draw, report
from gapless.cli.place_option import Placed
from gapless.cli.split_option import share_or_patterns, tell
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse
from gapless.cli.terminal import progress as shown_progress
from gapless.cli.training_view import shown
from gapless.errors import ArtifactError, DataError
from gapless.recordings import Dataset

if TYPE_CHECKING:
    from gapless.corrections import Correction
    from gapless.identification import Calibration
    from gapless.recordings.split import Split
    from gapless.worlds import MujocoWorld
    from gapless.worlds.world import World


@dataclass(frozen=True)
class _Job:
    """What is trained on what.

    Attributes:
        split: the recordings by their use.
        nominal: the simulator as it was.
        calibration: what the correction is learned on top of.
    """

    split: Split
    nominal: MujocoWorld
    calibration: Calibration | None

    @property
    def world(self) -> World:
        """Calibrated, without the correction."""
        from gapless.corrections import CorrectedWorld

        return CorrectedWorld(self.nominal, self.calibration).world


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Correct, "correct", arguments)
    from gapless.corrections import CorrectionRefusedError

    _check(args)
    job = job_of(args)
    progress = args.out.with_name(f".{args.out.name}.progress.safetensors")
    try:
        with stoppable():
            if args.on != Placed.on:
                with shown_progress("trainings") as show:
                    args = make_trainings(args, arguments, job.split, progress, show)
            found = _transferred(args, job) if args.transfer else _trained(args, job, progress)
    except KeyboardInterrupt as stop:
        return stopped(stop, progress.exists())
    except CorrectionRefusedError as refusal:
        report(refusal.correction, job.split, job.world, args.horizon, args.json)
        console(stderr=True).print(f"gapless: {refusal}", style="red")
        if progress.exists():
            console(stderr=True).print(
                f"{progress} keeps the training: --keep-anyway writes it without training again, "
                "other options need --restart"
            )
        return 1
    found.save(args.out, args.overwrite)
    forget_trainings(progress)
    report(found, job.split, job.world, args.horizon, args.json)
    if args.onnx:
        from gapless.corrections.onnx_export import export_onnx

        export_onnx(found, args.onnx)
    if args.plots:
        draw(found, job.split, job.world, args.horizon, args.plots)
    console(stderr=True).print(
        f"correction written to {args.out}; next: gapless measure {args.test_on or args.dataset}"
        f"{same_world(args)} --correction {args.out}"
    )
    return 0


def _check(args: Correct) -> None:
    """Refuse before the work starts what would be refused after it."""
    from gapless.corrections.training import trainer_of
    from gapless.measurement.gap_plots import require_matplotlib

    check_outputs(args.out, args.json, args.onnx, args.plots and args.plots / "outputs.png")
    if args.out.exists() and not args.overwrite:
        raise ArtifactError(f"{args.out} exists; use --overwrite, or another --out")
    if args.plots:
        require_matplotlib()
    trainer_of(args.trainer, trainer_settings(args))
    model_settings(args)


def job_of(args: Correct) -> _Job:
    """Recordings, their split, and the calibrated world."""
    from gapless.worlds import MujocoWorld

    dataset, robot = args.opened()
    calibration = calibration_of(args.calibration, args.loaded)
    world = MujocoWorld(robot, dataset.rate, physics_step=args.physics_step)
    split = _judges(args, dataset) if args.transfer else tell(args.split(dataset, calibration))
    if calibration is not None:
        split = split.each(calibration.recordings)
    return _Job(split, world, calibration)


def _trained(args: Correct, job: _Job, progress: Path) -> Correction:
    """Train, and show it."""
    from gapless.corrections import correct
    from gapless.learning.tensorboard import logged
    from gapless.learning.wandb_log import both, wandb_logged

    with (
        logged(args.log) as log,
        wandb_logged(args.wandb, args.out, vars(args)) as told,
        shown() as view,
    ):
        watch = both(view.watch, both(log, told))
        return correct(
            job.split,
            job.nominal,
            job.calibration,
            settings=correct_settings(args),
            seed=args.seed,
            keep_anyway=args.keep_anyway,
            checkpoint=progress,
            restart=args.restart,
            watch=watch,
        )


def _transferred(args: Correct, job: _Job) -> Correction:
    """A correction of another unit or robot, its sensors fitted to this simulator."""
    from gapless.corrections import CorrectedWorld, Correction, CorrectionRefusedError
    from gapless.corrections.operator.transfer import transferred
    from gapless.measurement.judge import judged

    found = transferred(Correction.load(args.transfer or ""), job.world, seed=args.seed)
    worlds = job.world, CorrectedWorld(job.world, None, [found])
    split, motions = job.split, job.split.motions
    found = replace(
        found,
        choose=judged(split.choose, *worlds, args.horizon, motions["choose"]),
        test=judged(split.test, *worlds, args.horizon, motions["test"]),
    )
    if not (found.choose and found.choose.improved) and not args.keep_anyway:
        raise CorrectionRefusedError(found)
    return found


def _judges(args: Correct, dataset: Dataset) -> Split:
    """Motions that a transferred correction was not trained on: some choose, the others test."""
    from gapless.corrections import Correction
    from gapless.recordings.earlier_split import EarlierSplit
    from gapless.recordings.splitting import judges

    clips = dataset.select(lambda e: not e.flags)
    if args.units:
        clips = clips.select(lambda e: e.conditions.unit in args.units)
    facts = Correction.load(args.transfer or "").made_by.get("split")
    before = EarlierSplit(facts) if facts else None
    unseen = [r for r in clips if before is None or "learn" not in before.parts_of(r)]
    if not unseen:
        raise DataError(
            f"{args.dataset} has no motion (of these units) that {args.transfer} was not trained "
            "on, so nothing can judge the transfer; give a dataset of other motions"
        )
    return judges(unseen, share_or_patterns(args.test), args.seed)
