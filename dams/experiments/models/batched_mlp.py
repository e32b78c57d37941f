"""Many perceptrons with one hidden layer, trained at once as scikit-learn's `MLPRegressor` would train each.

Network k predicts f(x) = vᵀ max(z, 0) + c with z = Wᵀx + b for a label vector of its own. Adam minimises, on a batch of
B rows,

    L = (1 / 2B) [ Σ_i (f(x_i) − y_i)² + α (‖W‖² + ‖v‖²) ].

With e_i = (f(x_i) − y_i) / B and M_ih = 1[z_ih > 0] the gradient of the hidden layer is

    ∂L/∂W_jh = v_h Σ_i x_ij e_i M_ih + (α / B) W_jh,

so rows scaled by e, times M, scaled by v: the matrix of back-propagated errors is never made. A column of ones makes b
one more row of W. The labels of a sample meet its rows in the same order; that leaves the law of each network as it is,
and rows are gathered once for all. Several samples of as many rows, each in an order of its own, share all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dams.experiments.models import Sample
from dams.experiments.models.networks import Networks, with_ones

Array = np.ndarray

# Next to the other parameters a smaller one is zero: a step of Adam rounds off more.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Settings:
    """Defaults of `MLPRegressor`, under its names."""

    hidden_units: int = 100
    alpha: float = 1e-4
    batch_size: int = 200
    learning_rate_init: float = 1e-3
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    max_iter: int = 200
    tol: float = 1e-4
    n_iter_no_change: int = 10


DEFAULTS = Settings()


class Group:
    """The rows of a sample with the labels (k, n) of the networks that are trained on them."""

    def __init__(self, rows: Array, labels: Array, orders: Iterator[Array]) -> None:
        self.rows, self.labels, self.orders = rows, labels, orders

    @classmethod
    def of(cls, sample: Sample, orders: Iterator[Array], dtype: np.dtype) -> Group:
        """Take the rows and labels of a sample in that precision."""
        return cls(with_ones(sample.X, dtype), np.ascontiguousarray(sample.Y.T, dtype), orders)

    def keep(self, wanted: Array) -> Group:
        """Go on with some of the networks."""
        return Group(self.rows, self.labels[wanted], self.orders)


class Batch:
    """Losses and gradient of k networks on batches of one size, those of a group on the same rows.

    With five networks an eighth of the time is what every call costs whatever its size, so all buffers and views are
    made once.
    """

    def __init__(
        self, networks: Networks, gradient: Networks, groups: Sequence[Group], size: int, alpha: float
    ) -> None:
        k, inputs, h = networks.hidden.shape
        dtype = networks.flat.dtype
        self._networks, self._gradient, self._size = networks, gradient, size
        self._scaled = np.empty((k, inputs, size), dtype)
        self._gathered = np.empty((k, inputs, h), dtype)
        self._z = np.empty((k, size, h), dtype)
        self._positive = np.empty((k, size, h), bool)
        self._active = np.empty((k, size, h), dtype)
        self._residual = np.empty((k, size), dtype)
        # Intercepts are not penalised.
        self._penalty = np.zeros_like(networks.flat[0])
        self._penalty[: networks.weights.shape[1]] = alpha / size
        self._decay = np.empty_like(networks.flat)

        self._output_as_column = networks.output[:, :, None]
        self._output_as_row = networks.output[:, None, :]
        self._bias = networks.bias[:, None]
        self._residual_as_column = self._residual[:, :, None]
        self._residual_as_row = self._residual[:, None, :]
        self._output_gradient = gradient.output[:, None, :]

        ends = np.cumsum([len(group.labels) for group in groups]).tolist()
        self._by_group = []
        for group, start, end in zip(groups, [0, *ends], ends, strict=False):
            rows, columns = np.empty((size, inputs), dtype), np.empty((inputs, size), dtype)
            own = (part[start:end] for part in (networks.hidden, self._z, self._residual_as_row, self._scaled))
            self._by_group.append((group.rows, rows, columns, *own))

    def differentiate(self, orders: Sequence[Array], labels: Array, squares: Array) -> None:
        """Write the gradient on the rows of these orders, one per group, whose (k, B) labels are given.

        `squares`, of shape (2, k), gets what the losses are made of: squared norms of residuals and of weights.
        """
        networks, gradient, residual = self._networks, self._gradient, self._residual
        for order, (source, rows, columns, hidden, own_z, _, _) in zip(orders, self._by_group, strict=True):
            # With any other mode than "clip", NumPy puts a buffer before `out`.
            source.take(order, axis=0, out=rows, mode="clip")
            np.copyto(columns, rows.T)
            np.matmul(rows, hidden, out=own_z)

        z = self._z
        np.copyto(self._active, np.greater(z, 0, out=self._positive))  # faster than with numbers for `out`
        activation = np.multiply(z, self._active, out=z)
        np.matmul(activation, self._output_as_column, out=self._residual_as_column)
        residual += self._bias
        residual -= labels
        np.vecdot(residual, residual, out=squares[0])
        np.vecdot(networks.weights, networks.weights, out=squares[1])

        residual /= self._size
        np.matmul(self._residual_as_row, activation, out=self._output_gradient)
        np.add.reduce(residual, axis=1, out=gradient.bias)
        for _, _, columns, _, _, own_residual, scaled in self._by_group:
            np.multiply(columns, own_residual, out=scaled)
        np.matmul(self._scaled, self._active, out=self._gathered)
        np.multiply(self._gathered, self._output_as_row, out=gradient.hidden)
        np.add(gradient.flat, np.multiply(networks.flat, self._penalty, out=self._decay), out=gradient.flat)


class Adam:
    """Adam on all networks at once, with the step size η √(1 − β₂ᵗ) / (1 − β₁ᵗ).

    The moments are kept without their factors 1 − β₁ and 1 − β₂, which move into step size and ε: fewer passes.
    """

    def __init__(self, networks: Networks, settings: Settings) -> None:
        self._settings = settings
        self._step = 0
        self._first = np.zeros_like(networks.flat)
        self._second = np.zeros_like(networks.flat)
        self._change = np.empty_like(networks.flat)

    def update(self, networks: Networks, gradient: Networks) -> None:
        """Make one step; `gradient` is used up."""
        s, g, change = self._settings, gradient.flat, self._change
        self._step += 1
        self._first *= s.beta_1
        self._first += g
        self._second *= s.beta_2
        self._second += np.multiply(g, g, out=g)

        unit = (1 - s.beta_2) ** 0.5
        rate = s.learning_rate_init * (1 - s.beta_2**self._step) ** 0.5 / (1 - s.beta_1**self._step)
        np.sqrt(self._second, out=change)
        change += s.epsilon / unit
        np.divide(self._first, change, out=change)
        change *= rate * (1 - s.beta_1) / unit
        networks.flat -= change

    def flush(self, networks: Networks) -> None:
        """Set what has died away to zero.

        The weights of a unit that no row activates decay for ever. In single precision they and their moments become
        subnormal numbers after some 40 epochs, and with those a processor computes ten times slower.
        """
        networks.flat[np.abs(networks.flat) < NEGLIGIBLE] = 0
        for moment in (self._first, self._second):
            moment[np.abs(moment) < NEGLIGIBLE**2] = 0

    def keep(self, wanted: Array) -> None:
        """Go on with some of the networks."""
        self._first, self._second, self._change = (a[wanted] for a in (self._first, self._second, self._change))


class Stopping:
    """A network stops when for more than `n_iter_no_change` epochs its loss has not fallen `tol` below its best."""

    def __init__(self, networks: int, settings: Settings) -> None:
        self._settings = settings
        self._best = np.full(networks, np.inf)
        self._stale = np.zeros(networks, int)

    def stopped(self, loss: Array) -> Array:
        """Take note of an epoch's losses; return which networks stop."""
        self._stale = np.where(loss > self._best - self._settings.tol, self._stale + 1, 0)
        self._best = np.minimum(self._best, loss)
        return self._stale > self._settings.n_iter_no_change

    def keep(self, wanted: Array) -> None:
        """Go on with some of the networks."""
        self._best, self._stale = self._best[wanted], self._stale[wanted]


