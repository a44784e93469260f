"""Upload of a model folder to the hub of models, in one commit: its readers get the old model or the new one."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rstc.errors import InputError, describe_system_error, first_line
from rstc.language.names import are_language_codes
from rstc.persistence.fitted_model import FittedModel
from rstc.persistence.model_card import show_encoder
from rstc.persistence.model_files import list_files
from rstc.persistence.model_folder import save_model
from rstc.runtime import hub

logger = logging.getLogger(__name__)

LICENSE_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
KEPT = (".gitattributes", ".gitignore")  # files of the hub's repository, not of the model


def push_model(
    model: FittedModel,
    repo_id: str,
    private: bool = True,
    token: str | None = None,
    commit_message: str | None = None,
    license: str | None = None,
    language: str | Sequence[str] | None = None,
) -> str:
    """Upload a model to the hub, in place of what its repository holds; return the address of the commit.

    Parameters
    ----------
    model : FittedModel
        The model.
    repo_id : str
        Its name on the hub, OWNER/MODEL; the repository is created if there is none.
    private : bool
        Whether a repository that is created is private.
    token : str, optional
        The token of the hub; by default the one that was stored by `hf auth login`, or HF_TOKEN.
    commit_message : str, optional
        The message of the commit.
    license : str, optional
        The model's license in the words of the hub, such as "apache-2.0"; by default that of the bundled encoder.
    language : str or sequence of str, optional
        ISO 639 codes; by default the languages of the texts that the model was fitted on.
    """
    _check_name(repo_id)
    languages = model.languages if language is None else _check_languages(language)
    if license is not None and not LICENSE_NAME.fullmatch(license):
        raise InputError(f"license={license!r} is not written like a license of the hub, such as 'apache-2.0'")
    if not hub.is_hub_reachable():
        raise InputError(f"the hub cannot be reached, so {repo_id} was not uploaded")
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    # A path of this machine may hold a user's name.
    model = replace(
        model, config=replace(model.config, encoder=show_encoder(model.config.encoder)), languages=languages
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "model")
        save_model(folder, model, license)
        names = list_files(folder)
        try:
            api = HfApi(token=token)
            api.create_repo(repo_id, private=private, exist_ok=True)
            former = set(api.list_repo_files(repo_id)) - {*names, *KEPT}
            added = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(folder / name)) for name in names]
            removed = [CommitOperationDelete(path_in_repo=name) for name in sorted(former)]
            message = commit_message or f"A model of {model.n_clusters} clusters"
            commit = api.create_commit(repo_id, [*added, *removed], commit_message=message)
        except Exception as problem:  # the hub's client raises exceptions of many types
            reason = describe_system_error(problem) or first_line(problem)
            raise InputError(f"{repo_id} was not uploaded to the hub ({reason})") from problem
    logger.info("uploaded %d files to %s", len(names), repo_id)
    return str(commit.commit_url)


def _check_name(repo_id: str) -> None:
    if repo_id.count("/") != 1 or not hub.MODEL_NAME.fullmatch(repo_id):
        raise InputError(f"repo_id={repo_id!r} is not the name of a model on the hub, OWNER/MODEL")


def _check_languages(language: str | Sequence[str]) -> list[str]:
    """Return language codes, all of which have to be of two or three letters."""
    codes = [language] if isinstance(language, str) else list(language)
    if not are_language_codes(codes):
        raise InputError(f"language={language!r} is not an ISO 639 code such as 'en', or a list of them")
    return codes
