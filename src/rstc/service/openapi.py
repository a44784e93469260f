"""The OpenAPI document of the service, with the limits that it was started with."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from rstc.service.options import ServiceOptions

Schema = dict[str, Any]

NULLABLE_NUMBER: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NULLABLE_STRING: Schema = {"type": ["string", "null"]}


def build_document(options: ServiceOptions) -> dict[str, Any]:
    """Build the OpenAPI document."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "rstc", "version": version("rstc"), "description": "Assigns short texts to clusters."},
        "paths": {
            "/v1/predict": {
                "post": _operation(
                    "predict",
                    "Assign texts to the clusters of the model.",
                    _object(model={"type": "string"}, predictions=_list(_prediction())),
                    (400, 408, 413, 415, 422, 500, 503),
                    body=_texts(options),
                )
            },
            "/v1/clusters": {
                "get": _operation(
                    "listClusters",
                    "List the clusters of the model.",
                    _object(model={"type": "string"}, clusters=_list(_cluster())),
                )
            },
            "/v1/model": {"get": _operation("describeModel", "Describe the model.", _model())},
            "/health/live": {
                "get": _operation("live", "Say that the process runs.", _object(status={"const": "live"}), is_open=True)
            },
            "/health/ready": {
                "get": _operation(
                    "ready",
                    "Say whether the process takes requests.",
                    _object(status={"const": "ready"}, process={"type": "integer"}),
                    is_open=True,
                )
            },
            "/metrics": {
                "get": _operation("metrics", "Metrics for Prometheus.", {"type": "string"}, media="text/plain")
            },
            "/openapi.json": {"get": _operation("document", "This document.", {"type": "object"})},
        },
        "components": {"schemas": {"Problem": _object(error={"type": "string"}), "Status": {"type": "object"}}},
    }
    if options.token is not None:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _operation(
    name: str,
    summary: str,
    answer: Schema,
    problems: tuple[int, ...] = (),
    *,
    body: Schema | None = None,
    media: str = "application/json",
    is_open: bool = False,
) -> dict[str, Any]:
    """Describe an operation and its answers; each refusal is a `Problem`."""
    statuses = sorted({*problems, 403, *(() if is_open else (401,))})
    responses: dict[str, Any] = {"200": {"description": "The answer.", "content": {media: {"schema": answer}}}}
    for status in statuses:
        schema = {"$ref": "#/components/schemas/Problem"}
        responses[str(status)] = {"description": "Refused.", "content": {"application/json": {"schema": schema}}}
        if status == 503:
            responses["503"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    if name == "ready":
        responses["503"] = {
            "description": "The process stops.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Status"}}},
        }
    operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
    if is_open:
        operation["security"] = []
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation


def _texts(options: ServiceOptions) -> Schema:
    text = {"type": ["string", "null"], "maxLength": options.max_chars}
    schema = _object(texts={**_list(text), "maxItems": options.max_texts})
    return {**schema, "additionalProperties": False, "examples": [{"texts": ["my parcel is late"]}]}


def _prediction() -> Schema:
    return _object(
        cluster={"type": ["integer", "null"], "description": "-1 for an outlier, null for a row without a text"},
        name=NULLABLE_STRING,
        confidence=NULLABLE_NUMBER,
        confidence_level={"enum": ["high", "medium", "low", None]},
        outlier={"type": "boolean"},
    )


def _cluster() -> Schema:
    return _object(
        cluster={"type": "integer"}, name={"type": "string"}, description=NULLABLE_STRING, share={"type": "number"}
    )


def _model() -> Schema:
    column = {"anyOf": [NULLABLE_STRING, _list({"type": "string"})]}
    return _object(
        checksum={"type": "string"},
        kind={"enum": ["torch", "onnx"]},
        n_clusters={"type": "integer"},
        text_column=column,
        loaded={"type": "string"},
    )


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}
