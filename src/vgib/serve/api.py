"""The routes: one for each verb of the library."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from vgib import __version__
from vgib.chem.draw import RAMP
from vgib.chem.draw import draw as draw_molecule
from vgib.chem.shapes import as_hex
from vgib.chem.sketch import sketch
from vgib.data.records import Format
from vgib.model.results import DECIMALS
from vgib.select.policy import BY_HELP, RULE_HELP, Selection
from vgib.serve import faults, recognition, schemas, site, uploads
from vgib.serve.batching import Batcher
from vgib.serve.explaining import Explaining, methods
from vgib.serve.inspection import inspect as inspect_molecule
from vgib.serve.inspection import keep_atoms, quantity, sizes_of
from vgib.serve.limits import LOCAL, BodyLimit, Limits, TooMuchError, within
from vgib.serve.recognition import Question, Reply
from vgib.serve.shelf import ModelShelf
from vgib.stream.ledger import Ledger

T = TypeVar("T")
PREFIX = "/api/v1"
PREDICTION = "prediction"
ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.ErrorAnswer, "description": "There is nothing of that name."},
    413: {"model": schemas.ErrorAnswer, "description": "More than the service takes."},
    422: {"model": schemas.ErrorAnswer, "description": "What is asked cannot be used."},
    503: {"model": schemas.ErrorAnswer, "description": "Not now: too busy, or too slow."},
}


class Service:
    """What the routes share: the models, the limits, and the threads that compute.

    Args:
        shelf: The models.
        limits: How much one request may ask for.
    """

    def __init__(self, shelf: ModelShelf, limits: Limits) -> None:
        self.shelf, self.limits = shelf, limits
        self.explaining = Explaining(shelf)
        self.batcher: Batcher[Question, Reply] = Batcher(
            partial(recognition.reply, shelf),
            weight=lambda question: len(question.molecules),
            most=limits.batch,
            waiting=limits.waiting,
        )
        self.quick = ThreadPoolExecutor(1, thread_name_prefix="quick")
        self.slow = ThreadPoolExecutor(1, thread_name_prefix="slow")

    def model(self, name: str | None) -> str:
        """The name of a model; the default when none is given.

        Raises:
            UnknownNameError: there is none of that name.
        """
        chosen = self.shelf.default if name is None else name
        self.shelf.get(chosen)
        return chosen

    async def run(self, work: Callable[[], T], *, is_slow: bool = False) -> T:
        """What a function gives, computed in a thread, if it comes in time."""
        pool = self.slow if is_slow else self.quick
        seconds = self.limits.patience if is_slow else self.limits.seconds
        return await within(seconds, asyncio.get_running_loop().run_in_executor(pool, work))

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Starts and ends with the server."""
        self.batcher.start()
        yield
        await self.batcher.stop()
        for pool in (self.quick, self.slow):
            pool.shutdown(wait=False, cancel_futures=True)


