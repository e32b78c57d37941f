"""Processes that begin with the libraries loaded, for runs of Snakemake and for their jobs.

To load Snakemake and pandas takes three quarters of the time of a plan, and to load pandas and matplotlib that of a
small job. Here one process of each kind has loaded them, and nothing of dams, and forks for each run or job; all else
is as in a new process: arguments, environment, working directory, search path, streams. But texts have the same hashes
in all that one process forks: of two runs whose bytes are compared, one is to take its jobs from another.
"""

import atexit
import json
import multiprocessing
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
# Seconds after which a run has got stuck.
LONGEST = 600

RUNS = multiprocessing.get_context("forkserver")
RUNS.set_forkserver_preload(["snakemake.cli", "snakemake.report.html_reporter", "pandas", "pydantic"])
LIBRARIES = ["matplotlib.pyplot", "matplotlib.backends.backend_pdf", "pandas", "sklearn.utils", "snakemake.script"]

# Stands where Snakemake starts `python script.py`: asks for a job, and ends as it does. Options are for Python itself.
ASK = f"""#!{sys.executable} -IS
import json, os, socket, sys
if sys.argv[1].startswith("-"):
    os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect(__file__ + ".socket")
    job = [sys.argv[1:], os.getcwd(), dict(os.environ)]
    socket.send_fds(server, [json.dumps(job).encode()], [0, 1, 2])
    sys.exit(server.recv(1)[0])
"""


def run(args: list, cwd: Path, env: dict, told: Path, *, hashes: int) -> subprocess.CompletedProcess:
    """Run Snakemake to its end, jobs with the hashes of this number. What is told passes through a file."""
    python = str(_job_server(hashes))
    process = RUNS.Process(target=_snakemake, args=(args[len(SNAKEMAKE) :], cwd, env, told, python))
    process.start()
    process.join(LONGEST)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(args, LONGEST, told.read_text(encoding="utf-8"))
    return subprocess.CompletedProcess(args, process.exitcode, told.read_text(encoding="utf-8"))


def _snakemake(arguments, cwd, environment, told, python):
    """Do as `python -m snakemake` does."""
    from snakemake.cli import main

    os.setsid()
    with open(told, "wb") as file:
        _become(["snakemake", *arguments], cwd, cwd, environment, [sys.stdin.fileno(), file.fileno(), file.fileno()])
    sys.executable = python
    main(arguments)


@cache
def _job_server(hashes):
    """Start a process that forks for jobs, with hashes of its own; return the program that asks it."""
    folder = Path(tempfile.mkdtemp(prefix="dams-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / "python"
    program.write_text(ASK)
    program.chmod(0o755)
    address = f"{program}.socket"
    seed = {"PYTHONHASHSEED": str(hashes)}
    server = subprocess.Popen([sys.executable, __file__, address], env=os.environ | seed)
    atexit.register(server.terminate)
    # It loads the libraries while the first run makes its plan.
    while not Path(address).exists():
        assert server.poll() is None, "the process that forks for jobs did not start"
        time.sleep(0.01)
    return program


def serve(address):
    """Fork for every job that asks, as long as there is who started this."""
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        server.settimeout(5)
        for library in LIBRARIES:
            __import__(library)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system clears away those that ended
        while os.getppid() == parent:
            try:
                asked, _ = server.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                server.close()
                _answer(asked)
            asked.close()


def _answer(asked):
    """Run the job that was asked for; never returns."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        job, streams, *_ = socket.recv_fds(asked, 1_000_000, 3)
        arguments, cwd, environment = json.loads(job)
        script = Path(arguments[0])
        _become(arguments, cwd, script.parent, environment, streams)
        runpy.run_path(str(script), run_name="__main__")
        code = 0
    except SystemExit as end:
        if isinstance(end.code, int | None):
            code = end.code or 0
        else:
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        asked.sendall(bytes([code]))
        os._exit(code)


def _become(arguments, cwd, first, environment, streams):
    """Take over what a new process would be given."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # The folders of test modules are on the path of the process that all of these descend from.
    others = (path for path in sys.path if not Path(path).is_relative_to(TESTS))
    added = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [str(first), *filter(None, added), *others]
    sys.argv = arguments


if __name__ == "__main__":
    serve(sys.argv[1])