class Trainer:
    """Networks in training, epoch by epoch."""

    def __init__(self, groups: Sequence[Group], start: Networks, settings: Settings) -> None:
        self._settings = settings
        self._adam = Adam(start, settings)
        self._resume(groups, start.keep(np.arange(len(start.flat))))

    def _resume(self, groups: Sequence[Group], networks: Networks) -> None:
        self._groups, self.networks, self._gradient = groups, networks, networks.empty_like()
        n, most = len(groups[0].rows), self._settings.batch_size
        self._starts = range(0, n, most)
        self._sizes = [min(most, n - start) for start in self._starts]
        self._batches = {
            size: Batch(networks, self._gradient, groups, size, self._settings.alpha) for size in set(self._sizes)
        }

    def epoch(self) -> Array:
        """Go through the rows once, each group in its next order; return the (k,) mean losses that the batches met."""
        orders = [next(group.orders) for group in self._groups]
        labels = np.concatenate(
            [group.labels.take(order, axis=1) for group, order in zip(self._groups, orders, strict=True)]
        )
        squares = np.empty((len(self._starts), 2, len(labels)), labels.dtype)
        for start, size, parts in zip(self._starts, self._sizes, squares, strict=True):
            batch = slice(start, start + size)
            self._batches[size].differentiate([order[batch] for order in orders], labels[:, batch], parts)
            self._adam.update(self.networks, self._gradient)
        self._adam.flush(self.networks)
        of_residuals, of_weights = squares.astype(np.float64).swapaxes(0, 1)
        losses = 0.5 * (of_residuals + self._settings.alpha * of_weights)
        # One after the other: `sum` would group a single network's in another way than those of several.
        return losses.cumsum(axis=0)[-1] / labels.shape[1]

    def keep(self, wanted: Array) -> None:
        """Go on with some of the networks, and with the groups that have any."""
        self._adam.keep(wanted)
        ends = np.cumsum([len(group.labels) for group in self._groups])
        parts = zip(self._groups, np.split(wanted, ends[:-1]), strict=True)
        self._resume([group.keep(part) for group, part in parts if part.any()], self.networks.keep(wanted))


