"""A bundle whose file keeps its weights in fewer bits; what is read from it is what it computes with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

from openwork import __version__
from openwork.base.errors import UsageError
from openwork.base.outputs import BUNDLE, check_folder
from openwork.bundles.bundle import load_bundle, write_bundle
from openwork.bundles.folder import WEIGHTS, whole_bundle
from openwork.bundles.quantised import StoredType, restored, stored
from openwork.inference.golden import make_golden
from openwork.models.weights import model_weights, restore_weights


def quantise_bundle(
    folder: Path, kind: StoredType, out: Path, report: Callable[[str], None], *, overwrite: bool = False
) -> None:
    """Writes the bundle in `folder` again, its matrices in another type; says how large it is and what it changes.

    Its examples are what it translates itself. `overwrite` allows a folder that holds another bundle.
    """
    if kind not in get_args(StoredType):
        raise UsageError(f"unknown number type {kind!r}", hint="use bfloat16, int8 or int4", code="U181")
    check_folder(out, BUNDLE, [folder], overwrite=overwrite)
    bundle = load_bundle(folder)
    before = model_weights(bundle.model)
    rounded = restored(stored(before, kind), str(out))
    size = sum(float(weight.float().square().sum()) for weight in before.values())
    error = sum(float((weight.float() - rounded[name].float()).square().sum()) for name, weight in before.items())
    restore_weights(bundle.model, rounded, str(out))
    changed = make_golden(bundle, [one.source for one in bundle.golden])
    card = f"{bundle.card.rstrip()}\n\n## Weights in {kind}\nRounded by openwork {__version__}; not evaluated since.\n"
    write_bundle(out, replace(changed, card=card), kind)
    sizes = [(whole_bundle(one) / WEIGHTS).stat().st_size for one in (folder, out)]
    report(f"weights: {sizes[0] / 1e6:.1f} MB -> {sizes[1] / 1e6:.1f} MB, {sizes[0] / sizes[1]:.1f} times smaller")
    report(
        f"rounding changes the weights by {100 * (error / (size or 1.0)) ** 0.5:.2f} % of their size (root mean square)"
    )
    if bundle.golden:
        same = sum(one.translation == now.translation for one, now in zip(bundle.golden, changed.golden, strict=True))
        report(f"examples with the same translation: {same} of {len(bundle.golden)}")
