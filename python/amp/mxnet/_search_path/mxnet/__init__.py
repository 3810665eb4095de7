"""What `import mxnet` finds in a process that a program of `amp.mxnet.install` has started: `amp.mxnet` itself."""

import os
import sys

del sys.modules[__name__]  # the name is taken by `install`

from amp.mxnet import install  # noqa: E402

install(version=os.environ.get("AMP_MXNET_VERSION", "1.9.1"))
