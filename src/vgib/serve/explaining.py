"""Post-hoc methods on the models of the service; what has to learn learns once, from drugs."""

import inspect
from threading import Lock

from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Explainer, explainers
from vgib.explain.many import score
from vgib.serve.shelf import ModelShelf


class Explaining:
    """The methods, each fitted once for each model that it is asked about.

    Args:
        shelf: The models.
    """

    def __init__(self, shelf: ModelShelf) -> None:
        self.shelf = shelf
        self._fitted: dict[tuple[str, str], Explainer] = {}
        self._lock = Lock()  # explanations draw from torch's one stream of random numbers

    def scores(self, name: str, method: str, graphs: PackedGraphs) -> list[float]:
        """The atom scores of a molecule, by a method, for the prediction of a model.

        Raises:
            UnknownNameError: there is no such method or model.
        """
        net = self.shelf.get(name).net_
        explainers.get(method)
        with self._lock:
            explainer = self._fitted.get((name, method))
            if explainer is None:
                explainer = explainers.make(method)
                if explainer.needs_fit:
                    explainer.fit(net, self._drugs(name))
                self._fitted[name, method] = explainer
            scores: list[float] = score(explainer, net, graphs).tolist()
        return scores

    def _drugs(self, name: str) -> PackedGraphs:
        """What methods learn from: the drugs that come with the package."""
        features = self.shelf.card(name).features or "rich"
        return from_smiles(load_drugs()["smiles"].tolist(), features=features).graphs


def methods() -> list[dict[str, object]]:
    """Each method with the first line of its documentation."""
    return [
        {
            "name": name,
            "about": (inspect.getdoc(explainers.get(name)) or "").split("\n")[0],
            "learns": explainers.get(name).needs_fit,
        }
        for name in explainers.names()
    ]
