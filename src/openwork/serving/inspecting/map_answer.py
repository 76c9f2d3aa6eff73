"""What a worker answers to /v1/map. No HTTP here."""

from collections.abc import Mapping
from typing import Any

from openwork.bundles.bundle import Bundle


def map_answer(bundle: Bundle, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The map of the bundle, or of the preset that was asked for, as the page's content."""
    from openwork.cost.model_map.family import FAMILY, preset_map
    from openwork.cost.model_map.maps import MapPages, map_of

    preset = asked["map"]
    made = (
        map_of(asked["bundle"], bundle.settings.model, bundle.tokenizers.sizes)
        if preset is None
        else preset_map(preset)
    )
    return MapPages().content([made], FAMILY)
