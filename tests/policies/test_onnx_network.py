"""Networks of other people: one observation at a time, recurrent, or no ONNX at all."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import small_networks as nets
from gapless.errors import DataError, FormatError
from gapless.policies.network_ports import found_ports
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import Ports

WIDTH, ACTIONS, MANY = 5, 3, 7
RNG = np.random.default_rng(0)


def opened(path: Path, **ports: object) -> OnnxNetwork:
    """A network whose ports are found out, where they are not given."""
    return OnnxNetwork(path, Ports(**ports))  # type: ignore[arg-type]


def acted(network: OnnxNetwork, observation: np.ndarray) -> np.ndarray:
    """(n, A) actions of a network without memory."""
    return network.run(observation, {}, np.zeros(len(observation), int))[0]


def rolled(network: OnnxNetwork, seen: np.ndarray, forget: dict[int, list[int]]) -> np.ndarray:
    """(T, n, A) actions over (T, n, width); before step t, rows forget[t] begin anew."""
    states, found = network.blank(seen.shape[1]), []
    for t, observation in enumerate(seen):
        network.forget(states, np.array(forget.get(t, []), int))
        action, states = network.run(observation, states, np.full(len(observation), t))
        found.append(action)
    return np.stack(found)


WEIGHT = nets.drawn(WIDTH, ACTIONS)
STATELESS = {
    "one at a time": lambda path: nets.linear(path, WEIGHT, 0.5),
    "an open number": lambda path: nets.linear(path, WEIGHT, 0.5, batch="batch"),
    "an open number without a name": lambda path: nets.linear(path, WEIGHT, 0.5, batch=None),
    "a double": lambda path: nets.linear(path, WEIGHT.astype(np.float64), 0.5),
    "one row only": lambda path: nets.one_row_only(path, WEIGHT),
    "rows mixed": lambda path: nets.mixing(path, WEIGHT),
    "rows mixed, open": lambda path: nets.mixing(path, WEIGHT, batch="n"),
}


@pytest.mark.parametrize("kind", STATELESS)
def test_many_environments_get_what_each_gets_alone(kind: str, tmp_path: Path) -> None:
    """Where the graph takes many, and where it cannot or mixes them up."""
    network = opened(STATELESS[kind](tmp_path / "net.onnx"))
    alike = np.tile(RNG.normal(size=(1, WIDTH)), (MANY, 1))
    for seen in (alike, RNG.normal(size=(MANY, WIDTH))):
        alone = np.concatenate([acted(network, row[None]) for row in seen])
        np.testing.assert_allclose(acted(network, seen), alone, atol=1e-5)


def test_a_trial_that_fails_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """onnxruntime's own red lines would look like a fault of the policy."""
    acted(opened(nets.one_row_only(tmp_path / "n.onnx", WEIGHT)), np.ones((MANY, WIDTH)))
    told = capfd.readouterr()
    assert told.out + told.err == ""


def test_one_weight_matrix_by_hand(tmp_path: Path) -> None:
    """actions = obs weight + bias."""
    network, seen = opened(STATELESS["one at a time"](tmp_path / "n.onnx")), RNG.normal(size=(4, 5))
    np.testing.assert_allclose(acted(network, seen), seen @ WEIGHT + 0.5, atol=1e-5)
    assert (network.width, network.actions) == (WIDTH, ACTIONS)


def test_the_short_cut_is_taken_where_it_is_right(tmp_path: Path) -> None:
    """A plain network goes through at once; one that breaks or mixes, row by row."""
    seen, loops = RNG.normal(size=(MANY, WIDTH)), {}
    for kind, make in STATELESS.items():
        network = opened(make(tmp_path / f"{len(loops)}.onnx"))
        acted(network, seen)
        loops[kind] = network._one_by_one
    assert {kind for kind, loop in loops.items() if loop} == {k for k in loops if "row" in k}


