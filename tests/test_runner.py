"""`dams run`: progress on a terminal and off it, the whole log in a file, errors in full, signals passed on."""

import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dams.cli import main
from dams.runner import ProgressLine, duration, follow, run

ROOT = Path(__file__).parents[1]
LOG = """Building DAG of jobs...
[Mon Nov 16 02:19:46 2026]
Job 3: Running curve: linear on redundant, block 0000
Reason: Missing output files: results/x/a.csv
[Mon Nov 16 02:19:47 2026]
Finished jobid: 3 (Rule: run_block)
1 of 4 steps (25%) done
Job 1: Writing the report
4 of 4 steps (100%) done
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Ten seconds between any two looks."""

    now = 0.0

    def __call__(self):
        self.now += 10
        return self.now


def lines(text):
    return iter(text.splitlines(keepends=True))


def test_a_terminal_has_one_line_that_changes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    stream, log = Terminal(), io.StringIO()
    follow(lines(LOG), log, ProgressLine(stream, clock=Clock()), stream)
    shown = stream.getvalue().split("\r\x1b[K")
    assert "\n" not in stream.getvalue()
    assert shown[1] == "Planning the jobs …"
    assert "1 of 4 jobs, 25 %, about 30 s left: Running curve: linear on redundant, block 0000 …" in shown
    assert shown[-2:] == ["4 of 4 jobs, 100 %", ""]
    assert log.getvalue() == LOG


def test_elsewhere_a_line_comes_now_and_then():
    stream = io.StringIO()
    follow(lines(LOG), io.StringIO(), ProgressLine(stream, clock=Clock(), every=1000), stream)
    assert stream.getvalue() == "Planning the jobs …\n4 of 4 jobs, 100 %\n"


def test_errors_are_shown_in_full_and_routine_is_not():
    failed = """1 of 4 steps (25%) done
Error in rule run_block:
    message: Running curve
Finished jobid: 7 (Rule: run_block)
    LinAlgError: singular
WorkflowError:
At least one job did not complete successfully.
"""
    stream, log = io.StringIO(), io.StringIO()
    follow(lines(failed), log, ProgressLine(stream, clock=Clock(), every=1000), stream)
    told = stream.getvalue()
    for words in (
        "Error in rule run_block:",
        "    message: Running curve",
        "    LinAlgError: singular",
        "At least one job",
    ):
        assert words in told
    assert "Finished jobid" not in told
    assert log.getvalue() == failed


def test_an_option_that_snakemake_does_not_know_is_told_in_its_words():
    usage = (
        "usage: snakemake [-h]\n                 [targets ...]\nsnakemake: error: unrecognized arguments: --coresss\n"
    )
    stream = io.StringIO()
    follow(lines(usage), io.StringIO(), ProgressLine(stream, clock=Clock(), every=1000), stream)
    assert stream.getvalue().splitlines()[1:] == ["snakemake: error: unrecognized arguments: --coresss"]


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "3 s"), (600, "10 min"), (9000, "2.5 h")])
def test_times_are_said_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_exit_code_and_log_are_those_of_the_command(tmp_path):
    code = "import sys; print('ValueError: no', file=sys.stderr); sys.exit(3)"
    stream = io.StringIO()
    assert run([sys.executable, "-c", code], tmp_path / "logs" / "it.log", stream=stream) == 3
    assert (tmp_path / "logs" / "it.log").read_text() == "ValueError: no\n"
    assert "ValueError: no" in stream.getvalue()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command_once(tmp_path, number):
    counting = """
import signal, sys, time
got = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda n, f: got.append(n))
print("ready", file=sys.stderr, flush=True)
end = time.monotonic() + 20
while not got and time.monotonic() < end:
    time.sleep(0.02)
time.sleep(0.3)
print("got", *got, file=sys.stderr, flush=True)
sys.exit(7)
"""
    command = f"[sys.executable, '-c', {counting!r}], Path({str(tmp_path / 'log')!r})"
    runner = f"import sys; from pathlib import Path; from dams.runner import run; sys.exit(run({command}))"
    with subprocess.Popen([sys.executable, "-c", runner], stderr=subprocess.PIPE) as child:
        deadline = time.monotonic() + 30
        while not ((tmp_path / "log").exists() and "ready" in (tmp_path / "log").read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        child.send_signal(number)
        assert child.wait(60) == 7
    assert (tmp_path / "log").read_text() == f"ready\ngot {number}\n"


def test_a_mistaken_configuration_is_told_before_anything_starts(tmp_path, capsys):
    path = tmp_path / "wrong.yaml"
    path.write_text("name: x\nstudy: {}\n")
    assert main(["run", str(path)]) == 1
    assert "studies" in capsys.readouterr().err


def test_a_run_outside_the_project_folder_says_where_to_run(tmp_path, monkeypatch, capsys):
    path = ROOT / "config" / "smoke.yaml"
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(path)]) == 1
    assert f"There is no Snakefile in {tmp_path}: run it in the project folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_refused_option_is_not_followed_by_advice_about_results(tmp_path, monkeypatch, capsys):
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(ROOT / "config" / "smoke.yaml"), "--coresss", "3"]) == 2
    told = capsys.readouterr().err
    assert "Snakemake stopped with code 2" in told
    assert "dams report" not in told


def test_unknown_options_are_refused_where_there_is_no_snakemake(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path), "--forceall"])
    assert "--forceall" in capsys.readouterr().err
