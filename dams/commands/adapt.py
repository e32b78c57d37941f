"""`dams adapt` and `dams predict`: the predictor to use in the target, and its predictions."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dams.commands._common import Refused, refuse_outputs, seed
from dams.commands._two_files import (
    FILES,
    add_dialect,
    add_files,
    add_reading,
    reading,
    refuse,
    refuse_no_groups,
    shown_progress,
)

if TYPE_CHECKING:
    from dams.two_files.adapting import Adaptation
    from dams.two_files.reading import Pair

# Options that need rows, or that summaries were made with.
OF_ROWS = (
    *("label", "leave_out", "out", "page", "target_labels", "adapt_if_rejected"),
    *("always_recorded", "anchors", "column_group", "groups", "nan_as_zero"),
)
EXIT_CODES = """exit codes, a contract for scripts:
  0   a model was chosen, adapted or not: the first line of the output, and "adapted" in the model file, say which
  2   an error: of the command line, of a file, or of the program; the message is on standard error
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `adapt` and `predict` to the commands."""
    adapt = commands.add_parser(
        "adapt",
        help="fit on a labelled file for another one, adapted to what that one loses if this is expected to pay",
        description="Check two files, fit predictors that are adapted to the target and one that is not, and take the "
        "one with the least expected risk in the target; the one that is not adapted unless another is better by its "
        "whole interval. From two summaries of `dams summarise` in place of files, fit the adapted linear model.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(adapt)
    adapt.add_argument("--label", metavar="COLUMN", help="what to predict: numbers, or two values such as yes and no")
    adapt.add_argument(
        "--model",
        choices=("linear", "logistic", "boosting", "auto"),
        default="auto",
        help="kind of model; auto compares a linear or logistic one with boosting (default: %(default)s)",
    )
    adapt.add_argument("--out", metavar="FILE", help="write predictions for the rows of the target as CSV")
    adapt.add_argument("--model-file", metavar="FILE", help="write the model, for `dams predict`")
    adapt.add_argument("--page", metavar="FILE", help="write a page that says what was found, and when not to trust it")
    adapt.add_argument(
        "--target-labels",
        metavar="FILE",
        help="target rows with labels, with the columns of the source: they test what was chosen; the target may have "
        "labels itself, with empty fields where there is none",
    )
    adapt.add_argument(
        "--adapt-if-rejected",
        action="store_true",
        help="adapt where that is expected to pay, although the test rejects loss at random",
    )
    add_reading(adapt, left_out="--leave-out", what="")
    adapt.add_argument("--seed", type=seed, default=0, help="of everything that is drawn (default: %(default)s)")
    adapt.set_defaults(do=_adapt, error_code=2)

    predict = commands.add_parser("predict", help="predict with a model that `dams adapt` wrote")
    predict.add_argument("model", help="file that `dams adapt --model-file` wrote")
    predict.add_argument("file", help=f"rows to predict: {FILES}")
    predict.add_argument("--out", required=True, metavar="FILE", help="write predictions as CSV")
    predict.add_argument("--groups", metavar="COLUMN", help="column to repeat beside the predictions: patients")
    add_dialect(predict)
    predict.set_defaults(do=_predict, error_code=2)


def _adapt(given: argparse.Namespace) -> int:
    outputs = {"--out": given.out, "--model-file": given.model_file, "--page": given.page}
    refuse_outputs(outputs, given.source, given.target, given.target_labels)
    try:
        summaries = [path for path in (given.source, given.target) if path.endswith(".json")]
        if len(summaries) == 1:
            raise Refused(f"{summaries[0]} is a summary and the other file is not: give two files or two summaries.")
        with shown_progress():
            return _from_summaries(given) if summaries else _from_files(given)
    except (ValueError, OSError) as error:
        raise refuse(error) from None


def _from_files(given: argparse.Namespace) -> int:
    from dams.two_files.adapting import adapt
    from dams.two_files.model_files import FileModel
    from dams.two_files.notes import notes_on
    from dams.two_files.reading import read_pair

    if given.label is None:
        raise Refused("Say what to predict with --label COLUMN.")
    if given.model_file is None and given.out is None:
        raise Refused("Name a file for predictions (--out) or for the model (--model-file).")
    # What is not installed is said before anything is fitted.
    if given.page is not None:
        import_module("jinja2")
    if given.model_file is not None and given.model in ("boosting", "auto"):
        import_module("skops")
    options = {**reading(given), "labels": [given.label]}
    pair = read_pair(given.source, given.target, **options)
    if given.label not in pair.labels_source:
        raise Refused(f"{given.source} has no column {given.label!r}, the label: give the labelled file first.")
    found = adapt(
        pair.X_source,
        pair.labels_source[given.label],
        pair.X_target,
        model=given.model,
        label=given.label,
        always_recorded=pair.always_recorded,
        column_groups=pair.column_groups,
        anchors=pair.anchors,
        groups=pair.ids_source,
        groups_target=pair.ids_target,
        labelled=_labelled(given, pair, options),
        adapt_if_rejected=given.adapt_if_rejected,
        random_state=given.seed,
        notes=notes_on(pair),
    )
    if given.model_file is not None:
        FileModel.of(found, encoding=pair.encoding).write(given.model_file)
    if given.out is not None:
        _write_predictions(given.out, found.predict(pair.X_target), found.label, found.classes, pair.ids_target)
    if given.page is not None:
        _write_page(given.page, found, pair)
    print(found)
    return 0


def _labelled(given: argparse.Namespace, pair: Pair, options: dict[str, Any]) -> Any:
    """Return target rows with labels: those of a file of their own, or of the target itself; None without any."""
    from dams.two_files.reading import read_one

    if given.target_labels is not None:
        further = {name: options[name] for name in ("labels", "groups", "nan_as_zero", "separator", "decimal")}
        table = read_one(given.target_labels, columns=pair.columns, encoding=pair.encoding, **further)
        if given.label not in table.labels:
            raise Refused(f"{given.target_labels} has no column {given.label!r}, the label.")
        return table.X, table.labels[given.label], table.ids
    if given.label in pair.labels_target and pair.labels_target[given.label].notna().any():
        return pair.X_target, pair.labels_target[given.label], pair.ids_target
    return None


def _write_predictions(path: str, values: Any, label: str, classes: Any, ids: Any) -> None:
    import pandas as pd

    from dams._files import whole_file

    name = label if classes is None else f"probability_{label}_{classes[1]}"
    table = pd.DataFrame({"row": range(1, len(values) + 1), name: values})
    if ids is not None:
        table.insert(1, str(ids.name), ids.to_numpy())
    with whole_file(path) as partial:
        table.to_csv(partial, index=False)


def _write_page(path: str, found: Adaptation, pair: Pair) -> None:
    from dams._files import whole_file
    from dams.two_files.adapt_page import render

    page = render(found, files=pair.names, rows=pair.rows)
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")


def _from_summaries(given: argparse.Namespace) -> int:
    from dams.two_files.model_files import FileModel
    from dams.two_files.summaries import fit_from_summaries, read_summary

    if given.model_file is None:
        raise Refused("Summaries hold no rows to predict: name a file for the model with --model-file.")
    if unused := [f"--{name.replace('_', '-')}" for name in OF_ROWS if getattr(given, name)]:
        raise Refused(
            f"Summaries hold no rows, and say themselves what is known of columns: leave out {', '.join(unused)}."
        )
    if given.model not in ("linear", "auto"):
        raise Refused(f"Summaries give a linear model: leave out --model {given.model}.")
    source, target = read_summary(given.source), read_summary(given.target)
    fitted = fit_from_summaries(source, target)
    assert source.label is not None
    model = FileModel.of_summaries(fitted, source.label, source.encoding)
    model.write(given.model_file)
    what = "Adapted" if model.adapted else "Kept the source's predictor, as nothing adapted was clearly better"
    print(f"{what}: {source.summary.n:,} and {target.summary.n:,} rows in summary, choice {fitted.choice_!r}.")
    print(fitted.relative_missingness_)
    if left_out := sorted({*source.left_out, *target.left_out}):
        print(f"Left out, as too few rows tell of them: {', '.join(left_out)}.")
    return 0


def _predict(given: argparse.Namespace) -> int:
    from dams.two_files.model_files import read_model
    from dams.two_files.notes import notes_on_unseen
    from dams.two_files.reading import read_one

    refuse_outputs({"--out": given.out}, given.model, given.file)
    try:
        if not Path(given.model).is_file():
            what = "is a folder" if Path(given.model).is_dir() else "does not exist"
            raise Refused(f"{given.model} {what}: name a file that `dams adapt --model-file` wrote.")
        model = read_model(given.model)
        table = read_one(
            given.file,
            columns=model.file_columns,
            encoding=model.encoding,
            groups=given.groups,
            nan_as_zero=given.nan_as_zero,
            separator=given.separator,
            decimal=given.decimal,
        )
        refuse_no_groups(given, table)
        _write_predictions(given.out, model.predict(table.X), model.label, model.classes, table.ids)
    except (ValueError, OSError) as error:
        raise Refused(error) from None
    kind = "adapted" if model.adapted else "not adapted"
    print(f"{len(table.X):,} rows predicted with {model.choice!r}, which is {kind}.")
    for note in notes_on_unseen(table.unseen, given.file):
        print(note)
    return 0
