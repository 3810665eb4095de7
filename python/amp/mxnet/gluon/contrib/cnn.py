"""What MXNet 1.x keeps in `gluon.contrib.cnn`: deformable convolutions."""

from ..nn.deformable import DeformableConvolution, ModulatedDeformableConvolution

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
