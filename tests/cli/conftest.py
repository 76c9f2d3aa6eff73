"""The command line within the test's own process, and a bundle, as the tests of `systems` have them."""

from systems.conftest import bundle_folder, call, tiny_bundle

__all__ = ["bundle_folder", "call", "tiny_bundle"]
