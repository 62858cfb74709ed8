"""Post-hoc explanation of graph models: one contract, all methods. Importing it registers them."""

from vgib.explain import adapter, truth  # noqa: F401
from vgib.explain.methods import (  # noqa: F401
    fidelity_each,
    fidelity_gate,
    gnnexplainer,
    gradcam,
    graphmask,
    ig,
    occlusion,
    pgexplainer,
    subgraphx,
)
