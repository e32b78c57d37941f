"""`dams run`: progress on a terminal and off it, the whole log in a file, errors in full."""

import errno
import hashlib
import io
import json
import os
import sys
import time
from pathlib import Path

import pytest

from dams._files import write_json
from dams.cli import main
from dams.experiments.config import parse, read
from dams.runner import Outcome, run
from dams.runner.account import ACCOUNT, hide_password
from dams.runner.follow import RECENT, follow
from dams.runner.progress import ProgressLine, Work, duration, expected_work

ROOT = Path(__file__).parents[1]


def event(name, **fields):
    return "events", json.dumps({"event": name} | fields) + "\n"


def starts(job, message, rule="other", **wildcards):
    return event("job_info", job=job, rule=rule, message=message, wildcards=wildcards)


def block(job, number):
    wildcards = {"study": "curve", "group": "linear", "dataset": "redundant", "number": number}
    return starts(job, f"Running curve: linear on redundant, block {number}", "run_block", **wildcards)


RUN = [
    ("snakemake", "Building DAG of jobs...\n"),
    event("workflow_started"),
    event("run_info", jobs={"run_block": 1, "total": 4}),
    ("snakemake", "Job 3: Running curve: linear on redundant, block 0000\n"),
    block(3, "0000"),
    ("jobs", "curve: 3 of 40 cells\n"),
    ("snakemake", "Finished jobid: 3 (Rule: run_block)\n1 of 4 steps (25%) done\n"),
    event("job_finished", job=3),
    event("progress", done=1, total=4),
    starts(1, "Writing the report"),
    event("progress", done=4, total=4),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Ten seconds between any two looks."""

    now = 0.0

    def __call__(self):
        self.now += 10
        return self.now


def test_a_terminal_has_one_line_that_changes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    stream, log = Terminal(), io.StringIO()
    follow(RUN, log, ProgressLine(stream, clock=Clock()))
    shown = stream.getvalue().split("\r\x1b[K")
    assert "\n" not in stream.getvalue()
    assert shown[1] == "Planning the jobs …"
    assert "1 of 4 jobs, 25 %, about 30 s left: Running curve: linear on redundant, block 0000 …" in shown
    assert shown[-2:] == ["4 of 4 jobs, 100 %", ""]
    assert log.getvalue() == "".join(line for source, line in RUN if source != "events")


def test_blocks_count_by_what_they_are_expected_to_take(monkeypatch):
    """Of 100 s of work 70 are done, not one job of three."""
    monkeypatch.setenv("COLUMNS", "200")
    events = [
        event("run_info", jobs={"run_block": 2, "all": 1, "total": 3}),
        block(7, "0001"),
        block(8, "0002"),
        event("job_finished", job=7),
        event("progress", done=1, total=3),
    ]
    stream = Terminal()
    work = Work({"curve/redundant-linear-0001": 70.0, "curve/redundant-linear-0002": 25.0}, left=47.5)
    follow(events, io.StringIO(), ProgressLine(stream, work=work, clock=Clock()))
    assert "1 of 3 jobs, 70 %, about 4 s left: Running curve: linear on redundant, block 0002 …" in stream.getvalue()


def test_blocks_whose_records_are_there_are_noexpected_work(tmp_path, monkeypatch):
    models = {"linear": {"draws": 1}, "mlp": {"draws": 20, "betas": 5}}
    study = {"datasets": ["digits"], "regimes": [{"kind": "free"}], "models": models, "methods": ["oracle"]}
    config = parse({"name": "mine", "studies": {"one": study}})
    monkeypatch.chdir(tmp_path)
    whole = expected_work(config)
    assert whole.left == pytest.approx(sum(whole.blocks.values()) / len(whole.blocks))
    for name in whole.blocks:
        if "mlp" in name:
            records = tmp_path / "results" / "mine" / "blocks" / f"{name}.csv"
            records.parent.mkdir(parents=True, exist_ok=True)
            records.touch()
    rest = expected_work(config).left
    assert rest < whole.left and rest == pytest.approx(whole.blocks["one/digits-linear-0000"])
    assert expected_work(parse({"name": "mine", "studies": {}, "sepsis": {}})) == Work()


def test_elsewhere_a_line_comes_now_and_then():
    stream = io.StringIO()
    follow(RUN, io.StringIO(), ProgressLine(stream, clock=Clock(), every=1000))
    assert stream.getvalue() == "Planning the jobs …\n4 of 4 jobs, 100 %\n"


FAILED = [
    event("workflow_started"),
    ("jobs", "LinAlgError: singular\n"),
    ("snakemake", "Error in rule run_block:\n    message: Running curve\n"),
    event("error", text="Error in rule run_block:\n    message: Running curve", exception=None),
    ("snakemake", "Finished jobid: 7 (Rule: run_block)\n"),
    event("job_finished", job=7),
    ("snakemake", "WorkflowError:\nAt least one job did not complete successfully.\n"),
    event("error", text="WorkflowError:\nAt least one job did not complete successfully.", exception="WorkflowError"),
]


def test_errors_are_shown_in_full_and_routine_is_not():
    stream, log = io.StringIO(), io.StringIO()
    follow(FAILED, log, ProgressLine(stream, clock=Clock(), every=1000))
    assert stream.getvalue().splitlines() == [
        "Planning the jobs …",
        "LinAlgError: singular",
        "Error in rule run_block:",
        "    message: Running curve",
        "WorkflowError:",
        "At least one job did not complete successfully.",
    ]
    assert log.getvalue() == "".join(line for source, line in FAILED if source != "events")


def test_of_what_jobs_wrote_an_error_shows_the_end():
    stream = io.StringIO()
    said = [("jobs", f"line {i} of a job\n") for i in range(3 * RECENT)]
    follow([*said, *FAILED], io.StringIO(), ProgressLine(stream))
    assert f"line {2 * RECENT} of" not in stream.getvalue()
    assert f"line {3 * RECENT - 1} of" in stream.getvalue()


def test_errors_after_an_interrupt_are_for_the_log_alone():
    stream, log = io.StringIO(), io.StringIO()
    follow(FAILED, log, ProgressLine(stream), stopping=lambda: True)
    assert stream.getvalue() == "Planning the jobs …\n"
    assert "LinAlgError" in log.getvalue()


def test_an_event_that_was_cut_off_is_no_error():
    assert not follow([("events", '{"event": "error", "te')], io.StringIO(), ProgressLine(io.StringIO())).failed


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "3 s"), (600, "10 min"), (9000, "2.5 h")])
def test_times_are_said_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_exit_code_and_log_are_those_of_the_command(tmp_path):
    code = "import sys; print('ValueError: no', file=sys.stderr); sys.exit(3)"
    stream = io.StringIO()
    assert run([sys.executable, "-c", code], tmp_path / "logs" / "it.log", stream=stream) == Outcome(3)
    assert (tmp_path / "logs" / "it.log").read_text() == "ValueError: no\n"
    assert "ValueError: no" in stream.getvalue()


def test_a_run_leaves_the_logs_of_others_alone(tmp_path):
    """A second one is started while the first goes on."""
    log = tmp_path / "logs" / "it.log"

    def speak(words, then="pass"):
        return [sys.executable, "-c", f"import sys; print({words!r}, file=sys.stderr); {then}"]

    run(speak("before"), log, stream=io.StringIO())
    second = f"from dams.runner import run; from pathlib import Path; run({speak('refused')!r}, Path({str(log)!r}))"
    run(speak("begun", f"{second}; print('ended', file=sys.stderr)"), log, stream=io.StringIO())
    # What the last one says of its log is true.
    assert log.read_text().splitlines()[0] == "begun"
    assert log.read_text().splitlines()[-1] == "ended"
    texts = {path.read_text().splitlines()[0] for path in log.parent.glob("it-*.log")}
    assert texts == {"before", "begun", "refused"}
    assert sorted(path.suffix for path in log.parent.iterdir()) == [".log"] * 4


@pytest.fixture
def physionet(tmp_path, monkeypatch):
    """A run of a configuration with eICU from PhysioNet, which tells a digest of its password."""
    for name in ACCOUNT:
        monkeypatch.delenv(name, raising=False)
    study = {"datasets": ["digits"], "regimes": [{"kind": "free"}], "models": {"linear": {"draws": 1}}}
    eicu = {"source": "physionet", "folder": str(tmp_path / "eicu")}
    config = parse({"name": "mine", "studies": {"one": study | {"methods": ["oracle"]}}, "eicu": eicu})
    telling = "import hashlib, os, sys; account = ' '.join(os.environ.get(n, '') for n in sys.argv[1:3])\n"
    telling += "print(hashlib.sha256(account.encode()).hexdigest(), file=sys.stderr)"
    command = [sys.executable, "-c", telling, *ACCOUNT]
    return lambda *further, stream: run([*command, *further], tmp_path / "it.log", config, stream=stream)


def told(*account):
    return hashlib.sha256(" ".join(account).encode()).hexdigest()


def test_the_account_is_asked_for_before_the_run_and_kept_nowhere(physionet, tmp_path, monkeypatch, capfd, caplog):
    name, password = "ada", "analytical engine"
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda prompt: name)
    monkeypatch.setattr("getpass.getpass", lambda prompt: password)
    stream = Terminal()
    assert physionet(stream=stream) == Outcome(0)
    assert (tmp_path / "it.log").read_text().strip() == told(name, password)
    assert not set(ACCOUNT) & set(os.environ)
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    written += [stream.getvalue(), caplog.text, *capfd.readouterr()]
    for secret in (name + " ", password):
        assert not any(secret in text for text in written)


@pytest.mark.parametrize("answer", [None, ""], ids=["no terminal", "an empty answer"])
def test_without_an_account_nothing_starts(physionet, tmp_path, monkeypatch, answer):
    if answer is not None:
        monkeypatch.setattr("sys.stdin", Terminal())
        monkeypatch.setattr("builtins.input", lambda prompt: "ada")
        monkeypatch.setattr("getpass.getpass", lambda prompt: answer)
    with pytest.raises(SystemExit, match="set PHYSIONET_USERNAME and PHYSIONET_PASSWORD, then run again"):
        physionet(stream=io.StringIO())
    assert not (tmp_path / "it.log").exists()


def test_nobody_is_asked_where_no_account_is_needed(physionet, tmp_path, monkeypatch):
    def start(*further):
        assert physionet(*further, stream=io.StringIO()) == Outcome(0)
        return (tmp_path / "it.log").read_text().strip()

    assert start("--dry-run") == start("--unlock") == told("", "")
    (tmp_path / "eicu").mkdir()
    (tmp_path / "eicu" / "downloaded.json").touch()
    assert start() == told("", "")
    (tmp_path / "eicu" / "downloaded.json").unlink()
    for variable, value in zip(ACCOUNT, ("ada", "secret"), strict=True):
        monkeypatch.setenv(variable, value)
    assert start() == told("ada", "secret")


def test_a_password_that_someone_writes_reaches_neither_log_nor_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv(ACCOUNT[1], "analytical engine")
    code = f"import os, sys; sys.exit('401 for ' + os.environ['{ACCOUNT[1]}'])"
    stream = io.StringIO()
    assert run([sys.executable, "-c", code], tmp_path / "it.log", stream=stream) == Outcome(1)
    assert (tmp_path / "it.log").read_text() == "401 for ***\n"
    assert stream.getvalue() == "Planning the jobs …\n401 for ***\n"
    error = event("error", text="401 for analytical engine", exception=None)
    follow([error], io.StringIO(), ProgressLine(stream), hide=hide_password)
    assert "engine" not in stream.getvalue()


def test_a_mistaken_configuration_is_told_before_anything_starts(tmp_path, capsys):
    path = tmp_path / "wrong.yaml"
    path.write_text("name: x\nstudy: {}\n")
    assert main(["run", str(path)]) == 1
    assert "studies" in capsys.readouterr().err


@pytest.mark.parametrize("further", [[], ["-s", str(ROOT / "Snakefile")]])
def test_a_run_outside_the_project_folder_says_where_to_run(tmp_path, monkeypatch, capsys, further):
    path = ROOT / "config" / "smoke.yaml"
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(path), *further]) == 1
    assert f"There is no Snakefile in {tmp_path}: run it in the project folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_results_that_can_not_be_written_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # Whoever runs the tests may be allowed to write everywhere, but not below a file.
    for name in ("Snakefile", "results"):
        (tmp_path / name).touch()
    assert main(["run", str(ROOT / "config" / "smoke.yaml")]) == 1
    told = capsys.readouterr().err
    assert "The log of the run can't be written: results" in told
    assert "Make results/smoke a folder that you may write to, on a disk with room, and run again." in told


@pytest.mark.parametrize("what", ["os.pipe", "subprocess.Popen"])
def test_a_run_that_can_not_be_started_is_not_blamed_on_its_log(tmp_path, monkeypatch, capsys, what):
    def refuse(*arguments, **options):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").touch()
    monkeypatch.setattr(f"dams.runner.process.{what}", refuse)
    assert main(["run", str(ROOT / "config" / "smoke.yaml")]) == 1
    told = capsys.readouterr().err
    assert "Snakemake could not be started: " in told
    assert "Resource temporarily unavailable" in told
    assert "log" not in told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_that_can_not_be_written_stops_the_run_at_once(tmp_path, monkeypatch):
    def full(path, mode, **options):
        return open("/dev/full", "w", **options)

    monkeypatch.setattr("dams.runner.process.open", full, raising=False)
    waits = "import sys, time; print('begun', file=sys.stderr, flush=True); time.sleep(60)"
    start = time.monotonic()
    with pytest.raises(OSError, match="No space left on device"):
        run([sys.executable, "-c", waits], tmp_path / "it.log", stream=io.StringIO())
    assert time.monotonic() - start < 30


def test_a_refused_option_is_not_followed_by_advice_about_results(tmp_path, monkeypatch, capsys):
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(ROOT / "config" / "smoke.yaml"), "--coresss", "3"]) == 2
    told = capsys.readouterr().err
    # Without the usage, which is long.
    assert told.splitlines()[:2] == ["Planning the jobs …", "snakemake: error: unrecognized arguments: --coresss"]
    assert "usage: snakemake" not in told
    assert "usage: snakemake" in (tmp_path / "results" / "smoke" / "logs" / "snakemake.log").read_text()
    assert "Snakemake stopped with code 2" in told
    assert "dams report" not in told


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("further", "told"),
    [
        ([], "Nothing to do: all that was asked for is there.\nResults: results/smoke/\n"),
        (["--unlock"], "Unlocked; `dams run {path}` goes on from what was finished.\n"),
    ],
)
def test_a_run_without_a_job_says_so(tmp_path, monkeypatch, capsys, further, told):
    (tmp_path / "Snakefile").write_text('rule all:\n    input:\n        "Snakefile",\n')
    monkeypatch.chdir(tmp_path)
    path = ROOT / "config" / "smoke.yaml"
    assert main(["run", str(path), *further]) == 0
    assert told.format(path=path) in capsys.readouterr().out


def test_results_of_another_configuration_are_told_from_those_asked_for(tmp_path, monkeypatch, capsys):
    """As where Snakemake's notes in .snakemake are gone, and it finds all files there."""
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dams.runner.run", lambda *given: Outcome(0, idle=True))
    path = ROOT / "config" / "smoke.yaml"
    config = read(path).model_dump(mode="json")
    for settings, told in ((config, ""), (config | {"seed": 5}, "results/smoke/config.json is another configuration")):
        write_json(settings, tmp_path / "results/smoke/config.json")
        assert main(["run", str(path)]) == 0
        answer = capsys.readouterr()
        assert "Nothing to do: all that was asked for is there." in answer.out
        assert answer.err.startswith(told) and bool(answer.err) == bool(told)
    assert f"than {path}, in seed: " in answer.err
    assert f"`dams run {path} --forceall` makes it anew" in answer.err
    # An option gave that run its seed.
    assert main(["run", str(path), "--config", "seed=5"]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "words"), [(130, "was interrupted"), (143, "was interrupted"), (1, "stopped with code 1")]
)
def test_who_interrupts_a_run_hears_of_no_failure(tmp_path, monkeypatch, capsys, code, words):
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)

    monkeypatch.setattr("dams.runner.run", lambda *given: Outcome(code))
    assert main(["run", str(ROOT / "config" / "smoke.yaml")]) == code
    assert f"Snakemake {words}; its whole log is results/smoke/logs/snakemake.log." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("further", "message"),
    [
        (
            ["--config", "seed=2", "name=other"],
            "--config name=other: the name says where results go; change `name` in ",
        ),
        (["-C", "name=other", "-n"], "-C name=other: the name says"),
        (["--config=name=other"], "--config name=other: the name says"),
        (["--configfile", "other.yaml"], "--configfile: `dams run` takes one configuration, here "),
        (["--directory", "there"], "--directory: `dams run` works where it is called, in "),
        (["-dthere"], "-dthere: `dams run` works where it is called, in "),
        (
            ["--logger", "rich"],
            "--logger: `dams run` follows Snakemake by a logger of its own; `snakemake --configfile ",
        ),
    ],
)
def test_options_that_send_results_or_events_elsewhere_are_refused(tmp_path, capsys, further, message):
    """The log and the advice would name another folder than that of the results, or nobody would hear of the run."""
    assert main(["run", str(tmp_path / "mine.yaml"), *further]) == 1
    assert capsys.readouterr().err.startswith(message)


def test_unknown_options_are_refused_where_there_is_no_snakemake(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path), "--forceall"])
    assert "--forceall" in capsys.readouterr().err
