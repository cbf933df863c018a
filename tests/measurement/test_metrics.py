"""Metrics against numbers worked out by hand, and against second implementations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from gapless.measurement import metrics

NAN = np.nan
# Two windows of three samples, one joint: |errors| 1, 2, 3 and 4, 5, (unusable).
ERROR = np.array([[[1.0], [-2.0], [3.0]], [[-4.0], [5.0], [NAN]]])


def test_mpjae_by_hand() -> None:
    """(1+2+3+4+5)/5."""
    assert metrics.mpjae(ERROR)[0] == pytest.approx(3.0)


def test_rmse_by_hand() -> None:
    """sqrt((1+4+9+16+25)/5)."""
    assert metrics.rmse(ERROR)[0] == pytest.approx(np.sqrt(11.0))


def test_q_dis_by_hand() -> None:
    """Trapezoids at 2 Hz: (1.5+2.5)/2 = 2 and 4.5/2 = 2.25, mean 2.125 rad·s."""
    assert metrics.q_dis(ERROR, rate=2.0)[0] == pytest.approx(2.125)


def test_q_dis_agrees_with_numpy_trapezoid() -> None:
    """A full clip without holes is np.trapezoid of |error|."""
    error = np.random.default_rng(0).normal(size=(1, 200, 3))
    expected = np.trapezoid(np.abs(error[0]), dx=1 / 50, axis=0)
    np.testing.assert_allclose(metrics.q_dis(error, 50), expected)


def test_large_gap_ratio_by_hand() -> None:
    """Three of five are at or above 3."""
    assert metrics.large_gap_ratio(ERROR, 3.0)[0] == pytest.approx(0.6)


def test_iqr_and_range_by_hand() -> None:
    """Quartiles of 1..5 are 2 and 4; range 5 - 1."""
    assert metrics.gap_iqr(ERROR)[0] == pytest.approx(2.0)
    assert metrics.gap_range(ERROR)[0] == pytest.approx(4.0)


def test_a_joint_without_samples_is_nan_and_silent() -> None:
    """Unlogged joints have no number, and cause no warning."""
    empty = np.full((1, 3, 1), NAN)
    for value in (metrics.mpjae(empty), metrics.q_dis(empty, 50), metrics.gap_range(empty)):
        assert np.isnan(value[0])


def _sines(delay: float, rate: float = 100.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = np.arange(400) / rate
    wave = lambda t: np.sin(5 * t) + 0.3 * np.sin(13 * t)  # noqa: E731
    sim, real = wave(t)[None, :, None], wave(t - delay)[None, :, None]
    return sim, real, np.ones(sim.shape, bool)


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.025, 0.04, -0.02])
def test_lag_is_the_delay_of_the_robot(delay: float) -> None:
    """A real curve `delay` behind the simulated one has that lag, to a tenth of a sample."""
    sim, real, usable = _sines(delay)
    assert metrics.lag_ms(sim, real, usable, 100.0)[0] == pytest.approx(1000 * delay, abs=1.0)


def test_lag_agrees_with_scipy_correlate() -> None:
    """On a pulse that fades at both ends the peak of scipy's cross-correlation is the lag."""
    t = np.arange(400) / 100
    sim, real = (np.exp(-(((t - c) / 0.3) ** 2))[None, :, None] for c in (2.0, 2.05))
    a, b = np.diff(sim[0, :, 0]), np.diff(real[0, :, 0])
    lags = signal.correlation_lags(len(b), len(a))
    peak = 10 * lags[signal.correlate(b, a).argmax()]
    usable = np.ones(sim.shape, bool)
    assert metrics.lag_ms(sim, real, usable, 100.0)[0] == pytest.approx(peak, abs=1.0)
    assert peak == 50


def test_still_joint_has_no_lag_and_no_correlation() -> None:
    """Nothing to align."""
    still = np.zeros((1, 100, 1))
    usable = np.ones(still.shape, bool)
    assert np.isnan(metrics.lag_ms(still, still, usable, 50)[0])
    assert np.isnan(metrics.correlation(still, still, usable)[0])


