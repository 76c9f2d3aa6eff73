"""Sources that are numbers: the embedding of patches is a convolution, and positions of another grid."""

import torch

from openwork.nn.features import FeatureEmbedding, positions_of_grid
from openwork.signals.patches import cut


def test_patches_and_a_linear_map_are_a_convolution() -> None:
    """Dosovitskiy et al. 2021, section 3.1: the convolution's kernel and step are as large as a patch."""
    generator = torch.Generator().manual_seed(1)
    picture = torch.randint(0, 256, (6, 9, 3), generator=generator, dtype=torch.uint8)
    convolution = torch.nn.Conv2d(3, 5, kernel_size=3, stride=3)
    embedding = FeatureEmbedding(27, 5)
    with torch.no_grad():
        embedding.projection.weight.copy_(convolution.weight.flatten(1))
        assert convolution.bias is not None
        embedding.projection.bias.copy_(convolution.bias)
    patches = torch.from_numpy(cut(picture.numpy(), 3))[None].float()
    found = embedding.after_start(patches)
    expected = convolution(picture.permute(2, 0, 1)[None].float()).flatten(2).transpose(1, 2)
    assert found.shape == (1, 1 + 2 * 3, 5)
    torch.testing.assert_close(found[:, 1:], expected, rtol=1e-5, atol=1e-3)
    assert torch.equal(found[0, 0], embedding.start)


def test_positions_of_the_same_grid_stay() -> None:
    table = torch.randn(7, 4)
    torch.testing.assert_close(positions_of_grid(table, (2, 3), (2, 3)), table)


def test_positions_of_another_grid_lie_between_their_neighbours() -> None:
    """A table that grows evenly from row to row and column to column grows evenly in the middle of a finer grid."""
    rows, columns = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    table = torch.cat([torch.tensor([[99.0, -99.0]]), torch.stack([rows, columns], dim=-1).flatten(0, 1)])
    found = positions_of_grid(table, (8, 8), (16, 8))
    assert found.shape == (129, 2) and found[0].tolist() == [99.0, -99.0]
    near = {"rtol": 0.0, "atol": 0.05}  # the cubic of torch bends an even slope by so much
    middle = found[1:].unflatten(0, (16, 8))[4:12, 2:6]
    torch.testing.assert_close(middle[..., 0], ((torch.arange(4, 12) - 0.5) / 2)[:, None].expand(-1, 4), **near)
    torch.testing.assert_close(middle[..., 1], torch.arange(2.0, 6.0).expand(8, -1), **near)