RECURRENT = {
    "layers, environments, size": lambda path: nets.leaky(path),
    "environments, size": lambda path: nets.leaky(path, layered=False),
    "two layers of an LSTM": lambda path: nets.lstm(path, 4, 6, 3, layers=2),
    "one layer of an LSTM": lambda path: nets.lstm(path, 4, 6, 3, layers=1),
}


@pytest.mark.parametrize("kind", RECURRENT)
def test_memory_is_that_of_each_environment(kind: str, tmp_path: Path) -> None:
    """Many at once remember what each would alone, and forget where they begin anew."""
    network = opened(RECURRENT[kind](tmp_path / "net.onnx"))
    seen, forget = RNG.normal(size=(6, MANY, 4)), {2: [1], 4: [0, 5]}
    together = rolled(network, seen, forget)
    for row in range(MANY):
        own = {t: [0] for t, rows in forget.items() if row in rows}
        alone = rolled(network, seen[:, [row]], own)[:, 0]
        np.testing.assert_allclose(together[:, row], alone, atol=1e-5)


def test_what_is_forgotten_is_zero_for_those_rows_only(tmp_path: Path) -> None:
    """The others go on as if nothing had been."""
    network = opened(nets.leaky(tmp_path / "net.onnx"))
    seen = RNG.normal(size=(5, 4, 4))
    on, off = rolled(network, seen, {}), rolled(network, seen, {3: [2]})
    np.testing.assert_array_equal(on[:, [0, 1, 3]], off[:, [0, 1, 3]])
    np.testing.assert_array_equal(on[:3, 2], off[:3, 2])
    fresh = rolled(network, seen[3:, [2]], {})
    np.testing.assert_allclose(off[3:, 2], fresh[:, 0], atol=1e-6)
    assert np.abs(on[3:, 2] - off[3:, 2]).max() > 1e-3


def test_a_leaky_cell_by_hand(tmp_path: Path) -> None:
    """h = h / 2 + obs weight."""
    network, seen = opened(nets.leaky(tmp_path / "net.onnx")), RNG.normal(size=(4, 2, 4))
    state, expected = np.zeros((2, 3)), []
    for observation in seen:
        state = state / 2 + observation @ nets.drawn(4, 3)
        expected.append(state)
    np.testing.assert_allclose(rolled(network, seen, {}), expected, atol=1e-5)


def test_states_of_an_lstm_are_layers_environments_size(tmp_path: Path) -> None:
    """As rsl_rl exports them."""
    network = opened(nets.lstm(tmp_path / "net.onnx", 4, 6, 3, layers=2))
    assert network.ports.states == {"h_in": "h_out", "c_in": "c_out"}
    assert {name: s.shape for name, s in network.blank(MANY).items()} == {
        "h_in": (2, MANY, 6),
        "c_in": (2, MANY, 6),
    }


def test_environments_first_is_seen_by_the_layers(tmp_path: Path) -> None:
    """(1, 2, H) has two layers, so its first axis must be that of the environments."""
    nodes = [
        nets.NODE("Add", ["h_in", "one"], ["h_out"]),
        nets.NODE("ReduceSum", ["h_out", "axis"], ["both"], keepdims=0),
        nets.NODE("Add", ["obs", "both"], ["actions"]),
    ]
    weights = {"one": np.float32(1.0), "axis": np.array([1])}
    shapes = {"obs": [1, 3], "h_in": [1, 2, 3]}, {"actions": [1, 3], "h_out": [1, 2, 3]}
    network = opened(nets.save_graph(tmp_path / "net.onnx", nodes, *shapes, weights))
    assert network.blank(MANY)["h_in"].shape == (MANY, 2, 3)
    found = rolled(network, np.zeros((3, MANY, 3)), {2: [4]})
    assert found[:, 0, 0].tolist() == [2.0, 4.0, 6.0]
    assert found[:, 4, 0].tolist() == [2.0, 4.0, 2.0]


