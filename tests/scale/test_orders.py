"""Orders: what a worker sees it reads at its place, all else is moved when it asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from counting_tasks import task
from gapless.scale.moved_files import MOST_BESIDE, pack, publish, stamp, unpack
from gapless.scale.orders import OUT, Order, fulfil

TOKEN = ".here"


def nobody(_: object) -> None:
    """Watches nothing."""


@pytest.fixture
def order(tmp_path: Path) -> Order:
    """A task that reads a folder and a file with neighbours."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "x").write_bytes(b"123")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TOKEN).touch()
    (tmp_path / "p.toml").write_bytes(b"12")
    inputs = {"data": tmp_path / "in", "policy": tmp_path / "p.toml"}
    return Order.of(task("a", tmp_path / "out", inputs=inputs), TOKEN)


def test_what_is_seen_is_not_moved(order: Order) -> None:
    """The task runs on the files themselves."""
    assert order.unseen() == ()
    found = fulfil(order, {}, nobody)
    assert found.answer is not None and found.answer.accept() == ""
    assert found.made == b"" and order.task.out.is_file()


def test_what_is_not_seen_is_asked_for_and_moved(order: Order, tmp_path: Path) -> None:
    """Another machine has none of the files, or others of the same name; the bytes are the same."""
    assert fulfil(order, {}, nobody).answer is not None
    here = order.task.out.read_bytes()
    order.task.out.unlink()
    packs = {name: order.packed(name) for name in ("data", "policy", OUT)}
    assert packs[OUT] == b""
    (tmp_path / "in" / "deep" / "x").write_bytes(b"another machine's")
    (tmp_path / "p.toml").unlink()
    (tmp_path / "out" / TOKEN).unlink()
    asks = fulfil(order, {}, nobody)
    assert asks.answer is None and asks.unseen == ("data", "policy", OUT)
    found = fulfil(order, packs, nobody)
    assert found.answer is not None and not order.task.out.exists()
    publish(found.made, order.task.out)
    assert order.task.out.read_bytes() == here


def test_another_software_is_refused(order: Order) -> None:
    """Its bytes would be others."""
    other = Order(order.task, TOKEN, stamps=order.stamps, software={"mujoco": "1.0"})
    found = fulfil(other, {}, nobody)
    assert found.answer is not None and "instead of 1.0" in found.answer.refused


def test_a_folder_that_was_begun_is_replaced_whole(tmp_path: Path) -> None:
    """What another machine made of it takes its place."""
    made, out = tmp_path / "made" / "run", tmp_path / "own" / "run"
    for folder, text in ((made, "new"), (out, "old")):
        folder.mkdir(parents=True)
        (folder / text).write_text(text)
    publish(pack(made), out)
    assert [p.name for p in out.iterdir()] == ["new"]
    assert [p.name for p in out.parent.iterdir()] == ["run"]


def test_a_file_is_moved_with_its_neighbours(tmp_path: Path) -> None:
    """A contract refers to its network; too many neighbours are refused."""
    folder, there = tmp_path / "policy", tmp_path / "there"
    folder.mkdir()
    there.mkdir()
    for name in ("policy.toml", "policy.onnx"):
        (folder / name).write_text(name)
    moved = unpack(pack(folder / "policy.toml", beside=True), there, folder / "policy.toml")
    assert moved.read_text() == "policy.toml" and moved.parent.name == "policy"
    assert moved.with_name("policy.onnx").read_text() == "policy.onnx"
    with (folder / "large").open("wb") as file:
        file.truncate(MOST_BESIDE + 1)
    with pytest.raises(Exception, match="a folder of its own"):
        pack(folder / "policy.toml", beside=True)


def test_stamps_tell_files_apart(tmp_path: Path) -> None:
    """By names and sizes; nothing has none."""
    assert stamp(tmp_path / "x") == ""
    (tmp_path / "x").write_text("1")
    before = stamp(tmp_path)
    (tmp_path / "x").write_text("12")
    assert stamp(tmp_path) != before != ""
