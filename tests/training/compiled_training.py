"""A program: trains the miniature compiled and as written, and prints what differs, as JSON.

    python compiled_training.py BACKEND padded|packed

It is no test, but is run by tests: their checks of shapes stand in every function, and would be compiled as well.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.models.weights import model_weights
from openwork.training.batches.batch import BatchStream, to_tensors
from openwork.training.batches.packing import pack
from openwork.training.computing.choice import compiled_updates
from openwork.training.progress import Progress
from training.tiny import CPU, MODEL, SETTINGS, make_store, make_training

LAYOUTS = {"padded": to_tensors, "packed": pack}


def main(backend: str, layout: str) -> None:
    store = make_store(Path(tempfile.mkdtemp()) / "store")
    plan = BatchPlan.of(store, BatchSettings(tokens=40), SETTINGS.seed)
    stream = BatchStream(store, plan, CPU, LAYOUTS[layout])
    settings = MODEL.model_copy(update={"dropout": 0.0, "width": 16, "encoder_layers": 3})
    written, compiled = (make_training(store, SETTINGS, settings) for _ in range(2))
    names, said, progress = list(model_weights(written.model)), [], Progress()
    shapes, losses, expected = set(), [], []
    with compiled_updates(compiled.updater, stream, progress, said.append, backend):
        for step in range(1, 9):
            batch = stream.next(progress)
            shapes.add(batch.target_input.shape if layout == "padded" else batch.target_tokens)  # type: ignore[attr-defined]
            losses.append(compiled.updater.update([batch], step).loss)
            expected.append(written.updater.update([batch], step).loss)
        inside = list(model_weights(compiled.model))
        compiled.model.eval()
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        compiled.model(torch.full((1, 2), 5), torch.tensor([2]), torch.full((1, 2), 5))
    weights = zip(model_weights(written.model).values(), model_weights(compiled.model).values(), strict=True)
    report = {
        "said": said,
        "graphs": graphs,
        "graphs of a validation": torch._dynamo.utils.counters["stats"]["unique_graphs"] - graphs,
        "shapes": len(shapes),
        "losses": [losses, expected],
        "same names": inside == names == list(model_weights(compiled.model)),
        "lent for good": sum("forward" in vars(module) for module in compiled.model.modules()),
        "difference": max(float((one - other).detach().abs().max()) for one, other in weights),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
