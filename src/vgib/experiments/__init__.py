"""The paper's experiments and our own: one folder for each table or figure, one engine beside them.

A folder ``experiments/NAME/`` with a ``recipe.toml`` is an experiment. Nothing else has to know of
it: ``vgib run NAME`` and ``vgib report NAME`` find it there. It holds

``recipe.toml``
    Which jobs make the table: ``summary`` (a sentence), ``[grid]`` (the values on each axis, the
    outermost first), ``[settings]`` (what all jobs share), ``[values.AXIS.VALUE]`` (the settings
    that a value on an axis stands for), and, if wanted, ``[[skip]]`` (values of some axes that do
    not meet: their combinations are left out), ``control`` (the row that others are compared with)
    and ``[cost]`` (seconds of a job, for the time that is left).
``job.py``
    The settings of a job: a subclass of :class:`vgib.experiments.engine.jobs.Job`, the last one of
    the module. It imports no torch, so that recipes are read quickly.
``work.py``
    ``run(job, **places) -> Finished`` does one job; ``mirror`` and ``cache`` are the places.
``table.py``
    ``draw(made: Recipe, records: Records) -> Drawn``: the tables and figures, from records alone.
    It imports no torch either: a report needs none.
``paper.json``
    ``{"what": ..., "values": ...}``, the paper's numbers, read by
    :func:`vgib.experiments.engine.paper.numbers`. Only where the paper has such a table.
``__init__.py``
    A docstring.

A recipe whose jobs are of another experiment's kind says ``job = "table2"`` and has neither.
A recipe that draws the very records of another one says ``shares = "table3"``; it has a ``summary``
and a ``table.py``, and nothing to run. A TOML file of one's own, ``vgib run mine.toml``, names the
folder of its jobs in the same way, and is drawn by that folder's ``table.py``.

A folder without a recipe is no experiment: ``demo`` and ``shipped`` are behind ``vgib demo`` and
``vgib models train``, ``panel`` holds molecules that models are looked at with.

Records go to ``results/NAME/CELL.jsonl``; :mod:`vgib.experiments.engine.records` says what is in
them. Only ``cli`` imports this package.
"""
