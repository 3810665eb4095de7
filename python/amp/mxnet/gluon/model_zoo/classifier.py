"""What the networks that programs build themselves have in common."""

from ..block import HybridBlock


class Classifier(HybridBlock):
    """A network with the parts `features` and `output`."""

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, 3, H, W)."""
        return self.output(self.features(x))