@dataclass(frozen=True)
class Training:
    """Trained networks, with the epochs (k,) that each took and its loss (k,) in the last of them."""

    networks: Networks
    epochs: Array
    loss: Array


def row_orders(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield a random order of n rows for every epoch."""
    while True:
        yield rng.permutation(n)


# Overflow is reported as the error that it is, not as a warning on the way.
@np.errstate(over="ignore", invalid="ignore")
def train_networks(
    samples: Sequence[Sample], start: Networks, orders: Sequence[Iterator[Array]], settings: Settings = DEFAULTS
) -> Training:
    """Train one network per label, each until its own loss has settled; those that have stopped cost nothing more.

    Parameters
    ----------
    samples : sequence of Sample
        Covariates (n, d) with label vectors, all of one n and d.
    start : Networks
        Initial parameters, sample by sample and label by label, left as they are. Their dtype is the one that is
        computed in.
    orders : sequence of iterators of integer arrays of length n
        The order of the rows in each epoch, for every sample.
    settings : Settings

    Returns
    -------
    Training
        Networks in the order of `start`.

    Raises
    ------
    ValueError
        If a loss is not finite.
    """
    groups = [Group.of(sample, order, start.flat.dtype) for sample, order in zip(samples, orders, strict=True)]
    names = np.array([label for sample in samples for label in range(sample.Y.shape[1])])
    k = len(start.flat)
    result = Training(start.empty_like(), np.zeros(k, int), np.zeros(k))
    trainer, stopping, running = Trainer(groups, start, settings), Stopping(k, settings), np.arange(k)
    for epoch in range(1, settings.max_iter + 1):
        loss = trainer.epoch()
        _check_finite(loss, names[running], start.flat.dtype)
        done = stopping.stopped(loss) | (epoch == settings.max_iter)
        if done.any():
            stopped, running = running[done], running[~done]
            result.networks.flat[stopped] = trainer.networks.flat[done]
            result.epochs[stopped], result.loss[stopped] = epoch, loss[done]
            if not len(running):
                break
            trainer.keep(~done)
            stopping.keep(~done)
    return result


def _check_finite(loss: Array, labels: Array, dtype: np.dtype) -> None:
    if not np.isfinite(loss).all():
        label = labels[~np.isfinite(loss)][0]
        raise ValueError(
            f"The training loss of the network for label {label} is not finite in {dtype}: covariates or labels are "
            "too large, or not finite themselves. Scale them, or train with scikit-learn, which computes in float64."
        )
