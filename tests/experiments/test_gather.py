"""Gathering: the cut into blocks leaves no trace, and a file that is not what its block asks for is refused."""

import re
from random import Random

import pandas as pd
import pytest
from damage import damage
from test_records import ROW

from dams.experiments.config import parse
from dams.experiments.design import blocks
from dams.experiments.gather import gather, gather_timings, keys_of
from dams.experiments.records import KEYS, TIMINGS, as_records, read_records, write_csv
from dams.experiments.run import run_block


def test_gathering_sorts_by_key_whatever_the_files(tmp_path):
    rows = [ROW | {"draw": draw, "beta": beta, "model": model} for draw in (0, 1) for beta in (0, 1) for model in "ba"]
    write_csv(as_records(rows), tmp_path / "all.csv")
    for i, row in enumerate(rows):
        write_csv(as_records([row]), tmp_path / f"{i}.csv")
    one = gather([tmp_path / "all.csv"])
    many = gather([tmp_path / f"{i}.csv" for i in reversed(range(len(rows)))])
    pd.testing.assert_frame_equal(one, many)
    keys = list(one[["model", "draw", "beta"]].itertuples(index=False, name=None))
    assert keys == sorted(keys)


def test_failures_survive_gathering_with_blocks_that_have_none(tmp_path):
    write_csv(as_records([ROW]), tmp_path / "sound.csv")
    write_csv(as_records([ROW | {"draw": 4, "failure": "no", "score": None}]), tmp_path / "failed.csv")
    gathered = gather([tmp_path / "sound.csv", tmp_path / "failed.csv"])
    assert gathered["failure"].isna().tolist() == [True, False]


def test_damaged_timings_are_named_with_the_way_out(tmp_path):
    paths = [tmp_path / f"{name}.timings.csv" for name in "ab"]
    for draw, path in enumerate(paths):
        write_csv(pd.DataFrame([[*"abcdef", 1 - draw, "g", 0.5]], columns=TIMINGS), path)
    assert list(gather_timings(paths)["draw"]) == [0, 1]
    for damaged in ("", "study,dataset\n", "\x00"):
        paths[1].write_text(damaged)
        with pytest.raises(ValueError, match=r"b\.timings\.csv is damaged: .*Delete the file and run again\."):
            gather_timings(paths)


def test_results_of_another_configuration_are_named_with_the_way_out(small, tmp_path):
    """As after another seed, where Snakemake has no notes of what the files were made with."""
    before, now = (list(blocks(parse(small | {"seed": seed, "block_size": {"linear": 1}}))) for seed in (1, 2))
    paths = [tmp_path / f"{block.path}.timings.csv" for block in now]
    jobs = [run_block(block, None)[1] for block in (now[0], before[1])]
    for path, timings in zip(paths, jobs, strict=True):
        write_csv(timings, path)
    told = f"{before[1].digest}. 1 of 2 such files are. Delete {paths[1]} and run again."
    with pytest.raises(ValueError, match=re.escape(told)) as caught:
        gather_timings(paths, now)
    assert str(caught.value).startswith(f"{paths[1]} is of another configuration: expected {now[1].digest} ")
    # Several are in one folder.
    with pytest.raises(ValueError, match=re.escape(f"2 of 2 such files are. Delete {tmp_path / 'one'} and run again.")):
        gather_timings(paths, before[::-1])
    write_csv(run_block(now[1], None)[1], paths[1])
    assert set(gather_timings(paths, now)["design"]) == {block.digest for block in now}


@pytest.fixture
def written(small, study, tmp_path):
    """A block of both kinds of labels, methods with and without caps and several ε, and its file."""
    study["regimes"] = [{"kind": "opposing", "epsilon": [0.1, 0.05]}]
    study["labels"] = ["structural", "random_linear"]
    study["models"] = {"linear": {"draws": 2, "betas": 3}}
    study["methods"] = {"oracle": {}, "source": {"betas": 2}, "closed_form": {"draws": 1}}
    (block,) = blocks(parse(small))
    records, _ = run_block(block, None)
    write_csv(records, tmp_path / "b.csv")
    return block, tmp_path / "b.csv"


def test_a_block_holds_one_row_for_every_key(written):
    block, path = written
    records = read_records(path)
    # Two ε, and of two draws 4 + 3 rows for oracle and source; the closed form has one draw.
    assert len(keys_of(block)) == len(records) == 2 * (2 * (4 + 3) + 4)
    pd.testing.assert_frame_equal(gather([path], [block]), records.sort_values(KEYS, ignore_index=True))


def test_a_failed_fit_is_no_damage(written):
    block, path = written
    records = read_records(path)
    records.loc[3, ["score", "mse", "failure"]] = [None, None, "LinAlgError: singular"]
    write_csv(records, path)
    assert gather([path], [block])["failure"].notna().sum() == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda r: r.drop(index=5),
            r"expected 36 rows, got 35; 1 are missing and 0 do not belong there, the first of ",
        ),
        (lambda r: pd.concat([r, r.iloc[[0]]]), r"expected 36 rows, got 37; 0 are missing and 1 do not belong"),
        (lambda r: r.assign(beta=r["beta"] + 1), r"the first of study one, dataset redundant, regime opposing"),
        (lambda r: r.assign(score=r["score"].where(r.index != 4)), r"line 6, column score: expected mse / var_y = "),
        (lambda r: r.assign(mse=r["mse"].where(r.index != 4)), r"line 6, column score: expected mse / var_y = nan"),
        (lambda r: r.assign(score=r["score"] * 1.001), r"line 2, column score: expected mse / var_y = "),
        (lambda r: r.assign(failure="no"), r"line 2, column score: expected none, for the fit failed, got "),
    ],
    ids=["too few", "twice", "other keys", "no score", "no mse", "another score", "score and failure"],
)
def test_a_damaged_file_is_refused_by_name(written, damage, message):
    block, path = written
    write_csv(damage(read_records(path)), path)
    with pytest.raises(ValueError, match=rf"b\.csv is damaged: .*{message}.*Delete the file and run again\."):
        gather([path], [block])


def test_a_file_cut_anywhere_is_refused(written):
    block, path = written
    content = path.read_bytes()
    for end in range(0, len(content), 97):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"b\.csv .*Delete the file and run again\."):
            gather([path], [block])


def test_a_block_damaged_at_random_is_refused_by_name_or_holds_what_it_should(written):
    block, path = written
    content, rng, refused = path.read_bytes(), Random(24), 0
    for number in range(500):
        path.write_bytes(damage(content, rng))
        try:
            assert len(gather([path], [block])) == len(keys_of(block)), number
            said = ""
        except ValueError as error:
            said = str(error)
        assert not said or "b.csv " in said, number
        refused += bool(said)
    assert refused > 400
