"""Post-hoc explanation of graph models: one contract, all methods. Importing it registers them."""

from vgib.explain import (  # noqa: F401
    gib,
    gnnexplainer,
    gradcam,
    graphmask,
    gsat,
    ig,
    occlusion,
    pgexplainer,
    single,
    subgraphx,
    vgib,
)
