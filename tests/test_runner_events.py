"""Snakemake with our logger plugin: what it sends, what is shown of it, and that jobs notice nothing."""

import io
import json
import logging
import os
import sys
from pathlib import Path

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.tests import MockOutputSettings, TestLogHandlerBase

from dams.cli import main
from dams.runner import Outcome, run
from dams.runner.account import ACCOUNT
from dams.runner.events import PIPES, Sender
from dams.runner.plugin import LogHandler

CONFIG = str(Path(__file__).parents[1] / "config" / "smoke.yaml")


class TestAsSnakemakeTestsPlugins(TestLogHandlerBase):
    __test__ = True

    @pytest.fixture(autouse=True)
    def _sender(self, monkeypatch):
        monkeypatch.setattr(LogHandler, "send", lambda *names, **fields: None, raising=False)

    def get_log_handler_cls(self):
        return LogHandler

    def get_log_handler_settings(self):
        return None


@pytest.fixture
def sent(monkeypatch):
    """A function that logs a record and returns the events that it became."""

    def log(level, message, dry=False, **fields):
        settings = MockOutputSettings()
        settings.dryrun = dry
        events = []
        monkeypatch.setattr(LogHandler, "send", lambda self, name, **rest: events.append((name, rest)), raising=False)
        record = logging.LogRecord("snakemake", level, "", 0, message, None, None)
        record.__dict__ |= fields
        LogHandler(settings, None).emit(record)
        return events

    return log


JOB = {"jobid": 3, "rule_name": "run_block", "rule_msg": "Running", "wildcards": {"study": "one"}, "shellcmd": "secret"}


def test_of_an_event_only_named_fields_are_sent(sent):
    job = {"job": 3, "rule": "run_block", "message": "Running", "wildcards": {"study": "one"}}
    assert sent(logging.INFO, "", event=LogEvent.JOB_INFO, **JOB) == [("job_info", job)]
    assert sent(logging.INFO, "", event=LogEvent.RUN_INFO, stats={"total": 3}) == [("run_info", {"jobs": {"total": 3}})]
    assert sent(logging.INFO, "", event=LogEvent.SHELLCMD, cmd="secret") == []
    assert sent(logging.INFO, "Nothing to be done") == []


def test_every_error_is_sent_in_words(sent):
    assert sent(logging.ERROR, "It failed") == [("error", {"text": "It failed", "exception": None})]
    locked = {"text": "Locked", "exception": "LockException"}
    assert sent(logging.ERROR, "Locked", event=LogEvent.ERROR, exception="LockException") == [("error", locked)]


def test_a_dry_run_tells_on_stdout_alone(sent):
    assert sent(logging.INFO, "", dry=True, event=LogEvent.JOB_INFO, **JOB) == []
    assert sent(logging.ERROR, "It failed", dry=True) == [("error", {"text": "", "exception": None})]


def test_a_record_that_is_not_understood_is_no_reason_to_stop(sent, capsys):
    assert sent(logging.INFO, "", event=LogEvent.PROGRESS) == []
    assert "'LogRecord' object has no attribute 'done'" in capsys.readouterr().err


def test_no_event_holds_the_password(sent, monkeypatch):
    monkeypatch.setenv(ACCOUNT[1], "analytical engine")
    assert sent(logging.ERROR, "401 for analytical engine") == [("error", {"text": "401 for ***", "exception": None})]


def test_who_sends_without_a_reader_goes_on():
    reader, writer = os.pipe()
    send = Sender(writer)
    send("progress", done=1, total=2, other=Path("x"))
    assert json.loads(os.read(reader, 1000)) == {"event": "progress", "done": 1, "total": 2, "other": "x"}
    os.close(reader)
    send("progress", done=2, total=2)
    os.close(writer)


@pytest.fixture
def workflow(tmp_path, monkeypatch):
    """A function that runs rules, by their names in a folder of their own; returns how it ended and what was shown."""
    monkeypatch.chdir(tmp_path)

    def finish(rules, *options):
        (tmp_path / "Snakefile").write_text(rules)
        stream = io.StringIO()
        command = [sys.executable, "-m", "dams.runner.launch", "--cores", "1", *options]
        return run(command, tmp_path / "logs" / "it.log", stream=stream), stream.getvalue()

    return finish


@pytest.mark.workflow
def test_jobs_inherit_neither_pipe_nor_variable(workflow, tmp_path):
    looking = "import os; print([n for n in range(3, 64) if os.path.exists(f'/dev/fd/{{n}}')])"
    rules = f"""
rule all:
    message: "Looking around"
    output: "seen"
    shell: "echo ${{{{{PIPES}-none}}}} > seen; {sys.executable} -c \\"{looking}\\" >> seen"
"""
    outcome, shown = workflow(rules)
    assert outcome == Outcome(0), shown
    assert (tmp_path / "seen").read_text() == "none\n[]\n"
    assert shown == "Planning the jobs …\n1 of 1 jobs, 100 %\n"


@pytest.mark.workflow
def test_a_job_that_fails_before_it_has_a_log_is_told_with_its_traceback(workflow, tmp_path):
    (tmp_path / "fails.py").write_text("import nothing_of_that_name\n")
    rules = 'rule all:\n    output: "never"\n    message: "Failing"\n    script: "fails.py"\n'
    outcome, shown = workflow(rules)
    assert outcome == Outcome(1)
    traceback = shown.index("ModuleNotFoundError: No module named 'nothing_of_that_name'")
    assert (
        traceback < shown.index("Error in rule all:") < shown.index("At least one job did not complete successfully.")
    )
    assert "Reason: " not in shown and "Select jobs" not in shown
    log = (tmp_path / "logs" / "it.log").read_text()
    for line in shown.splitlines()[1:]:
        assert line in log
    assert "Job 0: Failing\nReason: " in log
    # The command in it can be typed.
    assert "Command: snakemake --cores 1\n" in log


@pytest.mark.workflow
def test_a_workflow_that_can_not_be_read_is_told(workflow):
    outcome, shown = workflow("rule all:\n    input: 1/0\n")
    assert outcome == Outcome(1)
    assert "ZeroDivisionError" in shown
    outcome, shown = workflow("rule all:\n", "--profile", "none-such")
    assert outcome == Outcome(1)
    assert "Error: profile directory given (none-such)" in shown


@pytest.mark.workflow
def test_a_dry_run_and_one_without_work_are_told_from_others(workflow, capfd):
    rules = 'rule all:\n    output: "made"\n    shell: "touch made"\n'
    assert workflow(rules, "--dry-run") == (Outcome(0), "Planning the jobs …\n")
    assert "This was a dry-run" in capfd.readouterr().out
    assert workflow(rules, "--quiet")[0] == Outcome(0)
    assert workflow(rules, "--quiet") == (Outcome(0, idle=True), "Planning the jobs …\n")


@pytest.mark.workflow
def test_a_lock_that_was_left_is_told_with_the_way_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").write_text('rule all:\n    output: "made"\n    shell: "touch made"\n')
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("made\n")
    assert main(["run", CONFIG]) == 1
    told = capsys.readouterr().err
    assert "LockException:" in told
    assert f"If none is, type\n    dams run {CONFIG} --unlock\nand run again" in told
    assert main(["run", CONFIG, "--unlock"]) == 0
    assert not list(tmp_path.glob(".snakemake/locks/*"))
