"""Stays of a simulated eICU cohort: severity, records, deaths, and what gets lost on the way to the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dams.datasets.eicu.catalogue import Catalogue, catalogue
from dams.datasets.eicu.names import Scenario as ScenarioName
from dams.datasets.eicu.names import Size
from dams.datasets.eicu.scenarios import Scenario, make_scenario
from dams.datasets.eicu.vitals import HOURS, carry_forward, draw_measured, hourly_latents

Array = np.ndarray

# Stays made at once; their hours times columns are held as bytes.
_CHUNK = 400


@dataclass(frozen=True)
class Cohort:
    """Simulated stays before they become files or a table."""

    cat: Catalogue
    scenario: Scenario
    hospitals: dict[int, tuple[int, int]]
    hospital: Array  # position in `hospitals`
    levels: Array  # (n, static variables)
    severity: Array
    y: Array
    timed: Array  # (n, columns of X), what was recorded at any hour
    hours: Array | None  # sorted positions of the ones of X in (n, hours, columns), flattened
    clean_prevalence: Array  # (hospitals, columns of X)
    cutoffs: Array  # of the label's latent score, by hospital
    random_state: int

    @property
    def stay(self) -> Array:
        """Identifiers, ascending, with gaps for stays that the population excludes."""
        return 141_000 + 5 * np.arange(len(self.y))

    @property
    def patient(self) -> Array:
        """Patient of every stay, as a number: one stay in twelve is a patient's second in the same hospital."""
        patient = np.arange(len(self.y))
        for k in range(len(self.hospitals)):
            rows = np.flatnonzero(self.hospital == k)
            later = np.arange(11, len(rows), 12)
            patient[rows[later]] = rows[later - 7]
        return patient

    @property
    def static(self) -> Array:
        """One-hot columns of the static variables, (n, columns)."""
        blocks = [
            np.arange(len(v.levels)) == self.levels[:, [k]]  # one row per stay
            for k, v in enumerate(self.cat.static)
        ]
        return np.concatenate(blocks, axis=1)


def draw_cohort(
    size: Size,
    hospitals: Mapping[int, tuple[int, int]],
    scenario: ScenarioName,
    mechanism: str | None,
    strength: float,
    *,
    random_state: int,
    with_hours: bool,
) -> Cohort:
    """Draw all stays. `with_hours` keeps the hourly coordinates that files need."""
    cat = catalogue(size)
    order, rate, label, loss, plant, stays = np.random.SeedSequence(random_state).spawn(6)
    chosen = make_scenario(scenario, mechanism, strength, cat, len(hospitals), np.random.default_rng(rate))
    # Hospitals are interleaved, so that rows joined by position show.
    hospital = np.random.default_rng(order).permutation(
        np.repeat(np.arange(len(hospitals)), [n for n, _ in hospitals.values()])
    )
    n = len(hospital)

    levels, severity = np.empty((n, len(cat.static)), dtype=np.int64), np.empty(n)
    causes, score = np.empty((n, 2)), np.empty(n)
    timed = np.empty((n, len(cat.timed_names)), dtype=bool)
    clean_count = np.zeros((len(hospitals), timed.shape[1]))
    hours: list[Array] = []
    starts = range(0, n, _CHUNK)
    for start, seed in zip(starts, stays.spawn(len(starts)), strict=True):
        rows = slice(start, min(start + _CHUNK, n))
        rng = np.random.default_rng(seed)
        levels[rows], causes[rows], severity[rows] = _draw_static(rng, cat, chosen, hospital[rows])
        records = _draw_records(rng, cat, severity[rows])
        clean = _render(cat, records, by_hour=with_hours)
        timed[rows] = clean.any(axis=1)
        clean_count += (np.arange(len(hospitals))[:, None] == hospital[rows]).astype(float) @ timed[rows]
        score[rows] = _score(cat, chosen, hospital[rows], severity[rows], timed[rows])
        if chosen.name == "hourly":
            clean = _render(cat, _thin(rng, cat, chosen, hospital[rows], records), by_hour=with_hours)
            timed[rows] = clean.any(axis=1)
        if with_hours:
            hours.append(np.flatnonzero(clean) + start * HOURS * clean.shape[2])

    y, cutoffs = _draw_labels(
        np.random.default_rng(label), score, hospital, [deaths for _, deaths in hospitals.values()]
    )
    lost = _draw_losses(loss, chosen, hospital, chosen.depends_on(causes[:, 0], causes[:, 1], severity, y))
    timed &= ~lost
    planted = _plant(np.random.default_rng(plant), cat, hospital, timed)
    return Cohort(
        cat=cat,
        scenario=chosen,
        hospitals=dict(hospitals),
        hospital=hospital,
        levels=levels,
        severity=severity,
        y=y,
        timed=timed,
        hours=_lose_hours(np.concatenate(hours), lost, planted) if with_hours else None,
        clean_prevalence=clean_count / np.bincount(hospital)[:, None],
        cutoffs=cutoffs,
        random_state=random_state,
    )


