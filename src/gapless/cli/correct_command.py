"""`gapless correct`: learn what no parameter expresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.correct_options import (
    Correct,
    choices,
    model_settings,
    same_world,
    trainer_settings,
)
from gapless.cli.correction_option import calibrated, trained_and_judged
from gapless.cli.correction_report import draw, report
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse
from gapless.cli.training_view import shown
from gapless.errors import ArtifactError, DataError
from gapless.progress import Progress
from gapless.recordings import Dataset

if TYPE_CHECKING:
    from gapless.corrections import Correction
    from gapless.recordings.split import Split
    from gapless.worlds import MujocoWorld


@dataclass(frozen=True)
class _Job:
    """What is trained on what.

    Attributes:
        train: recordings to train on, and to judge by where that is a share.
        judged_by: recordings to judge by, or the share of motions to keep back.
        seen: motions that the calibration was fitted to.
        split: the recordings by their use.
        world: calibrated, without the correction.
    """

    train: Dataset
    judged_by: Dataset | float
    seen: list[str]
    split: Split
    world: MujocoWorld


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
    from gapless.identification import Calibration
    from gapless.recordings.split import divided
    from gapless.worlds import MujocoWorld

    dataset, nominal = args.opened()
    chosen, others = dataset, 0.0
    if not args.transfer:
        chosen, others = trained_and_judged(dataset, args.judge, args.fit, args.held_out, args.seed)
    robot, effects, train = calibrated(nominal, chosen, args.calibration, args.loaded)
    if isinstance(others, Dataset):
        others = calibrated(nominal, others, args.calibration, args.loaded)[2]
    world = MujocoWorld(robot, dataset.rate, effects=effects, physics_step=args.physics_step)
    if args.transfer:
        return _Job(train, others, [], _never_trained_on(args, train), world)
    seen = fitted_motions(Calibration.load(args.calibration) if args.calibration else None)
    split = divided(train, others, args.units, args.seed, seen)
    return _Job(train, others, seen, split, world)


def _trained(args: Correct, job: _Job, progress: Path) -> Correction:
    """Train, and show it."""
    from gapless.corrections import CorrectedWorld, correct
    from gapless.corrections.training.tensorboard import logged
    from gapless.corrections.training.trainer import TrainingProgress
    from gapless.measurement.judge import replay_rmse

    def judge(correction: Correction | None) -> float:
        if not job.split.held_out:
            return float("nan")
        corrected = CorrectedWorld(job.world, None, [correction] if correction else [])
        return replay_rmse(job.split.held_out, corrected, args.horizon)

    with logged(args.log) as log, shown(judge) as view:

        def watch(now: Progress) -> None:
            assert isinstance(now, TrainingProgress)
            view.watch(now)
            judged = {"held_out": view.held_out} if now.correction else {}
            log(replace(now, figures={**now.figures, **judged}))

        return correct(
            job.train,
            job.world,
            held_out=job.judged_by,
            units=args.units,
            seen=job.seen,
            seed=args.seed,
            keep_anyway=args.keep_anyway,
            checkpoint=progress,
            restart=args.restart,
            watch=watch,
            **choices(args, [*job.split.train, *job.split.held_out]),
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
    unseen = dataset.select(lambda e: e.name not in known and not e.provenance.get("flags"))
    if args.units:
        unseen = unseen.select(lambda e: e.conditions.unit in args.units)
    if not len(unseen):
        raise DataError(
            f"{args.dataset} has no motion (of these units) that {args.transfer} was not trained "
            "on, so nothing can judge the transfer; give a dataset of other motions"
        )
    return Split([], [], list(unseen))
