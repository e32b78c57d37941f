"""MissForest written out, with a learner that leaves nothing to chance, for comparison."""

import numpy as np


def smooth(features, target, new):
    """Ridge regression, its predictions within the range of the target, as those of a forest are."""
    centre, mean = features.mean(axis=0), target.mean()
    gram = (features - centre).T @ (features - centre) + np.eye(features.shape[1])
    slope = np.linalg.solve(gram, (features - centre).T @ (target - mean))
    return np.clip(mean + (new - centre) @ slope, target.min(), target.max())


def classify(features, target, new):
    """The class whose number is nearest to the regression."""
    classes = np.unique(target)
    return classes[np.abs(smooth(features, target, new)[:, None] - classes).argmin(axis=1)]


def first_guesses(X, missing, categorical):
    """Means, or most frequent values, of what is observed."""
    guesses = np.empty(X.shape[1])
    for column, lost in enumerate(missing.T):
        values, counts = np.unique(X[~lost, column], return_counts=True)
        guesses[column] = values[counts.argmax()] if categorical[column] else X[~lost, column].mean()
    return guesses


def sweep(matrix, missing, categorical):
    """Impute each column in turn, the least incomplete first."""
    matrix = matrix.copy()
    for column in np.argsort(missing.sum(axis=0), kind="stable"):
        lost = missing[:, column]
        if lost.any():
            others = np.delete(matrix, column, axis=1)
            learn = classify if categorical[column] else smooth
            matrix[lost, column] = learn(others[~lost], matrix[~lost, column], others[lost])
    return matrix


def iterates(X, missing, categorical, max_iter):
    """All matrices up to the last sweep: the first that moves no less than the one before, or the `max_iter`-th."""
    matrices = [np.where(missing, first_guesses(X, missing, categorical), X)]
    moves = [(np.inf, np.inf)]
    while len(matrices) <= max_iter:
        old, new = matrices[-1], sweep(matrices[-1], missing, categorical)
        numeric, size = ((new - old)[:, ~categorical] ** 2).sum(), (new[:, ~categorical] ** 2).sum()
        changed = (new != old)[:, categorical].sum() / max(1, missing[:, categorical].sum())
        matrices.append(new)
        moves.append((numeric / size if size else 0.0, changed))
        if moves[-1][0] >= moves[-2][0] and moves[-1][1] >= moves[-2][1]:
            break
    return matrices


def holed_matrix(seed, n, d, n_categorical, marker):
    """Correlated columns, the first of them categories, with no two that lost as many values; and where these were."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d)) + 1
    X[:, :n_categorical] = np.digitize(X[:, :n_categorical], [0, 1]) + 1
    n_lost = rng.permutation(n // 2 + 1)[:d]
    missing = np.column_stack([rng.permutation(n) < count for count in n_lost])
    return np.where(missing, marker, X), missing