def _draw_static(
    rng: np.random.Generator, cat: Catalogue, scenario: Scenario, hospital: Array
) -> tuple[Array, Array, Array]:
    """Draw levels of the static variables, the latent age and unit behind two of them, and severity."""
    n = len(hospital)
    causes = [k for k, v in enumerate(cat.static) if v.cause]
    latent = rng.standard_normal((n, len(cat.static)))
    loading = np.array([v.loading for v in cat.static])
    own = np.sqrt(1 - np.square(loading[causes]).sum())
    severity = latent[:, causes] @ loading[causes] + own * rng.standard_normal(n) + scenario.severity_shift(hospital)
    effects = [k for k, v in enumerate(cat.static) if not v.cause]
    latent[:, effects] = np.outer(severity, loading[effects]) + np.sqrt(1 - loading[effects] ** 2) * latent[:, effects]
    levels = np.stack(
        [np.searchsorted(np.cumsum(v.shares)[:-1], ndtr(latent[:, k])) for k, v in enumerate(cat.static)], axis=1
    )
    return levels, latent[:, causes], severity


@dataclass(frozen=True)
class _Records:
    """Measurements of a chunk of stays."""

    latents: Array
    value: Array
    measured: Array
    stay: Array
    variable: Array
    hour: Array
    level: Array


def _draw_records(rng: np.random.Generator, cat: Catalogue, severity: Array) -> _Records:
    n, v = len(severity), len(cat.episodic)
    latents, value = hourly_latents(rng, severity, np.array([vital.loading for vital in cat.vitals]))
    presence, density = (np.array([getattr(vital, key) for vital in cat.vitals]) for key in ("presence", "density"))
    measured = draw_measured(rng, n, presence, density)

    share, further, by_presence, by_level = (
        np.array([getattr(variable, key) for variable in cat.episodic])
        for key in ("presence", "further", "presence_loading", "level_loading")
    )
    # Divided by the latent's spread, the mean over severity is the stated share.
    threshold = ndtri(share) * np.sqrt(1 + by_presence**2)
    present = rng.random((n, v)) < ndtr(threshold + np.outer(severity, by_presence))
    count = present * (1 + rng.poisson(further, (n, v)))
    stay_level = np.outer(severity, by_level) + np.sqrt(1 - by_level**2) * rng.standard_normal((n, v))
    cell = np.repeat(np.arange(n * v), count.ravel())
    stay, variable = np.divmod(cell, v)
    latent = np.sqrt(0.5) * (stay_level.ravel()[cell] + rng.standard_normal(len(cell)))
    n_levels = np.array([len(variable.levels) for variable in cat.episodic])[variable]
    # Rounding may take the normal law's far tail to 1.
    level = np.minimum((ndtr(latent) * n_levels).astype(np.int64), n_levels - 1)
    return _Records(latents, value, measured, stay, variable, rng.integers(HOURS, size=len(cell)), level)


def _thin(rng: np.random.Generator, cat: Catalogue, scenario: Scenario, hospital: Array, records: _Records) -> _Records:
    """Lose single measurements, each with its variable's rate."""
    # Every column of a variable carries its rate: the first one tells.
    episodic = scenario.rates[:, cat.episodic_start]
    vital = scenario.rates[:, cat.vital_start + 2]
    kept = rng.random(len(records.stay)) >= episodic[hospital[records.stay], records.variable]
    return _Records(
        records.latents,
        records.value,
        records.measured & (rng.random(records.measured.shape) >= vital[hospital][:, None]),
        *(getattr(records, key)[kept] for key in ("stay", "variable", "hour", "level")),
    )


