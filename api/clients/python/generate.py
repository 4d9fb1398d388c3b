"""Writes the generated modules of the package from the OpenAPI document: `types.py`, with a TypedDict for each schema, by
datamodel-code-generator, and `operations.py`, with a method for each operation. Copies the licences for the package."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = HERE / "practice_sync_client"
OPTIONS = """--input-file-type openapi --openapi-scopes schemas --output-model-type typing.TypedDict
    --target-python-version 3.11 --naming-strategy parent-prefixed --enum-field-as-literal all --use-union-operator
    --use-standard-collections --use-schema-description --use-field-description --disable-timestamp --formatters builtin"""
# Set by the client, except the parameters of a page, which the iterators set.
NOT_ARGUMENTS = ["Svc-Api-Version", "Idempotency-Key", "If-None-Match", "X-Request-Id"]
CURSORS = ["end_cursor", "start_cursor", "page"]
HEAD = '''"""The operations of the API. Generated from the OpenAPI document."""
# mypy: disable-error-code="no-any-return"
# ruff: noqa
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Any, Literal
from urllib.parse import quote

from . import types
'''
CLASS = '''

class {name}(ABC):
    @abstractmethod
    def _call(
        self, method: str, path: str, query: dict[str, Any], body: Any, key: Literal["body", "header", "reads"] | None,
        idempotency_key: str | None, version: str | None,
    ) -> Any: ...

    @abstractmethod
    def _records(self, path: str, query: dict[str, Any], version: str | None) -> Any: ...
'''


def annotation(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "types." + schema["$ref"].rsplit("/")[-1]
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if schema["type"] == "array":
        return f"Sequence[{annotation(schema['items'])}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]


def is_stream(operation: dict[str, Any]) -> bool:
    return "application/x-ndjson" in operation["responses"].get("200", {}).get("content", {})


def success(operation: dict[str, Any]) -> str:
    answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    found = {annotation(it["content"]["application/json"]["schema"]) if "content" in it else "None" for it in answers}
    return " | ".join(sorted(found)) or "None"


def methods(document: dict[str, Any], result: str, records: str) -> str:
    """Returns the methods of a class whose calls return `result` and `records`."""
    shared, schemas, text = document["components"]["parameters"], document["components"]["schemas"], ""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if is_stream(operation):
                continue
            given = [shared[it["$ref"].rsplit("/")[-1]] if "$ref" in it else it for it in operation["parameters"]]
            used = {it["name"].removesuffix("[]"): it for it in given if it["name"] not in NOT_ARGUMENTS}
            # A client has a default subdomain.
            required = [name for name, it in used.items() if it.get("required") and name != "subdomain"]
            positional = [name for name in required if used[name]["in"] == "path"]
            body = operation.get("requestBody")
            body_type = annotation(body["content"]["application/json"]["schema"]) if body else ""
            key = "body" if "idempotency_key" in schemas.get(body_type[6:], {}).get("properties", {}) else None
            key = "reads" if operation.get("x-reads-only") else key
            if any(it["name"] == "Idempotency-Key" for it in given):
                key = "header"
            beta = any(it["schema"].get("$ref", "").endswith("/BetaApiVersion") for it in given)
            version = ', version: types.BetaApiVersion = "v3.1.0"' if beta else ", version: types.ApiVersion | None = None"

            def arguments(skipped: list[str], before: str, after: str) -> str:
                names = [name for name in [*required, *used] if name not in [*positional, *skipped]]
                keywords = [
                    f"{name}: {annotation(used[name]['schema'])}" + ("" if name in required else " | None = None")
                    for name in dict.fromkeys(names)
                ]
                path_arguments = [f"{name}: {annotation(used[name]['schema'])}" for name in positional]
                return ", ".join(["self", *path_arguments, *filter(None, [before]), "*", *keywords]) + after

            def query(skipped: list[str]) -> str:
                pairs = [f"{it['name']!r}: {name}" for name, it in used.items() if it["in"] == "query" and name not in skipped]
                return "{" + ", ".join(pairs) + "}"

            target = re.sub(r"\{(\w+)\}", r"{quote(str(\1), safe='')}", path)
            target = f'f"{target}"' if positional else repr(path)
            name, doc = operation["operationId"], f'        """{operation["summary"]}."""\n'
            before = f"body: {body_type}" + ("" if body.get("required") else " | None = None") if body else ""
            is_keyed = key in ("body", "header")
            after = (", idempotency_key: str | None = None" if is_keyed else "") + version
            rest = f"{'body' if body else None}, {key!r}, {'idempotency_key' if is_keyed else None}, version"
            text += f"\n    def {name}({arguments([], before, after)}) -> {result.format(success(operation))}:\n{doc}"
            text += f"        return self._call({method.upper()!r}, {target}, {query([])}, {rest})\n"
            page = schemas.get(success(operation)[6:], {}).get("properties", {})
            if method == "get" and "page_info" in page and path != "/changes":
                of = annotation(page["data"]["items"])
                text += f"\n    def {name.replace('list_', 'iter_', 1)}({arguments(CURSORS, '', version)}) -> {records.format(of)}:\n"
                text += f'        """{operation["summary"]}: the records of all pages."""\n'
                text += f"        return self._records({target}, {query(CURSORS)}, version)\n"
    return text


def main() -> None:
    document = json.loads((HERE / "../../openapi/clients.json").read_text())
    lines = document["components"]["schemas"].pop("ExportLine")["oneOf"]
    records = [line for line in lines if "data" in line["properties"]]
    document["components"]["schemas"]["ExportRecord"] = {"description": "A record of an export.", "oneOf": records}
    # The client makes the key if the caller gives none.
    for schema in document["components"]["schemas"].values():
        if "idempotency_key" in schema.get("required", []):
            schema["required"].remove("idempotency_key")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clients.json"
        file.write_text(json.dumps(document))
        command = ["-m", "datamodel_code_generator", "--input", str(file), "--output", str(PACKAGE / "types.py")]
        subprocess.run([sys.executable, *command, *OPTIONS.split()], check=True)
    messages = [annotation(it["post"]["requestBody"]["content"]["application/json"]["schema"])[6:] for it in document["webhooks"].values()]
    with (PACKAGE / "types.py").open("a") as types:
        types.write("\n\nWebhookMessage: TypeAlias = " + " | ".join(messages) + "\n")
    text = HEAD + CLASS.format(name="Operations") + methods(document, "{}", "Iterator[{}]")
    text += CLASS.format(name="AsyncOperations") + methods(document, "Awaitable[{}]", "AsyncIterator[{}]")
    (PACKAGE / "operations.py").write_text(text)
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"]:
        shutil.copy(HERE / "../../.." / licence, HERE)


main()
