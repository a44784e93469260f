"""The estimator RSTC: its results, its errors, the contract of scikit-learn, and models on disk."""

from __future__ import annotations

import inspect
import re
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from rstc import RSTC, CollapseWarning, Config, InputError, MissingTextWarning, RstcWarning
from rstc.metrics import evaluate
from tiny_encoder import make_texts

Data = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def fitted(texts_and_topics: Data, tiny_encoder: str) -> RSTC:
    settings = {"encoder": tiny_encoder, "max_steps": 30, "batch_size": 32, "kmeans_starts": 3, "training": "always"}
    return RSTC(4, random_state=0, **settings).fit(texts_and_topics[0])


# -- results --------------------------------------------------------------------------------------------


def test_fit_finds_the_topics_and_sets_its_attributes(fitted: RSTC, texts_and_topics: Data) -> None:
    texts, topics = texts_and_topics
    assert evaluate(topics, fitted.labels_.tolist()).acc > 0.9
    assert fitted.probabilities_.shape == (len(texts), 4)
    assert fitted.probabilities_.sum(1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.array_equal(fitted.probabilities_.argmax(1), fitted.labels_)
    assert fitted.class_distribution_.sum() == pytest.approx(1)
    assert fitted.n_iter_ == fitted.history_[-1]["step"] == 30
    assert {"load", "encode", "start", "train", "renew"} <= set(fitted.seconds_)


ESTIMATION = {"random_state": 0, "training": "always", "max_steps": 4, "batch_size": 32}


@pytest.fixture(scope="module")
def estimated(texts_and_topics: Data, tiny_encoder: str) -> RSTC:
    return RSTC("auto", encoder=tiny_encoder, **ESTIMATION).fit(texts_and_topics[0])


def check_estimate(model: RSTC) -> None:
    assert model.n_clusters_search_ is not None
    assert model.n_clusters_ == model.n_clusters_search_.n_clusters == model.probabilities_.shape[1]
    assert 3 <= model.n_clusters_ <= 6


def test_number_of_clusters_is_estimated_from_the_texts(estimated: RSTC) -> None:
    check_estimate(estimated)
    assert estimated.n_clusters == "auto"  # the parameter does not change


@pytest.mark.parametrize("n_clusters", ["2-6", (2, 6)])
def test_number_of_clusters_is_estimated_within_a_range(
    n_clusters: Any, texts_and_topics: Data, tiny_encoder: str
) -> None:
    model = RSTC(n_clusters, encoder=tiny_encoder, **ESTIMATION).fit(texts_and_topics[0])
    check_estimate(model)
    assert model.n_clusters == n_clusters


def test_estimated_and_given_n_clusters_lead_to_the_same_labels(
    estimated: RSTC, texts_and_topics: Data, tiny_encoder: str
) -> None:
    given = RSTC(estimated.n_clusters_, encoder=tiny_encoder, **ESTIMATION).fit(texts_and_topics[0])
    assert given.n_clusters_search_ is None
    assert np.array_equal(estimated.labels_, given.labels_)


def test_saved_model_keeps_the_search_for_n_clusters(estimated: RSTC, tmp_path: Path) -> None:
    estimated.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").n_clusters_search_ == estimated.n_clusters_search_


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        ("many", "n_clusters='many' must be"),
        ("9-3", "n_clusters=9-3 must name"),
        ((1, 5), "n_clusters=1 must be"),
        ((2, 500), "n_clusters=500 needs"),
        ((2, 3, 4), "the smallest and the largest number"),
        (2.5, "n_clusters=2.5 must be"),
    ],
)
def test_invalid_n_clusters_is_refused(n_clusters: Any, message: str, texts_and_topics: Data) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        RSTC(n_clusters).fit(texts_and_topics[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [("strangers_", "outlier_detector_"), ("settled_", "converged_"), ("count_", "n_clusters_search_")],
)
def test_renamed_attributes_work_with_a_deprecation_warning(old: str, new: str, fitted: RSTC) -> None:
    with pytest.warns(DeprecationWarning, match=f"RSTC.{old} was renamed to {new}"):
        assert getattr(fitted, old) is getattr(fitted, new)
    assert not hasattr(RSTC(), old)


def test_merge_to_returns_a_coarser_model_and_keeps_the_finer_one(
    fitted: RSTC, texts_and_topics: Data, tmp_path: Path
) -> None:
    texts, before = texts_and_topics[0], fitted.labels_.copy()
    coarse = fitted.merge_to(2)
    assert coarse.n_clusters_ == 2
    assert fitted.n_clusters_ == 4
    assert np.array_equal(fitted.labels_, before)
    assert (
        len(set(zip(before.tolist(), coarse.labels_.tolist(), strict=True))) == 4
    )  # the texts of a cluster stay together
    assert np.bincount(coarse.labels_)[0] >= np.bincount(coarse.labels_)[1]
    assert coarse.probabilities_.sum(1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.array_equal(coarse.predict(texts), coarse.labels_)
    assert coarse.predict_proba(texts) == pytest.approx(coarse.probabilities_, abs=1e-4)
    assert coarse.class_distribution_.sum() == pytest.approx(1)
    assert coarse.hierarchy_.shape == (1, 4)
    coarse.save(tmp_path / "coarse")
    assert np.array_equal(RSTC.load(tmp_path / "coarse").predict(texts), coarse.labels_)


def test_merging_twice_equals_merging_once(fitted: RSTC, texts_and_topics: Data) -> None:
    assert np.array_equal(fitted.merge_to(3).merge_to(2).labels_, fitted.merge_to(2).labels_)
    assert set(fitted.merge_to(1).labels_) == {0}


def test_loaded_model_can_be_merged(fitted: RSTC, texts_and_topics: Data, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    labels = RSTC.load(tmp_path / "model").merge_to(2).predict(texts_and_topics[0])
    assert evaluate([str(c) for c in fitted.merge_to(2).labels_], labels.tolist()).acc == 1


@pytest.mark.parametrize("k", [0, 5, 2.0, True])
def test_merging_to_an_invalid_number_is_refused(k: Any, fitted: RSTC) -> None:
    with pytest.raises(InputError, match=f"n_clusters={k!r}"):
        fitted.merge_to(k)


def test_predictions_for_fitted_texts_equal_labels(fitted: RSTC, texts_and_topics: Data) -> None:
    texts = texts_and_topics[0]
    assert np.array_equal(fitted.predict(texts), fitted.labels_)
    assert np.array_equal(fitted.predict_proba(texts).argmax(1), fitted.labels_)
    assert fitted.transform(texts) == pytest.approx(fitted.embedding_, abs=1e-5)


def test_prediction_does_not_depend_on_the_batch(fitted: RSTC, texts_and_topics: Data) -> None:
    texts = texts_and_topics[0][:40]
    assert [fitted.predict([text])[0] for text in texts] == fitted.predict(texts).tolist()


def test_equal_texts_get_equal_probabilities(fitted: RSTC) -> None:
    texts = ["parcel soup refund code", "van", "parcel soup refund code"] * 5
    P = fitted.predict_proba(texts)
    assert (P[0::3] == P[0]).all()
    assert (P[2::3] == P[0]).all()


def test_same_seed_gives_same_clusters(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts = texts_and_topics[0]
    first, second = (RSTC(4, random_state=7, **quick).fit(texts) for _ in range(2))
    assert np.array_equal(first.probabilities_, second.probabilities_)
    assert np.array_equal(RSTC(4, random_state=7, **quick).fit_predict(texts), first.labels_)


def test_precomputed_views_are_used(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts = texts_and_topics[0]
    same = RSTC(4, random_state=0, **quick).fit(texts, views=(texts, texts))
    other = RSTC(4, random_state=0, **quick).fit(texts, views=(texts, texts[::-1]))
    assert same.history_[-1]["loss_instance"] < other.history_[-1]["loss_instance"]
    with pytest.raises(InputError, match="view 1 has 2 texts"):
        RSTC(4, **quick).fit(texts, views=(["a", "b"], texts))


def test_config_records_the_view_specification(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts = texts_and_topics[0]
    assert RSTC(4, views=("deletion", "typos"), **quick).config().views == "deletion,typos"
    assert RSTC(4, random_state=0, **quick).fit(texts, views=(texts, texts)).config_.views is None


def test_views_can_be_made_by_a_function(texts_and_topics: Data, quick: dict[str, Any], tmp_path: Path) -> None:
    seen: list[int] = []

    def reversed_words(texts: list[str]) -> list[str]:
        seen.append(len(texts))
        return [" ".join(reversed(text.split())) for text in texts]

    model = RSTC(4, views=("virtual", reversed_words), random_state=0, **quick)
    assert clone(model).views == ("virtual", reversed_words)
    model.fit(texts_and_topics[0])
    assert seen == [len(texts_and_topics[0])], "called once for all texts"
    assert model.config_.views is None
    model.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").predict(texts_and_topics[0]).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("views", ["virtual", "deletion+typos", "synonyms@0.5", "cutoff,neighbours", "swap"])
def test_views_can_be_made_by_a_specification(views: str, texts_and_topics: Data, quick: dict[str, Any]) -> None:
    model = RSTC(4, views=views, random_state=0, **quick).fit(texts_and_topics[0])
    assert model.config_.views == views
    assert len(set(model.labels_)) == 4


def test_encoder_can_be_an_object(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(quick.pop("encoder")), device="cpu")
    fitted = RSTC(4, random_state=0, encoder=model, **quick).fit(texts_and_topics[0])
    assert fitted.config_.encoder == "SentenceTransformer"
    assert fitted.transform(["parcel"]).shape == (1, 32)


def test_progress_is_reported_for_each_step(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    calls: list[tuple[str, int, int]] = []
    RSTC(4, random_state=0, **quick).fit(texts_and_topics[0], progress=lambda *args: calls.append(args))
    assert [done for stage, done, _ in calls if stage == "train"] == list(range(1, 13))


# -- invalid input -----------------------------------------------------------------------------------


def test_missing_texts_get_no_cluster(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts: list[Any] = [*texts_and_topics[0], None, "", "  ", float("nan")]
    views = (texts[::-1], texts)
    with pytest.warns(MissingTextWarning, match=f"4 of {len(texts)} rows"):
        model = RSTC(4, random_state=0, **quick).fit(texts, views=views)
    assert model.labels_[-4:].tolist() == [-1] * 4
    assert (model.labels_[:-4] >= 0).all()
    assert not model.probabilities_[-4:].any()
    assert model.predict([None, "parcel", ""]).tolist()[::2] == [-1, -1]
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([None]).tolist() == [[0.0] * 4]


@pytest.mark.parametrize(
    ("n_clusters", "texts", "message"),
    [
        (1, ["a", "b"], "n_clusters=1"),
        (2.5, ["a", "b"], "n_clusters=2.5"),
        (5, ["a", "b", "a", "b", "c"], "n_clusters=5 needs at least 5 distinct texts, got 3"),
        (2, [], "needs at least 2 distinct texts, got 0"),
        (2, "one string", "got a single string"),
        (2, ["a", 3], "text 1 is 3"),
        (2, np.zeros((3, 2)), r"shape \(3, 2\)"),
    ],
)
def test_invalid_texts_are_refused(n_clusters: Any, texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RSTC(n_clusters).fit(texts)


def test_predicting_before_fitting_is_an_error() -> None:
    with pytest.raises(NotFittedError):
        RSTC().predict(["a"])


@pytest.mark.usefixtures("few_head_steps")
@pytest.mark.parametrize(("head_start", "n_left"), [(None, {3, 4}), (0.0, {1})])
def test_preset_paper_keeps_rare_clusters_because_the_head_is_warmed_up(
    head_start: float | None, n_left: set[int], tiny_encoder: str
) -> None:
    """With eps2 = 0.001, an untrained clustering network leads the transport into collapse."""
    texts, _ = make_texts({"parcel": 300, "password": 60, "refund": 20, "recipe": 10})
    model = RSTC(4, preset="paper", imbalance="heavy", encoder=tiny_encoder, random_state=0, repeats=0)
    model.set_params(trainable_layers=0, contrast_steps=0, max_steps=80, head_start=head_start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RstcWarning)
        model.fit(texts, views=(texts, texts))
    assert len(set(model.labels_)) in n_left


def test_collapsed_clusters_give_a_warning(quick: dict[str, Any]) -> None:
    # The encoder sees no difference between these texts, so that twenty clusters cannot be separated.
    texts = ["parcel" + " " * i + "late" for i in range(1, 30)]
    with pytest.warns(CollapseWarning, match="of 20 clusters"):
        RSTC(20, random_state=0, **quick).fit(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["🎉", "🔥 🔥", "مرحبا بالعالم", "שלום עולם", "你好世界", "\u200b.", "a" * 100_000, "x y " * 25_000],
        ["same words again"] * 10_000 + ["another one", "parcel late"],
    ],
    ids=["unusual characters and lengths", "ten thousand equal texts"],
)
@pytest.mark.usefixtures("few_head_steps")
def test_unusual_texts_can_be_clustered(texts: list[str], quick: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)  # two other texts among ten thousand may join the rest
        labels = RSTC(2, random_state=0, **quick).fit_predict(texts)
    assert set(labels) <= {0, 1}
    assert len({label for text, label in zip(texts, labels, strict=True) if text == texts[0]}) == 1


# -- scikit-learn's contract -------------------------------------------------------------------------------------


def test_every_setting_is_a_parameter() -> None:
    parameters = set(inspect.signature(RSTC.__init__).parameters) - {"self"}
    own = {"n_clusters", "preset", "random_state", "imbalance"}
    assert parameters - own == {field.name for field in fields(Config)}


def test_clone_and_parameters() -> None:
    model = RSTC(5, eps2=0.3, preset="paper", imbalance="light")
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(eps2=0.4).eps2 == 0.4
    with pytest.raises(ValueError, match="Invalid parameter 'epsilon'"):
        model.set_params(epsilon=1)


def test_works_inside_a_pipeline(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    lower = FunctionTransformer(lambda X: [text.lower() for text in X])
    assert len(make_pipeline(lower, RSTC(4, random_state=0, **quick)).fit_predict(texts)) == len(texts)
    classifier = make_pipeline(RSTC(4, random_state=0, **quick), LogisticRegression(max_iter=500)).fit(texts, topics)
    assert classifier.score(texts, topics) > 0.9


def test_works_in_a_grid_search(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    model = RSTC(4, random_state=0, **quick)
    search = GridSearchCV(model, {"eps2": [0.01, 0.1]}, scoring="adjusted_rand_score", cv=2).fit(texts, topics)
    assert search.best_params_["eps2"] in (0.01, 0.1)
    assert search.best_estimator_.config_.eps2 == search.best_params_["eps2"]


def test_pandas_series_and_feature_names(texts_and_topics: Data, fitted: RSTC) -> None:
    series = pd.Series(texts_and_topics[0], index=range(100, 100 + len(texts_and_topics[0])))
    assert np.array_equal(fitted.predict(series), fitted.labels_)
    assert list(fitted.get_feature_names_out())[:2] == ["rstc0", "rstc1"]


# check_estimator skips estimators of strings, because it has no strings to fit them on. So these tests list the checks
# it would run if RSTC took numbers, run those that need no data, and give a reason for each of the others.
NEED_NO_DATA = {
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_do_not_raise_errors_in_init_or_set_params",
}
FITS_NUMBERS = "fits random numbers; what it claims is tested here on texts: "
CANNOT_APPLY = {
    "check_estimators_dtypes": "texts have no float32 or int64 variants",
    "check_estimators_nan_inf": "a missing text is allowed and left out; infinity is refused as not a string",
    "check_estimator_sparse_tag": "texts are not a matrix",
    "check_estimator_sparse_array": "texts are not a matrix",
    "check_estimator_sparse_matrix": "texts are not a matrix",
    "check_f_contiguous_array_estimator": "texts have no memory layout",
    "check_readonly_memmap_input": "texts are not a memory map",
    "check_complex_data": "texts are not complex numbers",
    "check_dtype_object": "an array of objects is a fine container of texts",
    "check_n_features_in": "texts have no number of features",
    "check_n_features_in_after_fitting": "texts have no number of features",
    "check_fit1d": "one-dimensional input is the right one",
    "check_fit2d_1feature": "two-dimensional input is refused, see test_invalid_texts_are_refused",
    "check_fit2d_1sample": "two-dimensional input is refused",
    "check_fit2d_predict1d": "two-dimensional input is refused",
    "check_estimators_empty_data_messages": FITS_NUMBERS + "test_invalid_texts_are_refused",
    "check_estimators_fit_returns_self": FITS_NUMBERS + "every test that fits",
    "check_estimators_overwrite_params": FITS_NUMBERS + "test_fit_changes_no_parameter",
    "check_dont_overwrite_parameters": FITS_NUMBERS + "test_fit_changes_no_parameter",
    "check_dict_unchanged": FITS_NUMBERS + "test_predicting_changes_nothing",
    "check_estimators_pickle": FITS_NUMBERS + "models are saved without pickle, see the tests on disk",
    "check_estimators_unfitted": FITS_NUMBERS + "test_predicting_before_fitting_is_an_error",
    "check_fit_idempotent": FITS_NUMBERS + "test_same_seed_gives_same_clusters",
    "check_fit_check_is_fitted": FITS_NUMBERS + "test_predicting_before_fitting_is_an_error",
    "check_fit_score_takes_y": FITS_NUMBERS + "test_works_in_a_grid_search passes y",
    "check_pipeline_consistency": FITS_NUMBERS + "test_works_inside_a_pipeline",
    "check_methods_sample_order_invariance": FITS_NUMBERS + "test_prediction_does_not_depend_on_the_batch",
    "check_methods_subset_invariance": FITS_NUMBERS + "test_prediction_does_not_depend_on_the_batch",
    "check_estimators_partial_fit_n_features": "there is no partial_fit",
    "check_positive_only_tag_during_fit": "texts have no sign",
    "check_clustering": FITS_NUMBERS + "test_fit_finds_the_topics_and_sets_its_attributes",
    "check_clusterer_compute_labels_predict": FITS_NUMBERS + "test_predictions_for_fitted_texts_equal_labels",
    "check_transformer_data_not_an_array": FITS_NUMBERS + "test_pandas_series_and_feature_names",
    "check_transformer_general": FITS_NUMBERS + "test_predictions_for_fitted_texts_equal_labels",
    "check_transformer_preserve_dtypes": "texts have no dtype to preserve",
    "check_transformers_unfitted": FITS_NUMBERS + "test_predicting_before_fitting_is_an_error",
    "check_transformer_n_iter": FITS_NUMBERS + "n_iter_ is tested with the rest of what fit finds",
}


class NumericRSTC(RSTC):
    """RSTC with the tags of an estimator of numbers, to list the checks that scikit-learn has for it."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.string = False
        tags.no_validation = False
        return tags


def all_checks() -> dict[str, Any]:
    checks = estimator_checks.estimator_checks_generator(NumericRSTC(), legacy=True, mark=None)
    return {getattr(check, "func", check).__name__: check for _, check in checks}


def test_every_scikit_learn_check_is_run_or_has_a_reason() -> None:
    assert set(all_checks()) - NEED_NO_DATA - set(CANNOT_APPLY) == set()


@pytest.mark.parametrize("name", sorted(NEED_NO_DATA & set(all_checks())))
def test_scikit_learn_check_passes(name: str) -> None:
    all_checks()[name](RSTC())


def test_fit_changes_no_parameter(fitted: RSTC) -> None:
    settings = {"max_steps": 30, "batch_size": 32, "kmeans_starts": 3, "training": "always"}
    before = RSTC(4, random_state=0, encoder=fitted.encoder, **settings)
    assert fitted.get_params() == before.get_params()


def test_own_features_that_agree_with_the_texts_are_rated_highest(
    texts_and_topics: Data, quick: dict[str, Any]
) -> None:
    texts, topics = texts_and_topics
    rng = np.random.default_rng(0)
    helpful = np.eye(4)[np.unique(topics, return_inverse=True)[1]] + rng.normal(0, 0.1, (len(texts), 4))
    model = RSTC(4, random_state=0, encoder=quick["encoder"]).fit(texts, features=helpful)
    ratings = [(entry["agreement"]["product"], entry["mix"]["features"]) for entry in model.history_[0]["candidates"]]
    assert (max(ratings)[0], 1.0) in ratings
    assert evaluate(topics, model.labels_.tolist()).acc > 0.9
    assert model.predict(texts[:2]).tolist() == model.labels_[:2].tolist(), "predicting needs no features"


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((3, 2)), "must have shape (4, F), got (3, 2)"),
        (np.zeros(4), "must have shape (4, F), got (4,)"),
        (np.full((4, 1), np.nan), "must be finite numbers"),
        ([["a"]] * 4, "must be an array of numbers"),
    ],
)
def test_features_that_do_not_fit_are_refused(features: Any, message: str, quick: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        RSTC(2, **quick).fit(["one text", "two texts", "three", "four"], features=features)


def test_training_modes(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts = texts_and_topics[0]
    never = RSTC(4, encoder=quick["encoder"], random_state=0).fit(texts)
    settings = {**quick, "training": "auto", "max_steps": 40, "max_epochs": 0, "random_state": 0}
    auto, eager = (RSTC(4, delta=delta, **settings).fit(texts) for delta in (0.99, 0.0))
    large = RSTC(4, encoder=quick["encoder"], training="auto", max_fit_texts=60, random_state=0).fit(texts)
    assert (never.n_iter_, auto.n_iter_, eager.n_iter_, large.n_iter_) == (0, 20, 40, 0)
    assert auto.converged_
    assert not eager.converged_


def test_predicting_changes_nothing(fitted: RSTC) -> None:
    before = {name: id(value) for name, value in vars(fitted).items()}
    fitted.predict(["parcel"])
    fitted.transform(["parcel"])
    assert {name: id(value) for name, value in vars(fitted).items()} == before


def test_numpy_numbers_are_accepted_as_parameters(
    texts_and_topics: Data, quick: dict[str, Any], tmp_path: Path
) -> None:
    settings = {**quick, "trainable_layers": np.int64(1), "eps2": np.float32(0.5), "max_steps": np.int64(3)}
    RSTC(np.int64(4), random_state=np.int64(3), **settings).fit(texts_and_topics[0]).save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    assert (loaded.n_clusters, loaded.random_state, loaded.eps2) == (4, 3, 0.5)


# -- on disk -----------------------------------------------------------------------------------------------------


def test_loaded_model_predicts_as_before(fitted: RSTC, texts_and_topics: Data, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    texts = texts_and_topics[0]
    assert np.array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert loaded.class_distribution_ == pytest.approx(fitted.class_distribution_)
    assert loaded.history_ == fitted.history_
    assert loaded.n_clusters == 4
    assert loaded.config_ == fitted.config_
    assert loaded.n_texts_ == len(texts)
    loaded.save(tmp_path / "again")
    assert np.array_equal(RSTC.load(tmp_path / "again").predict(texts), fitted.labels_)


def test_loaded_model_can_be_fitted_again(fitted: RSTC, texts_and_topics: Data, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again = RSTC.load(tmp_path / "model").fit(texts_and_topics[0])
    assert again.n_iter_ == 30


def test_kmeans_model_can_be_saved(texts_and_topics: Data, quick: dict[str, Any], tmp_path: Path) -> None:
    model = RSTC(4, random_state=0, class_contrast=False, **quick).fit(texts_and_topics[0])
    model.save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(texts_and_topics[0]), model.labels_)


def test_watch_gets_row_numbers_of_the_input(texts_and_topics: Any, quick: dict[str, Any]) -> None:
    texts, _ = texts_and_topics
    seen: list[np.ndarray] = []
    with pytest.warns(MissingTextWarning):
        RSTC(4, random_state=0, **quick).fit([None, *texts], watch=lambda step, rows, clusters: seen.append(rows))
    assert all(sorted(rows.tolist()) == list(range(1, len(texts) + 1)) for rows in seen)


def test_saved_model_does_not_contain_the_cache_folder(
    texts_and_topics: Any, quick: dict[str, Any], tmp_path: Path
) -> None:
    texts, _ = texts_and_topics
    model = RSTC(4, random_state=0, cache_folder=str(tmp_path / "cache"), **quick).fit(texts)
    model.save(tmp_path / "model")
    assert str(tmp_path) not in (tmp_path / "model" / "model.json").read_text()
    again = RSTC(4, random_state=0, cache_folder=str(tmp_path / "cache"), **quick).fit(texts)
    assert (again.probabilities_ == model.probabilities_).all()
