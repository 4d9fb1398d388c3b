"""Formats and filters that the schema does not specify. Loaded by schemathesis.toml."""

from datetime import date, datetime, timedelta, timezone
from urllib.parse import urlencode

import schemathesis
from hypothesis import strategies as st

# The document permits the years 1900 to 2199. Calls about the schedule accept the next 730 days.
FIRST, LAST = date(1900, 1, 2), date.today() + timedelta(days=700)
# A longer head, with the query encoded, is rejected by actix-web's parser with 431.
LONGEST_QUERY = 24_000

schemathesis.openapi.format("date", st.dates(FIRST, LAST).map(date.isoformat))
schemathesis.openapi.format(
    "date-time",
    st.datetimes(
        datetime(FIRST.year, FIRST.month, FIRST.day),
        datetime(LAST.year, LAST.month, LAST.day),
        timezones=st.just(timezone.utc),
    ).map(lambda at: at.isoformat(timespec="seconds").replace("+00:00", "Z")),
)
# Targets of webhook messages in a reserved domain, so that no real host receives them.
schemathesis.openapi.format("uri", st.integers(0, 9999).map(lambda n: f"https://hooks-{n}.invalid/practice"))


def _empty(value):
    return value == "" or (isinstance(value, list) and any(item == "" for item in value))


@schemathesis.hook
def filter_query(context, query):
    """Skips empty parameters, which count as missing and not as invalid. Cursors are empty (schemathesis.toml)."""
    cursors = ("cursor", "since")
    given = {name: value for name, value in (query or {}).items() if not (name.endswith("_cursor") or name in cursors)}
    encoded = urlencode(given, doseq=True, errors="replace")
    return len(encoded) < LONGEST_QUERY and not any(_empty(value) for value in given.values())


@schemathesis.hook
def before_call(context, case, kwargs):
    """Converts numbers that links put into headers to text, and shortens the items of lists in a query that is too long.

    The coverage phase does not apply `filter_query`. It fills a list of 1,000 ids with texts of up to 200 characters.
    """
    for name, value in (case.headers or {}).items():
        if not isinstance(value, (str, bytes)):
            case.headers[name] = str(value)
    query = case.query or {}
    if len(urlencode(query, doseq=True, errors="replace")) >= LONGEST_QUERY:
        for name, value in query.items():
            if isinstance(value, list):
                query[name] = [item[:2] if isinstance(item, str) else item for item in value]