def make_app(
    shelf: ModelShelf,
    limits: Limits | None = None,
    *,
    editor: Path | None = None,
    hosts: tuple[str, ...] | None = LOCAL,
) -> FastAPI:
    """The service as an ASGI application.

    Args:
        shelf: The models that it offers.
        limits: How much one request may ask for.
        editor: The folder of the drawing editor, if there is one.
        hosts: Names under which it may be reached, so that no other page in the browser can make
            itself one of them; ``None`` for any.
    """
    service = Service(shelf, limits or Limits())
    app = FastAPI(
        title="vgib",
        summary="Find in each molecule the part that carries its property.",
        version=__version__,
        lifespan=service.lifespan,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.include_router(_about(service, editor is not None))
    app.include_router(_one(service))
    app.include_router(_many(service))
    site.install(app, editor)
    faults.install(app)
    app.add_middleware(BodyLimit, most=service.limits.body)
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.add_middleware(site.Headers)
    app.state.service = service
    return app


def _about(service: Service, has_editor: bool) -> APIRouter:
    """Questions about the service itself."""
    routes = APIRouter(prefix=PREFIX, tags=["the service"])
    batcher, shelf = service.batcher, service.shelf

    @routes.get("/health")
    async def health() -> schemas.HealthAnswer:
        """Say that the service is there, and what it offers."""
        return schemas.HealthAnswer(
            status="ok",
            version=__version__,
            models=shelf.names(),
            default=shelf.default,
            editor=has_editor,
            mean_batch=sum(batcher.sizes) / max(1, len(batcher.sizes)),
            limits=asdict(service.limits),
        )

    @routes.get("/models")
    async def models() -> schemas.ModelsAnswer:
        """List the models and what each says about itself."""
        return schemas.ModelsAnswer(models=[_described(shelf, name) for name in shelf.names()])

    @routes.get("/methods", name="methods")
    async def list_methods() -> schemas.MethodsAnswer:
        """List the methods that /explain knows."""
        return schemas.MethodsAnswer.model_validate({"methods": methods()})

    return routes


def _described(shelf: ModelShelf, name: str) -> schemas.ModelAnswer:
    card = shelf.card(name)
    own = {"name": name, "members": len(shelf.get(name).members())}
    kept = set(schemas.ModelAnswer.model_fields) - set(own)
    return schemas.ModelAnswer.model_validate(own | card.model_dump(include=kept))


def _one(service: Service) -> APIRouter:
    """Questions about one molecule."""
    routes = APIRouter(prefix=PREFIX, tags=["one molecule"], responses=ERRORS)
    shelf, most = service.shelf, service.limits.atoms

    @routes.post("/inspect", response_model=schemas.InspectAnswer)
    async def inspect(asked: schemas.InspectRequest) -> JSONResponse:
        """Prediction, scores, ranked parts of every size, random parts, and a drawing."""
        name = service.model(asked.model)

        def work() -> dict[str, Any]:
            model = shelf.get(name)
            molecule = inspect_molecule(asked.molecule, model, max_atoms=most)
            answer, own = molecule.answer, model.selection(None, asked.rule, asked.by)
            followed = quantity(answer)
            values = answer.values[:, 0, followed.column]
            sizes = sizes_of(answer, replace(own, n=asked.n), followed, with_stability=True)
            (recognized,) = answer.recognitions(own)
            stability = None if answer.members == 1 else float(answer.agreement(own)[0])
            row = recognized.to_json()
            return {
                "model": name,
                "smiles": molecule.smiles,
                "note": molecule.note,
                "quantity": followed.label,
                "prediction": row["prediction"],
                "stability": stability,
                "value": float(values.mean()),
                "spread": float(values.std()),
                "members": values.tolist(),
                "scores": row["scores"],
                "chosen": len(recognized.subgraphs[0].nodes),
                "sizes": [asdict(size) for size in sizes],
                "sketch": asdict(sketch(molecule.smiles)),
                "scale": [as_hex(color) for color in RAMP],
            }

        return JSONResponse(await service.run(work))

    @routes.post("/explain", response_model=schemas.ExplainAnswer)
    async def explain(asked: schemas.ExplainRequest) -> JSONResponse:
        """Atom scores by a post-hoc method, and the parts that follow from them."""
        name = service.model(asked.model)

        def work() -> dict[str, Any]:
            molecule = inspect_molecule(asked.molecule, shelf.get(name), max_atoms=most)
            scores = service.explaining.scores(name, asked.method, molecule.answer.graphs)
            answer = molecule.answer.with_scores(scores)
            selection = Selection.of(None, asked.rule, asked.by, asked.n)
            sizes = sizes_of(answer, selection, quantity(answer))
            return {
                "model": name,
                "method": asked.method,
                "smiles": molecule.smiles,
                "scores": [round(score, DECIMALS) for score in scores],
                "sizes": [asdict(size) for size in sizes],
            }

        return JSONResponse(await service.run(work, is_slow=True))

    @routes.post("/whatif", response_model=schemas.WhatIfAnswer)
    async def whatif(asked: schemas.WhatIfRequest) -> JSONResponse:
        """The prediction of what is left when only these atoms are kept."""
        name = service.model(asked.model)

        def work() -> dict[str, Any]:
            molecule = inspect_molecule(asked.molecule, shelf.get(name), max_atoms=most)
            followed = quantity(molecule.answer)
            kept = keep_atoms(molecule, asked.atoms, followed)
            own = {"model": name, "atoms": sorted(set(asked.atoms)), "quantity": followed.label}
            return own | kept._asdict()

        return JSONResponse(await service.run(work))

    @routes.post(
        "/draw",
        response_class=Response,
        responses={200: {"content": {"image/svg+xml": {}, "image/png": {}}}},
    )
    async def draw(asked: schemas.DrawRequest) -> Response:
        """A picture of a molecule with its scores and the chosen atoms."""

        def work() -> str | bytes:
            picture: str | bytes = draw_molecule(
                asked.molecule,
                asked.scores,
                asked.atoms,
                size=(asked.width, asked.height),
                legend=asked.legend,
                transparent=asked.transparent,
                format=asked.format,
            )
            return picture

        kind = {"svg": "image/svg+xml", "png": "image/png"}[asked.format]
        return Response(await service.run(work), media_type=kind)

    return routes


def _many(service: Service) -> APIRouter:
    """Questions about many molecules."""
    routes = APIRouter(prefix=PREFIX, tags=["many molecules"], responses=ERRORS)
    limits = service.limits

    @routes.post("/recognize", response_model=schemas.RecognizeAnswer)
    async def recognize(asked: schemas.RecognizeRequest) -> JSONResponse:
        """Predict, score and cut each molecule; simultaneous requests are computed together."""
        name = service.model(asked.model)
        if len(asked.molecules) > limits.molecules:
            raise TooMuchError(
                f"{len(asked.molecules)} molecules at once, more than the {limits.molecules} that "
                "this service takes; send them as a table, or in several requests"
            )
        question = Question(
            name,
            tuple(asked.molecules),
            Selection.of(asked.keep_ratio, asked.rule, asked.by, max(1, asked.n)),
            asked.n == 0,
            limits.atoms,
        )
        answer = await within(limits.seconds, service.batcher.ask(question))
        return JSONResponse({"model": name} | answer)

    @routes.post(
        "/table",
        response_class=StreamingResponse,
        openapi_extra=uploads.REQUEST_BODY,
        responses={200: {"content": {"application/x-ndjson": {}}}},
    )
    async def table(
        request: Request,
        model: Annotated[str | None, Query(max_length=100)] = None,
        keep_ratio: Annotated[float | None, Query(gt=0, le=1)] = None,
        rule: Annotated[str | None, Query(max_length=100, description=RULE_HELP)] = None,
        by: Annotated[str | None, Query(max_length=100, description=BY_HELP)] = None,
        smiles_column: Annotated[str | None, Query(max_length=200)] = None,
        property: Annotated[
            str, Query(max_length=200, description="Of the ledger: prediction, or a column.")
        ] = PREDICTION,
        format: Format = "csv",
    ) -> StreamingResponse:
        """Recognize a file, row by row; the answer comes in lines of JSON, the ledger last."""
        name = service.model(model)
        options = {
            "selection": Selection.of(keep_ratio, rule, by),
            "max_atoms": limits.atoms,
        }
        unit = service.shelf.recognize(name, options)
        body = await request.body()
        read = partial(
            uploads.read_chunks,
            body,
            format=format,
            smiles_column=smiles_column,
            carry=() if property == PREDICTION else (property,),
            rows=limits.rows,
        )
        chunks = await service.run(read)
        ledger = Ledger(property, classes=unit.card.classes)
        lines = uploads.recognize(unit, chunks, ledger, service.run)
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return routes