SHAPES = {
    "(1, 1, A)": ([1, 1, 5], [1, 1, 3]),
    "(W,)": ([5], [3]),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_rows_of_other_shapes_are_taken(kind: str, tmp_path: Path) -> None:
    """(1, 1, W) -> (1, 1, A) and (W,) -> (A,), for one and for many."""
    inner, outer = SHAPES[kind]
    nodes = [nets.NODE("MatMul", ["obs", "w"], ["actions"])]
    path = nets.save_graph(
        tmp_path / "n.onnx", nodes, {"obs": inner}, {"actions": outer}, {"w": WEIGHT}
    )
    network, seen = opened(path), RNG.normal(size=(MANY, WIDTH))
    assert (network.width, network.actions) == (WIDTH, ACTIONS)
    np.testing.assert_allclose(acted(network, seen), seen @ WEIGHT, atol=1e-5)
    np.testing.assert_allclose(acted(network, seen[:1]), seen[:1] @ WEIGHT, atol=1e-5)


def test_frames_may_be_an_axis_of_their_own(tmp_path: Path) -> None:
    """(1, frames, W) takes the observation frame by frame."""
    nodes = [nets.NODE("ReduceSum", ["obs", "axis"], ["actions"], keepdims=0)]
    shapes = {"obs": [1, 2, 3]}, {"actions": [1, 3]}
    path = nets.save_graph(tmp_path / "n.onnx", nodes, *shapes, {"axis": np.array([1])})
    network, seen = opened(path), RNG.normal(size=(MANY, 6))
    assert network.width == 6
    np.testing.assert_allclose(acted(network, seen), seen[:, :3] + seen[:, 3:], atol=1e-5)


def test_open_sizes_are_unknown_until_it_runs(tmp_path: Path) -> None:
    """Nothing is claimed of a width that the graph does not say."""
    nodes = [nets.NODE("MatMul", ["obs", "w"], ["actions"])]
    shapes = {"obs": ["n", "width"]}, {"actions": ["n", "many"]}
    network = opened(nets.save_graph(tmp_path / "n.onnx", nodes, *shapes, {"w": WEIGHT}))
    assert (network.width, network.actions) == (None, ACTIONS)  # it follows from the weights
    assert acted(network, np.ones((2, WIDTH))).shape == (2, ACTIONS)
    with pytest.raises(DataError, match=r"does not run on obs \[1, 4\]"):
        acted(network, np.ones((1, 4)))


def test_a_network_for_a_fixed_number_of_rows_is_refused(tmp_path: Path) -> None:
    """It was exported for four robots at once."""
    with pytest.raises(DataError, match="takes 4 observations at once"):
        opened(nets.linear(tmp_path / "n.onnx", WEIGHT, batch=4))


def test_a_state_of_open_size_is_refused(tmp_path: Path) -> None:
    """Nobody knows how many zeros it begins with."""
    nodes = [
        nets.NODE("Identity", ["obs"], ["actions"]),
        nets.NODE("Identity", ["h_in"], ["h_out"]),
    ]
    shapes = {"obs": [1, 3], "h_in": [1, "hidden"]}, {"actions": [1, 3], "h_out": [1, "hidden"]}
    network = opened(nets.save_graph(tmp_path / "n.onnx", nodes, *shapes, {}))
    with pytest.raises(DataError, match="size of its state 'h_in' open"):
        network.blank(1)


def test_weights_may_lie_beside_the_graph(tmp_path: Path) -> None:
    """One observation or many; without them the file is refused by name."""
    plain = nets.linear(tmp_path / "plain.onnx", WEIGHT)
    path = tmp_path / "net.onnx"
    onnx.save_model(
        onnx.load(plain), path, save_as_external_data=True, location="net.data", size_threshold=0
    )
    assert (tmp_path / "net.data").stat().st_size > 0
    network, seen = opened(path), RNG.normal(size=(MANY, WIDTH))
    np.testing.assert_allclose(acted(network, seen), seen @ WEIGHT, atol=1e-5)
    (tmp_path / "net.data").unlink()
    with pytest.raises(FormatError, match=r"net\.(onnx|data)"):
        opened(path)


def zipped() -> bytes:
    """The beginning of every TorchScript file."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("archive/data.pkl", b"x")
    return memory.getvalue()


FOREIGN = {
    "policy.pt": zipped(),
    "zip.onnx": zipped(),
    "policy.pkl": b"anything",
    **{f"pickle{p}.onnx": pickle.dumps({"weights": [1.0]}, protocol=p) for p in (2, 3, 4, 5)},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_that_run_code_are_refused(name: str, tmp_path: Path) -> None:
    """Whatever they are called; told how to convert them."""
    (tmp_path / name).write_bytes(FOREIGN[name])
    with pytest.raises(FormatError, match=r"TorchScript or pickle.*torch\.onnx\.export"):
        opened(tmp_path / name)


def test_files_that_are_not_there_or_not_whole_are_refused(tmp_path: Path) -> None:
    """Missing, empty, cut in two, a pointer of Git LFS, no network."""
    whole = nets.linear(tmp_path / "whole.onnx", WEIGHT).read_bytes()
    contents = {
        "empty": (b"", "has 0 bytes"),
        "cut": (whole[: len(whole) // 2], "is no network"),
        "text": (b"hello, I am a network", "is no network"),
        "pointer": (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
    }
    for name, (content, told) in contents.items():
        (tmp_path / f"{name}.onnx").write_bytes(content)
        with pytest.raises(FormatError, match=f"{name}.onnx .*{told}"):
            opened(tmp_path / f"{name}.onnx")
    with pytest.raises(FormatError, match="does not exist"):
        opened(tmp_path / "missing.onnx")


PAIRS = [
    ("h_in", "h_out"),
    ("in_h", "out_h"),
    ("h_prev", "h_next"),
    ("h0", "hn"),
    ("hidden", "hidden_out"),
    ("hidden", "new_hidden"),
    ("prev_h", "next_h"),
    ("h", "h_n"),
    ("h_t", "h_t1"),
    ("hx", "hy"),
]


@pytest.mark.parametrize("names", PAIRS, ids=lambda pair: pair[0])
def test_usual_names_of_a_memory_are_known(names: tuple[str, str], tmp_path: Path) -> None:
    """Nobody has to write them down."""
    network = opened(nets.leaky(tmp_path / "net.onnx", names=names))
    assert network.ports.states == dict([names])


def test_unusual_names_of_a_memory_are_asked_for(tmp_path: Path) -> None:
    """The input is listed, with the field to add; added, it runs."""
    path = nets.leaky(tmp_path / "net.onnx", names=("before", "after"))
    with pytest.raises(DataError, match=r"also wants before; say in \[network\].*states"):
        opened(path, action="actions")
    network = opened(path, states={"before": "after"})
    found = rolled(network, np.ones((2, 1, 4)), {})
    np.testing.assert_allclose(found[1], 1.5 * found[0], atol=1e-6)


def test_a_single_input_is_the_observation_whatever_its_name(tmp_path: Path) -> None:
    """Even where it looks like a memory."""
    network = opened(nets.linear(tmp_path / "n.onnx", WEIGHT, names=("x_in", "x_out")))
    assert (network.ports.observation, network.ports.action) == ("x_in", "x_out")


AMBIGUOUS = {
    "two inputs": ({"a": [1, 2], "b": [1, 3]}, {"actions": [1, 3]}, "inputs a, b.*observation"),
    "two outputs": ({"obs": [1, 2]}, {"a": [1, 3], "b": [1, 3]}, "outputs a, b.*action"),
    "depth": ({"obs": [1, 2], "depth": [1, 9]}, {"actions": [1, 3]}, "also wants depth"),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_where_names_leave_doubt_the_user_decides(case: str) -> None:
    """With the names that there are."""
    inputs, outputs, told = AMBIGUOUS[case]
    with pytest.raises(DataError, match=told):
        found_ports(inputs, outputs, Ports(), Path("net.onnx"))


@pytest.mark.parametrize(
    "ports", [{"observation": "x"}, {"action": "x"}, {"step": "x"}, {"states": {"x": "actions"}}]
)
def test_ports_that_are_not_there_are_refused(ports: dict, tmp_path: Path) -> None:
    """With those that are."""
    with pytest.raises(DataError, match=r"no (input|output) 'x'; it has (obs|actions)"):
        opened(nets.linear(tmp_path / "n.onnx", WEIGHT), **ports)


def test_a_network_may_hand_out_the_motion_it_follows(tmp_path: Path) -> None:
    """All of its frames, though it answers for any step after the last."""
    motion = nets.drawn_motion(frames=30, joints=3, bodies=2)
    network = opened(nets.tracker(tmp_path / "net.onnx", 6, motion))
    assert network.ports.step == "time_step"
    found = network.motion()
    assert list(found) == list(motion)
    for name, array in motion.items():
        np.testing.assert_allclose(found[name], array, atol=1e-6)
    assert not acted(network, np.zeros((MANY, 6))).any()


def test_a_counted_step_may_be_a_whole_number(tmp_path: Path) -> None:
    """Each environment has its own."""
    nodes = [nets.NODE("Cast", ["step"], ["s"], to=TensorProto.FLOAT)]
    nodes += [nets.NODE("Add", ["obs", "s"], ["actions"])]
    path = nets.save_graph(
        tmp_path / "n.onnx", nodes, {"obs": [1, 2], "step": [1, 1]}, {"actions": [1, 2]}, {}
    )
    model = onnx.load(path)
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(model, path)
    action, _ = opened(path).run(np.zeros((3, 2)), {}, np.array([4, 0, 9]))
    assert action[:, 0].tolist() == [4.0, 0.0, 9.0]


def test_an_observation_may_fill_several_inputs(tmp_path: Path) -> None:
    """One after another, frames on an axis of their own; for many at once as for each alone."""
    weight = nets.drawn(8, 3)
    nodes = [
        nets.NODE("Flatten", ["history"], ["flat"]),
        nets.NODE("Concat", ["obs", "flat"], ["all"], axis=1),
        nets.NODE("MatMul", ["all", "w"], ["actions"]),
    ]
    shapes = {"obs": [1, 2], "history": [1, 3, 2]}, {"actions": [1, 3]}
    path = nets.save_graph(tmp_path / "two.onnx", nodes, *shapes, {"w": weight})
    with pytest.raises(DataError, match=r"also wants history; .*observation = \[INPUT, ...\]"):
        opened(path)
    network = opened(path, observation=("obs", "history"))
    assert (network.width, network.actions) == (8, 3)
    seen = np.random.default_rng(0).normal(size=(5, 8))
    np.testing.assert_allclose(acted(network, seen), seen @ weight, atol=1e-5)


def test_a_motion_that_ends_in_an_error_is_told(tmp_path: Path) -> None:
    """A network that does not stay at its last frame."""
    nodes = [
        nets.NODE("MatMul", ["obs", "w"], ["actions"]),
        nets.NODE("Cast", ["time_step"], ["row"], to=7),
        nets.NODE("Gather", ["motion", "row"], ["joint_pos"]),
    ]
    shapes = {"obs": [1, 2], "time_step": [1]}, {"actions": [1, 3], "joint_pos": [1, 3]}
    weights = {"w": nets.drawn(2, 3), "motion": nets.drawn(4, 3)}
    network = opened(nets.save_graph(tmp_path / "net.onnx", nodes, *shapes, weights))
    with pytest.raises(DataError, match="does not hand out frame 1000000 of its motion"):
        network.motion()


def test_a_network_that_cannot_be_opened_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """onnxruntime would, where results of commands are."""
    path = nets.linear(tmp_path / "net.onnx", WEIGHT, 0.5)
    path.write_bytes(path.read_bytes().replace(b"Gemm", b"Ge\x8bm"))
    with pytest.raises(FormatError, match="no network that onnxruntime opens"):
        opened(path)
    assert capfd.readouterr().out == ""


def test_a_name_too_long_to_be_looked_for_does_not_exist(tmp_path: Path) -> None:
    """A contract may name anything."""
    with pytest.raises(FormatError, match="does not exist"):
        opened(tmp_path / ("x" * 300))
