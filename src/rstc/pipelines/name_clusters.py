"""Name the clusters of a run by a function, a command or a language model, and store the names as corrections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from rstc.errors import InputError
from rstc.pipelines.namers.answers import NameAnswer, read_answer
from rstc.pipelines.namers.cache import AnswerCache
from rstc.pipelines.namers.prompt import DEFAULT_TEXTS, Question, cut_text
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.naming import MAX_NAME_LENGTH
from rstc.results.summary import ClusterEntry
from rstc.runtime.progress import Listener

# From a cluster as in summary.json to its name, or to a mapping or JSON with "name" and "description".
Namer = Callable[[dict[str, Any]], Any]


class PromptNamer(Protocol):
    """What answers prompts: `CommandNamer` and `ChatNamer`."""

    @property
    def needs_json(self) -> bool:
        """Whether an answer without JSON is no name."""

    @property
    def receiver(self) -> str:
        """Who gets the texts, in words."""

    def ask(self, prompt: str) -> str:
        """Return the answer to a prompt."""


@dataclass(frozen=True)
class NamingPlan:
    """The clusters of a run that are to be named, and what is asked about them.

    Attributes
    ----------
    folder : Path
        The run folder.
    run : CorrectedRun
        The run.
    questions : list of Question
        One for each cluster to name.
    """

    folder: Path
    run: CorrectedRun
    questions: list[Question]

    @property
    def n_texts(self) -> int:
        """How many texts the questions hold."""
        return sum(len(question.texts) for question in self.questions)


@dataclass(frozen=True)
class NamingResult:
    """A run with its new names.

    Attributes
    ----------
    run : CorrectedRun
        The run.
    n_requests : int
        How often something was sent.
    n_cached : int
        How many answers of earlier calls were used instead.
    """

    run: CorrectedRun
    n_requests: int = 0
    n_cached: int = 0


def rename_clusters(folder: Path, namer: Namer, listener: Listener | None = None, again: bool = False) -> CorrectedRun:
    """Name each cluster of a run by a function, and store the names as corrections, all of them or none.

    Parameters
    ----------
    folder : Path
        A run folder.
    namer : callable
        Takes a cluster as it is in summary.json (keywords, typical texts and so on) and returns its name, or a name and
        a description as a mapping or as JSON.
    listener : callable, optional
        Called with ("name", done, total).
    again : bool
        Whether to rename clusters that were renamed before as well.
    """
    plan = plan_naming(folder, 0, again)

    def answer(question: Question, taken: Sequence[str]) -> NameAnswer:
        entry = question.entry
        value = namer(entry.to_json())
        return read_answer(value) or _refuse(entry, value)

    _store_names(plan, answer, listener)
    return plan.run


def plan_naming(folder: Path, n_texts: int = DEFAULT_TEXTS, again: bool = False) -> NamingPlan:
    """Choose the clusters to name and the texts to show of each, without sending anything.

    Parameters
    ----------
    folder : Path
        A run folder.
    n_texts : int
        Largest number of texts of a cluster: its typical ones, then the most confident.
    again : bool
        Whether to rename clusters that were renamed before as well.
    """
    run = CorrectedRun.read(folder)
    renamed = {edit["cluster"] for edit in run.log.edits if edit["do"] == "rename"}
    questions = []
    for entry in run.entries():
        if again or entry.cluster not in renamed:
            rows = run.choose_typical(np.flatnonzero(run.clusters == entry.cluster), n_texts) if n_texts else []
            questions.append(Question(entry, [cut_text(run.points.texts[row]) for row in rows]))
    return NamingPlan(folder, run, questions)


def name_by_prompts(
    plan: NamingPlan, namer: PromptNamer, listener: Listener | None = None, cache: AnswerCache | None = None
) -> NamingResult:
    """Name clusters by what a command or a language model answers, and store the names as corrections.

    An answer that is no name, or that another cluster has, is asked for once more.

    Parameters
    ----------
    plan : NamingPlan
        The clusters and the questions.
    namer : PromptNamer
        What answers.
    listener : callable, optional
        Called with ("name", done, total).
    cache : AnswerCache, optional
        Answers of earlier calls, which are used, and to which the new ones are added.

    Returns
    -------
    NamingResult
    """
    n_requests = n_cached = 0

    def ask(question: Question, taken: Sequence[str]) -> NameAnswer:
        nonlocal n_requests, n_cached
        prompt = question.to_prompt(taken)
        if cache and (known := cache.find(prompt)):
            n_cached += 1
            return known
        reply = ""
        for _ in range(2 if namer.needs_json else 1):
            n_requests += 1
            reply = namer.ask(prompt)
            if found := read_answer(reply, namer.needs_json):
                if cache:
                    cache.store(prompt, found)
                return found
        _refuse(question.entry, reply)

    def answer(question: Question, taken: Sequence[str]) -> NameAnswer:
        found = ask(question, ())
        if found.name.casefold() in {name.casefold() for name in taken}:
            found = ask(question, taken)
        return found

    _store_names(plan, answer, listener)
    return NamingResult(plan.run, n_requests, n_cached)


def _store_names(
    plan: NamingPlan, answer: Callable[[Question, Sequence[str]], NameAnswer], listener: Listener | None
) -> None:
    """Rename the clusters of a plan by the answers, each differently, and write the log and the page."""
    run, asked = plan.run, {question.entry.cluster for question in plan.questions}
    # Names that were found are not passed on: they may quote a text.
    taken = [name for cluster, name in run.state.names.items() if cluster not in asked]
    for done, question in enumerate(plan.questions, start=1):
        entry, found = question.entry, answer(question, taken)
        name = _make_unique(found.name, entry, taken)
        taken.append(name)
        if name != entry.name or found.description not in (None, entry.description):
            edit = {"do": "rename", "cluster": entry.cluster, "name": name}
            run.correct(edit if found.description is None else {**edit, "description": found.description})
        if listener:
            listener("name", done, len(plan.questions))
    run.save(plan.folder)
    write_page(plan.folder, run)


def _make_unique(name: str, entry: ClusterEntry, taken: Sequence[str]) -> str:
    """Return a name that no other cluster has, with a keyword or a number appended if need be."""
    used = {other.casefold() for other in taken}
    endings = ["", *(f" ({keyword})" for keyword in entry.keywords)]
    candidates = [f"{name[: MAX_NAME_LENGTH - len(ending)]}{ending}" for ending in endings]
    numbered = (f"{name[: MAX_NAME_LENGTH - 12]} ({number})" for number in count(2))
    return next(
        (candidate for candidate in candidates if candidate.casefold() not in used),
        None,
    ) or next(candidate for candidate in numbered if candidate.casefold() not in used)


def _refuse(entry: ClusterEntry, answer: Any) -> NoReturn:
    shown = repr(answer)
    raise InputError(f"cluster {entry.cluster} got no name: the answer was {shown[:100]}{'…' * (len(shown) > 100)}")