def _render(cat: Catalogue, records: _Records, *, by_hour: bool) -> Array:
    """Turn records into FIDDLE's indicators, (n, hours, columns), or into those of any hour, (n, 1, columns)."""
    filled, since = carry_forward(records.latents, records.value, records.measured)
    n, hours = filled.shape[:2]

    def at(shown: Array) -> Array:
        return shown if by_hour else np.any(shown, axis=1, keepdims=True)

    X = np.zeros((n, hours if by_hour else 1, len(cat.timed_names)), dtype=bool)
    X[:, :, : len(cat.vitals)] = at(records.measured)
    hour = records.hour if by_hour else 0
    X[records.stay, hour, cat.episodic_start[records.variable] + records.level] = True
    X[:, :, cat.vital_start] = at(since <= 1)
    X[:, :, cat.vital_start + 1] = at(since > 1)
    # One quintile after the other: a sum over a short last axis takes four times as long.
    bins = np.sum([filled > quintile for quintile in np.moveaxis(cat.quintiles, -1, 0)], axis=0, dtype=np.int8)
    column = cat.vital_start[:, None] + 2 + 5 * np.arange(filled.shape[-1]) + bins
    row = np.arange(n * hours) if by_hour else np.repeat(np.arange(n), hours)
    position = row.reshape(n, hours, 1, 1) * X.shape[2] + column
    # NaN: nothing measured yet.
    X.reshape(-1)[position[~np.isnan(filled)]] = True
    return X


def _score(cat: Catalogue, scenario: Scenario, hospital: Array, severity: Array, timed: Array) -> Array:
    """Log odds of death up to the hospital's intercept, from clean features."""
    by_severity, by_feature = scenario.effect_scale(hospital)
    columns = list(cat.effects)
    return by_severity * cat.severity_effect * severity + by_feature * (
        timed[:, columns] @ [cat.effects[j] for j in columns]
    )


def _draw_labels(rng: np.random.Generator, score: Array, hospital: Array, deaths: list[int]) -> tuple[Array, Array]:
    """Draw deaths with the given log odds, exactly `deaths` in each hospital.

    With logistic noise e, P(score + e > c) = expit(score − c): a cutoff between the k-th and the next largest sum makes
    k deaths, and is minus the intercept.
    """
    noisy = score + rng.logistic(size=len(score))
    y, cutoffs = np.zeros(len(score), dtype=np.int64), np.empty(len(deaths))
    for k, count in enumerate(deaths):
        rows = np.flatnonzero(hospital == k)
        ranked = rows[np.argsort(-noisy[rows], kind="stable")]
        y[ranked[:count]] = 1
        cutoffs[k] = noisy[ranked[count - 1 : count + 1]].mean()
    return y, cutoffs


def _draw_losses(seed: np.random.SeedSequence, scenario: Scenario, hospital: Array, depends_on: Array) -> Array:
    lost = np.empty((len(hospital), len(scenario.variable)), dtype=bool)
    starts = range(0, len(hospital), _CHUNK)
    for start, child in zip(starts, seed.spawn(len(starts)), strict=True):
        rows = slice(start, start + _CHUNK)
        lost[rows] = scenario.draw_losses(np.random.default_rng(child), hospital[rows], depends_on[rows])
    return lost


def planted_counts(n_first: int, n_second: int) -> list[tuple[int, int]]:
    """Stays with each planted feature in the two hospitals: at, below and across the rules of 5 % and 1 %."""
    five_first, five_second = -(-n_first // 20), -(-n_second // 20)
    one_first, one_second = -(-n_first // 100), -(-n_second // 100)
    return [
        (five_first, one_second),  # kept: 5 % here and 1 % there, to the unit
        (one_first, five_second),
        (five_first, five_second),
        (five_first - 1, five_second - 1),  # dropped: below 5 % in both
        (5 * five_first, one_second - 1),  # dropped: below 1 % in one
        (one_first - 1, 5 * five_second),
    ]


def _plant(rng: np.random.Generator, cat: Catalogue, hospital: Array, timed: Array) -> Array:
    """Give the planted features exact counts, each at one hour; returns their sorted positions in X."""
    positions = []
    pair = [np.flatnonzero(hospital == k) for k in (0, 1)]
    for k, counts in enumerate(planted_counts(len(pair[0]), len(pair[1]))):
        rows = np.concatenate([rng.permutation(rows)[:count] for rows, count in zip(pair, counts, strict=True)])
        column = np.full(len(rows), cat.planted_start + k)
        timed[rows, column] = True
        positions.append((rows * HOURS + rng.integers(HOURS, size=len(rows))) * timed.shape[1] + column)
    return np.sort(np.concatenate(positions))


def _lose_hours(hours: Array, lost: Array, planted: Array) -> Array:
    """Drop the hours of lost features and add those of planted ones."""
    width = lost.shape[1]
    kept = hours[~lost[hours // (HOURS * width), hours % width]]
    return np.insert(kept, np.searchsorted(kept, planted), planted)
