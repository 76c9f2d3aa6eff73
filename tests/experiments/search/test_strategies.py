"""The grid, and the search in the documents' order: which trials they propose, worked by hand."""

from collections.abc import Callable

from openwork.experiments.search.spaces import Value
from openwork.experiments.search.strategies import Grid, Guided, Params, Strategy, Tried

SPACE = {"training.warmup": (10, 20), "model.width": (1, 2, 3), "model.heads": (1, 2)}


def all_proposals(strategy: Strategy, figure: Callable[[Params], float | None]) -> list[tuple[Value, ...]]:
    tried: list[Tried] = []
    while (params := strategy.propose(tried)) is not None:
        tried.append(Tried(params, figure(params)))
    assert strategy.is_exhausted(tried)
    return [tuple(one.params[key] for key in ("model.width", "model.heads", "training.warmup")) for one in tried]


def test_the_documents_grid_of_eight():
    grid = Grid({"model.width": (256, 512), "model.heads": (4, 8), "model.dropout": (0.1, 0.2)})
    tried: list[Tried] = []
    while (params := grid.propose(tried)) is not None:
        tried.append(Tried(params))
    assert [tuple(one.params.values()) for one in tried] == [
        (256, 4, 0.1), (256, 4, 0.2), (256, 8, 0.1), (256, 8, 0.2),
        (512, 4, 0.1), (512, 4, 0.2), (512, 8, 0.1), (512, 8, 0.2),
    ]  # fmt: skip


def test_one_setting_after_another_keeps_the_best_so_far():
    guided = Guided(SPACE, {"model.width": 2, "model.heads": 1, "training.warmup": 20})
    best = {"model.width": 3, "model.heads": 1, "training.warmup": 10}
    proposals = all_proposals(guided, lambda params: float(sum(params[key] == best[key] for key in best)))
    assert proposals == [(2, 1, 20), (1, 1, 20), (3, 1, 20), (3, 2, 20), (3, 1, 10)]


def test_it_begins_at_the_first_values_where_the_run_has_others():
    assert Guided(SPACE, {"model.width": 9, "model.heads": 2}).start == {
        "model.width": 1, "model.heads": 2, "training.warmup": 10,
    }  # fmt: skip


def test_a_failed_trial_is_never_the_best():
    guided = Guided(SPACE, {"model.width": 1, "model.heads": 1, "training.warmup": 10})
    proposals = all_proposals(guided, lambda params: None if params["model.width"] == 1 else -5.0)
    assert proposals == [(1, 1, 10), (2, 1, 10), (3, 1, 10), (2, 2, 10), (2, 1, 20)]


def test_values_of_one_setting_are_tried_at_once_and_the_next_setting_waits_for_them():
    guided = Guided(SPACE, {"model.width": 1, "model.heads": 1, "training.warmup": 10})
    tried = [Tried({"model.width": 1, "model.heads": 1, "training.warmup": 10}, None, is_over=False)]
    second = guided.propose(tried)
    assert second is not None and second["model.width"] == 2
    tried += [Tried({**second, "model.width": width}, None, is_over=False) for width in (2, 3)]
    assert guided.propose(tried) is None and not guided.is_exhausted(tried)
