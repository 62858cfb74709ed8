"""Post-hoc explanations as a unit of work: a chunk of molecules in, a table of explanations out."""

from dataclasses import dataclass
from functools import lru_cache

from vgib.chem.batch import Readings
from vgib.chem.standardize import Standard
from vgib.config import DEFAULT_EXPLAINER
from vgib.data.loading import load_graphs
from vgib.errors import InputError
from vgib.explain.explainer import Explainer, explainers
from vgib.explain.many import score
from vgib.model.answer import Answer
from vgib.model.recognizer import SubgraphRecognizer
from vgib.stream.work import Recognize

BATCH_SIZE = 256


@dataclass(frozen=True)
class Explain(Recognize):
    """Explains the predictions for a chunk: scores and parts come from a post-hoc method.

    The tables are those of :class:`~vgib.stream.work.Recognize`. A method that learns does so
    once in each process, from the same graphs with the same seed, and so to the same explainer.

    Args:
        method: The name of an explainer.
        fit_on: Graphs that the method learns from, as :func:`vgib.data.loading.load_graphs` takes
            them; needed by methods that learn.
        seed: Of the method.
    """

    single: bool = True
    method: str = DEFAULT_EXPLAINER
    fit_on: str | None = None
    seed: int = 0

    def check(self) -> None:
        """Refuses at once what the first chunk would stumble over.

        Raises:
            InputError: the method has nothing to learn from.
        """
        super().check()
        if explainers.get(self.method).needs_fit and self.fit_on is None:
            raise InputError(
                f"{self.method!r} learns from graphs before it explains; name them with fit_on"
            )

    def _answer(self, readings: Readings) -> Answer:
        answer = super()._answer(readings)
        explainer = _fitted(self.recognizer, self.method, self.fit_on, self.seed)
        scores = score(explainer, self.recognizer.net_, answer.graphs, batch_size=BATCH_SIZE)
        return answer.with_scores(scores)


@lru_cache(maxsize=8)
def _fitted(model: SubgraphRecognizer, method: str, fit_on: str | None, seed: int) -> Explainer:
    explainer = explainers.make(method, seed=seed)
    if explainer.needs_fit:
        assert fit_on is not None
        standard = Standard.named(model.card_.standard)
        features = str(model.card_.features)
        graphs = load_graphs(fit_on, features=features, labeled=False, standard=standard)
        explainer.fit(model.net_, model.pack(graphs))
    return explainer
