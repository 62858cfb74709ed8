"""The routes: one for each verb of the library."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import StreamingResponse

from vgib import __version__
from vgib.select.policy import Selection
from vgib.serve import faults, schemas, site, tasks, uploads
from vgib.serve.explaining import methods
from vgib.serve.gate import LOCAL, BodyLimit, OwnPage
from vgib.serve.lanes import Lane
from vgib.serve.limits import Limits, TooMuchError
from vgib.serve.recognition import Question
from vgib.serve.shelf import ModelShelf
from vgib.serve.tasks import Desk, Task
from vgib.stream.ledger import Ledger
from vgib.stream.recurring import Recurring
from vgib.stream.schema import Recognized

PREFIX = "/api/v1"
ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.ErrorAnswer, "description": "There is nothing of that name."},
    413: {"model": schemas.ErrorAnswer, "description": "More than the service takes."},
    422: {"model": schemas.ErrorAnswer, "description": "What is asked cannot be used."},
    503: {"model": schemas.ErrorAnswer, "description": "Not now: too busy, or too slow."},
}


class Service:
    """What the routes share: the models, the limits, and the processes that compute.

    Args:
        shelf: The models.
        limits: How much one request may ask for.
    """

    def __init__(self, shelf: ModelShelf, limits: Limits) -> None:
        self.shelf, self.limits = shelf, limits
        desk = Desk(dict(shelf.places))
        self.many: Lane[Question, bytes] = Lane(
            desk,
            limits,
            limits.seconds,
            batch=limits.batch,
            batch_seconds=limits.batch_seconds,
            weight=lambda question: len(question.molecules),
        )
        self.one: Lane[Task, Any] = Lane(desk, limits, limits.seconds)
        self.tables: Lane[Task, Any] = Lane(
            desk, limits, limits.patience, batch_seconds=limits.seconds
        )
        self.methods: Lane[Task, Any] = Lane(desk, limits, limits.patience)

    def model(self, name: str | None) -> str:
        """The name of a model; the default when none is given.

        Raises:
            UnknownNameError: there is none of that name.
        """
        chosen = self.shelf.default if name is None else name
        self.shelf.get(chosen)
        return chosen

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Starts and ends with the server."""
        lanes: list[Lane[Any, Any]] = [self.many, self.one, self.tables, self.methods]
        for lane in lanes:
            lane.start()
        yield
        for lane in lanes:
            await lane.stop()


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
    app.add_middleware(BodyLimit, most=service.limits.of_route, seconds=service.limits.arrival)
    app.add_middleware(OwnPage, hosts=hosts)
    app.add_middleware(site.Headers)
    app.state.service = service
    return app


def _about(service: Service, has_editor: bool) -> APIRouter:
    """Questions about the service itself."""
    routes = APIRouter(prefix=PREFIX, tags=["the service"])
    batcher, shelf = service.many.batcher, service.shelf

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
    names = [card.words.name(one) for one in card.classes] if card.classes is not None else None
    own = {"name": name, "members": len(shelf.get(name).members()), "class_names": names}
    kept = set(schemas.ModelAnswer.model_fields) - set(own)
    return schemas.ModelAnswer.model_validate(own | card.model_dump(include=kept))


def _one(service: Service) -> APIRouter:
    """Questions about one molecule."""
    routes = APIRouter(prefix=PREFIX, tags=["one molecule"], responses=ERRORS)
    most = service.limits.atoms

    @routes.post("/inspect", response_model=schemas.InspectAnswer)
    async def inspect(asked: schemas.InspectRequest) -> Response:
        """Prediction, scores, ranked parts of every size, random parts, and a drawing."""
        task = partial(tasks.inspected, service.model(asked.model), asked, most)
        return _json(await service.one.ask(task))

    @routes.post("/explain", response_model=schemas.ExplainAnswer)
    async def explain(asked: schemas.ExplainRequest) -> Response:
        """Atom scores by a post-hoc method, and the parts that follow from them."""
        task = partial(tasks.explained, service.model(asked.model), asked, most)
        return _json(await service.methods.ask(task))

    @routes.post("/whatif", response_model=schemas.WhatIfAnswer)
    async def whatif(asked: schemas.WhatIfRequest) -> Response:
        """The prediction of what is left when only these atoms are kept."""
        task = partial(tasks.what_if, service.model(asked.model), asked, most)
        return _json(await service.one.ask(task))

    @routes.post(
        "/draw",
        response_class=Response,
        responses={200: {"content": {"image/svg+xml": {}, "image/png": {}}}},
    )
    async def draw(asked: schemas.DrawRequest) -> Response:
        """A picture of a molecule with its scores and the chosen atoms."""
        kind = {"svg": "image/svg+xml", "png": "image/png"}[asked.format]
        return Response(await service.one.ask(partial(tasks.drawn, asked)), media_type=kind)

    return routes


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _many(service: Service) -> APIRouter:
    """Questions about many molecules."""
    routes = APIRouter(prefix=PREFIX, tags=["many molecules"], responses=ERRORS)
    limits = service.limits

    @routes.post("/recognize", response_model=schemas.RecognizeAnswer)
    async def recognize(asked: schemas.RecognizeRequest) -> Response:
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
            asked.details,
            limits.atoms,
        )
        return _json(await tasks.answered(question, service.many.ask))

    @routes.post(
        "/table",
        response_class=StreamingResponse,
        openapi_extra=uploads.REQUEST_BODY,
        responses={200: {"content": {"application/x-ndjson": {}}}},
    )
    async def table(
        request: Request, asked: Annotated[schemas.TableQuery, Query()]
    ) -> StreamingResponse:
        """Recognize a file, row by row; the answer comes in lines of JSON.

        The last line says what recurs: fragments with their matches, matched pairs, common cores.
        """
        name = service.model(asked.model)
        card = service.shelf.card(name)
        options = {
            "selection": Selection.of(asked.keep_ratio, asked.rule, asked.by),
            "max_atoms": limits.atoms,
            "details": asked.details,
        }
        how = {
            "format": asked.format,
            "smiles_column": asked.smiles_column,
            "needed": () if asked.property == schemas.PREDICTION else (asked.property,),
            "rows": limits.rows,
            "most": limits.body,
        }
        chunks = await service.tables.ask(partial(tasks.table_chunks, await request.body(), how))
        ledger = Ledger(asked.property, classes=card.classes)

        async def rows(chunk: pa.Table) -> Recognized:
            task = partial(tasks.recognized, name, options, chunk)
            found: Recognized = await service.tables.ask(task)
            return found

        async def recur(kept: Any, counted: Any) -> Recurring:
            found: Recurring = await service.tables.ask(partial(tasks.recurring, kept, counted))
            return found

        refuse = service.shelf.recognize(name, options).refuse
        unit = card.words.effect_unit(card.classes)
        lines = uploads.recognize(rows, refuse, chunks, ledger, recur, unit)
        return StreamingResponse(await uploads.begun(lines), media_type="application/x-ndjson")

    return routes
