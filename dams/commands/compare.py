"""`dams compare`: how two files differ in what they lose."""

from __future__ import annotations

import argparse

from dams.commands._common import Refused, refuse_outputs, seed
from dams.commands._two_files import add_files, add_reading, reading, shown_progress

EXIT_CODES = """exit codes, a contract for scripts:
  0   no shift found
  1   a shift was found, or loss at random (UCAR) is rejected
  2   an error: of the command line, of a file, or of the program; the message is on standard error
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compare` to the commands."""
    compare = commands.add_parser(
        "compare",
        help="say how two files differ in what they lose",
        description="Compare what two files lose: a verdict, what to do, and r with its interval for every column.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(compare)
    add_reading(compare)
    for kind, content in (("json", "everything"), ("csv", "one row per column"), ("html", "a page")):
        compare.add_argument(
            f"--{kind}",
            metavar="FILE",
            help=f"write {content} as {kind.upper()}; - is standard output, in place of the text",
        )
    compare.add_argument("--all", action="store_true", help="list every column, not only those that matter most")
    compare.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        help="probability, at most, of a shift that is found where there is none (default: %(default)s)",
    )
    compare.add_argument("--seed", type=seed, default=0, help="of the test's bootstrap (default: %(default)s)")
    compare.set_defaults(do=_compare, error_code=2)


def _compare(given: argparse.Namespace) -> int:
    from dams._files import whole_file
    from dams.two_files.comparison import compare_files

    outputs = {kind: file for kind in ("json", "csv", "html") if (file := getattr(given, kind)) is not None}
    if list(outputs.values()).count("-") > 1:
        raise Refused("Only one of --json, --csv and --html can go to standard output; name files for the others.")
    refuse_outputs({f"--{kind}": file for kind, file in outputs.items()}, given.source, given.target)
    try:
        with shown_progress():
            options = {"alpha": given.alpha, "random_state": given.seed, **reading(given)}
            found = compare_files(given.source, given.target, **options)
        make = {"json": found.to_json, "csv": lambda: found.to_frame().to_csv(), "html": found.to_html}
        texts = {kind: make[kind]() for kind in outputs}
        for kind, file in outputs.items():
            if file == "-":
                print(texts[kind], end="")
                continue
            with whole_file(file) as partial:
                partial.write_text(texts[kind], encoding="utf-8")
    except (ValueError, OSError) as error:
        raise Refused(error) from None
    if "-" not in outputs.values():
        print(found.to_text(all_columns=given.all))
    return found.exit_code
