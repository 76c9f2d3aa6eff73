"""Every study, in one table, and how one is run."""

from collections.abc import Sequence

from openwork.base.config import Layer, Settings, apply_assignments, build
from openwork.base.errors import UsageError
from openwork.inspection.studies import depth, layers, order, recurrence, rotation, scale
from openwork.inspection.studies.study import Study

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY for module in (recurrence, depth, scale, order, rotation, layers)
}


def find_study(name: str) -> Study:
    """The study of that name; UsageError if there is none."""
    if name not in STUDIES:
        raise UsageError(f"no study is named {name}", hint=f"there are: {', '.join(STUDIES)}")
    return STUDIES[name]


def sizes_of(study: Study, assignments: Sequence[str]) -> Settings:
    """Its sizes, with assignments such as `steps=50` laid over the defaults; ConfigError for those it does not have."""
    layer = apply_assignments(Layer(), assignments)
    return build(study.settings, layer.mapping, layer.origins)
