"""Networks of known shape with random weights, for the recipes: what they compute takes as long as the trained ones.

Shapes: BERT base (Devlin et al. 2018, table in section 3), ResNet-50 (He et al. 2015, table 1), GPT-2 small cut to
six layers (Radford et al. 2019), MobileNet v2 (Sandler et al. 2018, table 2). No hub and no torchvision is needed.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def bert_base() -> "nn.Module":
    """Return a BERT base encoder: 12 layers, 768 wide, 12 heads; takes token ids (batch, length) int64."""
    return _transformer(layers=12, width=768, heads=12, vocabulary=30_522, positions=512, causal=False)


def small_gpt() -> "nn.Module":
    """Return a 6-layer GPT, 768 wide, 12 heads, with logits over the vocabulary; takes token ids (batch, length)."""
    return _transformer(layers=6, width=768, heads=12, vocabulary=50_257, positions=1024, causal=True)


def tiny_transformer() -> "nn.Module":
    """Return a 2-layer encoder, 64 wide, 4 heads: small enough for a test."""
    return _transformer(layers=2, width=64, heads=4, vocabulary=1000, positions=128, causal=False)


def _transformer(
    *, layers: int, width: int, heads: int, vocabulary: int, positions: int, causal: bool
) -> "nn.Module":
    import torch
    from torch import nn

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.heads = heads
            self.mix = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.up = nn.Linear(width, 4 * width)
            self.down = nn.Linear(4 * width, width)
            self.activation = nn.GELU()
            self.norm_attention = nn.LayerNorm(width)
            self.norm_feed = nn.LayerNorm(width)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            batch, length, size = x.shape[0], x.shape[1], x.shape[2]
            mixed = (
                self.mix(x).reshape(batch, length, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
            )
            query, key, value = mixed[0], mixed[1], mixed[2]
            scores = torch.matmul(query, key.transpose(-1, -2)) * ((size // self.heads) ** -0.5) + mask
            seen = torch.matmul(torch.softmax(scores, dim=-1), value)
            x = self.norm_attention(x + self.out(seen.permute(0, 2, 1, 3).reshape(batch, length, size)))
            return self.norm_feed(x + self.down(self.activation(self.up(x))))

    class Transformer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(vocabulary, width)
            self.places = nn.Embedding(positions, width)
            self.norm = nn.LayerNorm(width)
            self.layers = nn.ModuleList([Layer() for _ in range(layers)])
            self.head = nn.Linear(width, vocabulary if causal else width)
            blocked = torch.full((positions, positions), -1e9).triu(1) if causal else torch.zeros(1, 1)
            self.register_buffer("mask", blocked)
            self.causal = causal

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            length = ids.shape[1]
            x = self.norm(self.words(ids) + self.places(torch.arange(length, device=ids.device)))
            mask = self.mask[:length, :length] if self.causal else self.mask
            for layer in self.layers:
                x = layer(x, mask)
            return self.head(x if self.causal else x[:, 0])

    return Transformer()


def resnet50() -> "nn.Module":
    """Return a ResNet-50 for 1000 classes; takes images (batch, 3, 224, 224) float32."""
    from torch import nn

    stages: list[nn.Module] = [
        _convolution(3, 64, kernel=7, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    entering = 64
    for index, (inner, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if index and not block else 1
            stages.append(_bottleneck(entering, inner, stride))
            entering = inner * 4
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(2048, 1000))


def mobilenet_v2() -> "nn.Module":
    """Return a MobileNet v2 (width 1.0) for 1000 classes; takes images (batch, 3, 224, 224) float32."""
    from torch import nn

    stages: list[nn.Module] = [_convolution(3, 32, kernel=3, stride=2), nn.ReLU6()]
    entering = 32
    table = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, leaving, blocks, first_stride in table:
        for block in range(blocks):
            stages.append(_inverted(entering, leaving, expansion, 1 if block else first_stride))
            entering = leaving
    head = (
        _convolution(320, 1280),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(1),
        nn.Linear(1280, 1000),
    )
    return nn.Sequential(*stages, *head)


def tiny_cnn() -> "nn.Module":
    """Return a three-layer convolutional network: small enough for a test; takes (batch, 3, 32, 32) float32."""
    from torch import nn

    return nn.Sequential(
        _convolution(3, 16, kernel=3, stride=2),
        nn.ReLU(),
        _bottleneck(16, 8, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(1),
        nn.Linear(32, 10),
    )


def _convolution(
    entering: int, leaving: int, *, kernel: int = 1, stride: int = 1, groups: int = 1
) -> "nn.Module":
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(entering, leaving, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(leaving),
    )


def _residual(inner: "nn.Module", beside: "nn.Module", after: "nn.Module") -> "nn.Module":
    import torch
    from torch import nn

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.beside, self.after = inner, beside, after

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.after(self.inner(x) + self.beside(x))

    return Residual()


def _bottleneck(entering: int, inner: int, stride: int) -> "nn.Module":
    from torch import nn

    leaving = inner * 4
    same = entering == leaving and stride == 1
    path = nn.Sequential(
        _convolution(entering, inner),
        nn.ReLU(),
        _convolution(inner, inner, kernel=3, stride=stride),
        nn.ReLU(),
        _convolution(inner, leaving),
    )
    return _residual(
        path, nn.Identity() if same else _convolution(entering, leaving, stride=stride), nn.ReLU()
    )


def _inverted(entering: int, leaving: int, expansion: int, stride: int) -> "nn.Module":
    from torch import nn

    inner = entering * expansion
    widen = [] if expansion == 1 else [_convolution(entering, inner), nn.ReLU6()]
    path = nn.Sequential(
        *widen,
        _convolution(inner, inner, kernel=3, stride=stride, groups=inner),
        nn.ReLU6(),
        _convolution(inner, leaving),
    )
    return _residual(path, nn.Identity(), nn.Identity()) if entering == leaving and stride == 1 else path
