"""What a job tells: how far it is, and everything into its log."""

import logging

import pytest

from dams.experiments.progress import Progress, job_log


@pytest.fixture(autouse=True)
def handlers_are_put_back():
    loggers = [logging.getLogger(name) for name in ("dams", "py.warnings")]
    before = [(logger, logger.handlers, logger.level) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, handlers, level in before:
        for handler in set(logger.handlers) - set(handlers):
            handler.close()
        logger.handlers = handlers
        logger.setLevel(level)


def test_progress_is_told_now_and_then(caplog, monkeypatch):
    clock = iter([0.0, 4.0, 12.0, 13.0, 40.0])
    monkeypatch.setattr("dams.experiments.progress.time.monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO):
        progress = Progress("one/adult-linear-0000", 4, every=10)
        for _ in range(4):
            progress.step()
    # After 12 s two of four are done; the last cell needs no estimate.
    assert caplog.messages == ["one/adult-linear-0000: 2 of 4 cells, about 12 s left"]


def test_the_log_holds_messages_and_warnings(tmp_path, capsys):
    import warnings

    path = tmp_path / "logs" / "job.log"
    with job_log(path):
        logging.getLogger("dams.experiments.run").info("half done")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("odd data", UserWarning, stacklevel=1)
    text = path.read_text(encoding="utf-8")
    assert "half done" in text
    assert "odd data" in text
    assert "half done" in capsys.readouterr().err


def test_an_error_ends_the_job_with_a_sentence_and_leaves_its_traceback(tmp_path):
    path = tmp_path / "job.log"
    with pytest.raises(SystemExit) as stopped, job_log(path):
        raise ValueError("no such column 'age'")
    assert str(stopped.value) == f"ValueError: no such column 'age'\nThe whole story is in {path}"
    text = path.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "no such column 'age'" in text