def test_correlation_agrees_with_numpy() -> None:
    """One window: np.corrcoef."""
    rng = np.random.default_rng(1)
    sim, real = rng.normal(size=(2, 1, 300, 1))
    expected = np.corrcoef(sim[0, :, 0], real[0, :, 0])[0, 1]
    assert metrics.correlation(sim, real, np.ones(sim.shape, bool))[0] == pytest.approx(expected)


# Bodies: one window, three frames, two bodies. Body 0 is off by (3, 4, 0) cm in every frame,
# body 1 by nothing, then 1 cm, then 3 cm along x.
REAL = np.zeros((1, 3, 2, 3))
SIM = REAL.copy()
SIM[0, :, 0] = [0.03, 0.04, 0.0]
SIM[0, :, 1, 0] = [0.0, 0.01, 0.03]
ALL = np.ones((1, 3), bool)


def test_global_body_error_by_hand() -> None:
    """(3*50 + 0 + 10 + 30)/6 mm."""
    assert metrics.e_g_mpjpe(SIM, REAL, ALL) == pytest.approx(190 / 6)


def test_root_relative_body_error_by_hand() -> None:
    """A root off by (3, 4, 0) cm takes body 0 out; body 1 is then 50, sqrt(20²+40²), 40 mm off."""
    root = np.zeros((1, 3, 1, 3))
    root[0, :, 0] = [0.03, 0.04, 0.0]
    expected = (50 + np.hypot(20, 40) + 40) / 6
    assert metrics.e_mpjpe(SIM, REAL, root, 0 * root, ALL) == pytest.approx(expected)


def test_velocity_and_acceleration_errors_by_hand() -> None:
    """Body 1 moves 10, then 20 mm a frame: mean of 0,10,0,20; its change is 10 over two bodies."""
    assert metrics.e_vel(SIM, REAL, ALL) == pytest.approx(7.5)
    assert metrics.e_acc(SIM, REAL, ALL) == pytest.approx(5.0)


def test_unusable_frames_do_not_count() -> None:
    """Leaving out the last frame leaves (100 + 10)/4 mm, and one step of 10 mm over two bodies."""
    usable = np.array([[True, True, False]])
    assert metrics.e_g_mpjpe(SIM, REAL, usable) == pytest.approx(110 / 4)
    assert metrics.e_vel(SIM, REAL, usable) == pytest.approx(5.0)
    assert np.isnan(metrics.e_acc(SIM, REAL, usable))


def test_success_and_survival_by_hand() -> None:
    """Window 0 stays near, window 1 is 1 m off from its third frame on, window 2 diverges."""
    sim = np.zeros((3, 4, 1, 3))
    sim[1, 2:, 0, 0] = 1.0
    usable, alive = np.ones((3, 4), bool), np.ones((3, 4), bool)
    alive[2, 1:] = usable[2, 1:] = False
    steps = np.array([2, 3, 3])  # window 0 is shorter, its last frame is padding
    success, seconds = metrics.survival(sim, 0 * sim, usable, alive, steps, rate=10.0)
    assert success == pytest.approx(1 / 3)
    assert seconds == pytest.approx((0.2 + 0.2 + 0.1) / 3)


def test_point_offset_by_hand() -> None:
    """Mean |x| and |y| of body 0 in cm."""
    np.testing.assert_allclose(metrics.point_offset(SIM, REAL, ALL)[0], [3.0, 4.0, 0.0])


def test_body_metrics_agree_with_plain_loops() -> None:
    """A slow second implementation gives the same numbers."""
    rng = np.random.default_rng(2)
    sim, real = rng.normal(size=(2, 2, 5, 3, 3))
    usable = rng.random((2, 5)) < 0.8
    total = [
        np.linalg.norm(sim[w, t, b] - real[w, t, b])
        for w in range(2)
        for t in range(5)
        for b in range(3)
        if usable[w, t]
    ]
    assert metrics.e_g_mpjpe(sim, real, usable) == pytest.approx(1000 * np.mean(total))
    steps = [
        np.linalg.norm((sim[w, t] - sim[w, t - 1] - real[w, t] + real[w, t - 1])[b])
        for w in range(2)
        for t in range(1, 5)
        for b in range(3)
        if usable[w, t] and usable[w, t - 1]
    ]
    assert metrics.e_vel(sim, real, usable) == pytest.approx(1000 * np.mean(steps))
