"""`gapless correct`: learn what no parameter expresses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.correct_options import (
    Correct,
    choices,
    model_settings,
    same_world,
    trainer_settings,
)
from gapless.cli.correction_option import calibration_of, trained_and_judged
from gapless.cli.correction_report import draw, report
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse
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
        train: recordings to train on, and to judge by where that is a share.
        judged_by: recordings to judge by, or the share of motions to keep back.
        split: the recordings by their use.
        nominal: the simulator as it was.
        calibration: what the correction is learned on top of.
    """

    train: Dataset
    judged_by: Dataset | float
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
    job = _job(args)
    progress = args.out.with_name(f".{args.out.name}.progress.safetensors")
    try:
        with stoppable():
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
    progress.unlink(missing_ok=True)
    report(found, job.split, job.world, args.horizon, args.json)
    if args.onnx:
        from gapless.corrections.onnx_export import export_onnx

        export_onnx(found, args.onnx)
    if args.plots:
        draw(found, job.split, job.world, args.horizon, args.plots)
    console(stderr=True).print(
        f"correction written to {args.out}; next: gapless measure {args.judge or args.dataset}"
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


def _job(args: Correct) -> _Job:
    """Recordings, their split, and the calibrated world."""
    from gapless.corrections.correcting import fitted_motions
    from gapless.recordings.split import divided
    from gapless.worlds import MujocoWorld

    dataset, robot = args.opened()
    train, others = dataset, 0.0
    if not args.transfer:
        train, others = trained_and_judged(dataset, args.judge, args.fit, args.held_out, args.seed)
    calibration = calibration_of(args.calibration, args.loaded)
    if calibration is not None:
        train = calibration.recordings(train)
        others = calibration.recordings(others) if isinstance(others, Dataset) else others
    world = MujocoWorld(robot, dataset.rate, physics_step=args.physics_step)
    if args.transfer:
        return _Job(train, others, _never_trained_on(args, train), world, calibration)
    split = divided(train, others, args.units, args.seed, fitted_motions(calibration))
    return _Job(train, others, split, world, calibration)


def _trained(args: Correct, job: _Job, progress: Path) -> Correction:
    """Train, and show it."""
    from gapless.corrections import CorrectedWorld, correct
    from gapless.corrections.training.tensorboard import logged
    from gapless.measurement.judge import replay_rmse

    def judge(correction: Correction | None) -> float:
        if not job.split.held_out:
            return float("nan")
        corrected = CorrectedWorld(job.world, None, [correction] if correction else [])
        return replay_rmse(job.split.held_out, corrected, args.horizon)

    with logged(args.log) as log, shown(judge) as view:

        def watch(done: float, figures: dict[str, float], correction: Correction | None) -> None:
            view.watch(done, figures, correction)
            log(done, figures | ({"held_out": view.held_out} if correction else {}), None)

        return correct(
            job.train,
            job.nominal,
            job.calibration,
            held_out=job.judged_by,
            units=args.units,
            seed=args.seed,
            keep_anyway=args.keep_anyway,
            checkpoint=progress,
            restart=args.restart,
            watch=watch,
            **choices(args),
        )


def _transferred(args: Correct, job: _Job) -> Correction:
    """A correction of another unit or robot, its sensors fitted to this simulator."""
    from gapless.corrections import Correction, CorrectionRefusedError
    from gapless.corrections.correcting import judged
    from gapless.corrections.operator.transfer import transferred

    found = transferred(Correction.load(args.transfer or ""), job.world, seed=args.seed)
    found = judged(found, job.world, job.split, args.horizon)
    if found.held_out and not found.held_out.improved and not args.keep_anyway:
        raise CorrectionRefusedError(found)
    return found


def _never_trained_on(args: Correct, dataset: Dataset) -> Split:
    """Every recording judges a transferred correction, but motions that it was trained on."""
    from gapless.corrections import Correction
    from gapless.recordings.split import Split

    known = Correction.load(args.transfer or "").made_by.get("motions", ())
    unseen = dataset.select(lambda e: e.name not in known and not e.flags)
    if args.units:
        unseen = unseen.select(lambda e: e.conditions.unit in args.units)
    if not len(unseen):
        raise DataError(
            f"{args.dataset} has no motion (of these units) that {args.transfer} was not trained "
            "on, so nothing can judge the transfer; give a dataset of other motions"
        )
    return Split([], [], list(unseen))
