"""`dams run` told to stop: all its processes end, and no lock is taken from one that is alive."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dams.cli import main
from dams.runner.alive import living_runs, mark_alive
from dams.runner.signals import ADVICE

ROOT = Path(__file__).parents[1]
CONFIG = str(ROOT / "config" / "smoke.yaml")


@pytest.fixture(autouse=True)
def a_terminal_s_signals():
    """Under nohup processes inherit that SIGHUP is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


# A job that would run for minutes and holds a lock while it lives; whether it hears signals is its argument.
JOB = """
import fcntl, pathlib, signal, sys, time
if sys.argv[1] == "deaf":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
held = open("held", "w")
fcntl.flock(held, fcntl.LOCK_EX)
pathlib.Path("ready").touch()
time.sleep(300)
"""
# As Snakemake does: a signal has it wait for its job, which a shell runs.
LEADER = """
import os, signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: os.write(2, b"got %d\\n" % number))
code = subprocess.Popen(["bash", "-c", "set -e; " + sys.argv[1] + "; true"]).wait()
sys.exit(code and 1)
"""


def wait_for(happened, seconds=30):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_held(path):
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the job, and a workflow that runs it."""
    (tmp_path / "job.py").write_text(JOB)
    rule = f'rule all:\n    output: "made"\n    shell: "{sys.executable} job.py hearing; touch made"\n'
    (tmp_path / "Snakefile").write_text(rule)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def start(folder):
    """A function that starts a run and returns it once its job is there; whatever is left in the end is killed."""
    started = []

    def start(*command, **options):
        child = subprocess.Popen([sys.executable, *command], text=True, **{"stderr": subprocess.PIPE} | options)
        started.append(child)
        wait_for((folder / "ready").exists)
        return child

    yield start
    for group in living_runs(folder / "results").values():
        os.killpg(int(group), signal.SIGKILL)
    for child in started:
        with child:
            child.kill()


def tree(kind):
    """A run whose job is a child of a shell, a child of what stands for Snakemake."""
    command = [sys.executable, "-c", LEADER, f"{sys.executable} job.py {kind}"]
    return f"""
import sys; from pathlib import Path; from dams.runner import run
sys.exit(run({command!r}, Path("results/it/logs/it.log")).code)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_ends_all_processes(folder, start, number):
    child = start("-c", tree("hearing"))
    assert is_held("held")
    child.send_signal(number)
    _, told = child.communicate(timeout=10)
    assert child.returncode == 128 + number
    assert not is_held("held")
    assert told == f"Planning the jobs …\n{ADVICE}\n"
    # It reached the leader once. Its words may stand in the middle of the traceback that the job writes meanwhile.
    assert re.findall(r"got \d+\n", (folder / "results/it/logs/it.log").read_text()) == [f"got {int(number)}\n"]


def test_the_third_signal_ends_those_that_ignore_others(folder, start):
    child = start("-c", tree("deaf"))
    log = folder / "results/it/logs/it.log"
    for number in (signal.SIGINT, signal.SIGTERM):
        child.send_signal(signal.SIGINT)
        wait_for(lambda number=number: f"got {int(number)}\n" in log.read_text())
        assert is_held("held")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=10)
    assert child.returncode == 128 + signal.SIGINT
    assert not is_held("held")


def test_a_run_that_ignores_hang_ups_goes_on(folder, start):
    child = start("-c", "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + tree("hearing"))
    child.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert child.poll() is None and is_held("held")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=10)
    assert child.returncode == 128 + signal.SIGTERM
    assert "got 1\n" not in (folder / "results/it/logs/it.log").read_text()


@pytest.mark.workflow
def test_snakemake_and_its_jobs_end_of_one_interrupt(folder, start):
    child = start("-m", "dams", "run", CONFIG)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=20)
    assert child.returncode == 128 + signal.SIGINT
    assert not is_held("held")
    # That the job failed is no news, and the lock is gone.
    assert told.splitlines() == [
        "Planning the jobs …",
        ADVICE,
        "Snakemake was interrupted; its whole log is results/smoke/logs/snakemake.log.",
    ]
    assert not list(folder.glob(".snakemake/locks/*"))
    assert "Terminating processes on user request" in (folder / "results/smoke/logs/snakemake.log").read_text()


@pytest.mark.workflow
def test_a_closed_terminal_ends_the_run(folder, start):
    ours, theirs = pty.openpty()
    child = start("-m", "dams", "run", CONFIG, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    os.close(ours)
    # It is not the terminal of its session, whose shell would send the signal.
    child.send_signal(signal.SIGHUP)
    assert child.wait(20) == 128 + signal.SIGHUP
    assert not is_held("held")
    assert not list(folder.glob(".snakemake/locks/*"))


@pytest.mark.workflow
def test_no_lock_is_taken_from_a_run_that_is_alive(folder, start, capsys):
    child = start("-m", "dams", "run", CONFIG)
    (log,) = folder.glob("results/smoke/logs/snakemake-*.log")
    ((_, group),) = living_runs(folder / "results").items()
    alive = f"A run is alive, with the log {log.relative_to(folder)}: wait for its end, or stop it"
    assert main(["run", CONFIG, "--unlock"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(alive) and f"`kill -- -{group}`" in told
    assert list(folder.glob(".snakemake/locks/*"))
    assert main(["run", CONFIG]) == 1
    assert f"The folder is locked. {alive}" in capsys.readouterr().err
    # Killed alone, it leaves Snakemake and its job behind, and they are alive.
    child.kill()
    child.communicate()
    assert main(["run", CONFIG, "--unlock"]) == 1
    os.killpg(int(group), signal.SIGKILL)
    wait_for(lambda: not living_runs(folder / "results"))
    assert list(folder.glob("results/smoke/logs/*.alive"))
    assert main(["run", CONFIG, "--unlock"]) == 0
    assert not list(folder.glob(".snakemake/locks/*"))


def test_a_mark_that_was_left_is_not_alive(tmp_path):
    log = tmp_path / "results" / "mine" / "logs" / "it.log"
    log.parent.mkdir(parents=True)
    log.with_suffix(".alive").write_text("1\n")
    assert living_runs(tmp_path / "results") == {}
    log.with_suffix(".alive").unlink()
    with mark_alive(log) as file:
        print(12, file=file, flush=True)
        assert living_runs(tmp_path / "results") == {log: "12"}
    assert list(log.parent.iterdir()) == []
