"""How a user's model is called: everything that its ``forward`` names, by keyword."""

from inspect import Parameter, signature
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Batch as PygBatch
from torch_geometric.nn import MessagePassing

from vgib.data.packed import Batch
from vgib.errors import InputError

ROLES = ("x", "edge_index", "batch")
"""What every graph has; arguments of unknown names get them in this order."""

BATCH_NAMES = ("batch", "batch_index", "batch_idx", "batch_vector", "batch_vec")
"""How models call the vector that says which graph each node belongs to."""

ANY = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Forward:
    """The arguments of one model's ``forward``.

    A model takes tensors by name (``x``, ``edge_index``, ``batch``, ``edge_attr``, ``pos`` and
    whatever else the graphs carry), or one PyG ``Data`` that holds them all.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model, self.name = model, type(model).__name__
        self.parameters = _parameters(model)
        names = [parameter.name for parameter in self.parameters]
        needed = [p for p in self.parameters if p.default is p.empty and p.kind not in ANY]
        self.takes_data = (
            len(needed) == 1
            and needed[0].name not in ROLES
            and not {"x", "edge_index"} & set(names)
            and any(isinstance(module, MessagePassing) for module in model.modules())
        )
        takes_any = any(p.kind in ANY for p in self.parameters)
        self.tells_graphs_apart = (
            self.takes_data
            or takes_any
            or any(name in BATCH_NAMES for name in names)
            or len([p for p in needed if p.name not in ROLES]) > len({"x", "edge_index"} - {*names})
        )
        if not (self.takes_data or takes_any or len(names) > 1):
            raise InputError(
                f"{self.name}.forward must take (x, edge_index, batch) or one Data, not "
                f"({', '.join(names)}); wrap it in a module that does"
            )

    def used(self, batch: Batch) -> list[str]:
        """The names of what the model takes besides ``x`` and ``edge_index``."""
        if self.takes_data:
            return []
        _, given = self.fill(batch.x, batch.adj.edge_index, batch)
        return [name for name in given if name not in ("x", "edge_index")]

    def fill(self, x: Tensor, edges: Any, batch: Batch) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for a batch, with these features and edges in the place of its own."""
        of_node, ptr = batch.graphs.batch, batch.graphs.ptr.long()
        known = batch.named | {"x": x, "edge_index": edges, "ptr": ptr}
        known |= dict.fromkeys(BATCH_NAMES, of_node)
        if self.takes_data:
            named = {name: value for name, value in known.items() if name not in BATCH_NAMES}
            return (PygBatch(batch=of_node, **named),), {}
        known |= dict.fromkeys(("batch_size", "num_graphs"), batch.num_graphs)
        names = [p.name for p in self.parameters]
        free = [
            role
            for role in ROLES
            if role not in names and not (role == "batch" and set(BATCH_NAMES) & set(names))
        ]
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.kind is Parameter.VAR_POSITIONAL:
                args += [known[role] for role in free]
                free = []
            elif parameter.kind is Parameter.VAR_KEYWORD:
                kwargs |= {role: known[role] for role in free}
            elif parameter.name in known:
                kwargs[parameter.name] = known[parameter.name]
            elif parameter.default is Parameter.empty:
                if not free:
                    raise InputError(
                        f"{self.name}.forward needs {parameter.name!r}, which the graphs do not "
                        f"carry; set data.{parameter.name} on every graph, or give it a default"
                    )
                kwargs[parameter.name] = known[free.pop(0)]
            if parameter.kind is Parameter.POSITIONAL_ONLY and parameter.name in kwargs:
                args.append(kwargs.pop(parameter.name))
        return tuple(args), kwargs

    def __call__(self, x: Tensor, edges: Any, batch: Batch) -> Any:
        """What the model gives; whatever it stumbles over is told by name."""
        args, kwargs = self.fill(x, edges, batch)
        try:
            return self.model(*args, **kwargs)
        except (InputError, KeyboardInterrupt):
            raise
        except Exception as error:
            given = ["a PyG Batch"] if self.takes_data else [*ROLES[: len(args)], *kwargs]
            raise InputError(
                f"{self.name} failed on the graphs, called with {', '.join(given)}: "
                f"{type(error).__name__}: {error}"
            ) from error


def unwrapped(model: nn.Module) -> nn.Module:
    """The model inside ``torch.compile`` or ``DataParallel``."""
    inner = getattr(model, "_orig_mod", None)
    if inner is None and isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        inner = model.module
    return unwrapped(inner) if isinstance(inner, nn.Module) else model


def _parameters(model: nn.Module) -> list[Parameter]:
    told = getattr(getattr(model, "signature", None), "param_dict", None)
    if isinstance(told, dict):  # torch_geometric.nn.Sequential names them in words
        return [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in told]
    try:
        return list(signature(model.forward).parameters.values())
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the arguments of {type(model).__name__}.forward cannot be read ({error}); explain "
            "the Python module that it was made from"
        ) from None
