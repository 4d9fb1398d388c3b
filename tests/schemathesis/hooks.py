"""What the schema of a format leaves open. schemathesis.toml names this file."""

from datetime import date, datetime, timezone

import schemathesis
from hypothesis import strategies as st

FIRST, LAST = date(1900, 1, 2), date(2199, 12, 30)

# The document admits the years 1900 to 2199; of all years there are, hardly any would pass.
schemathesis.openapi.format("date", st.dates(FIRST, LAST).map(date.isoformat))
schemathesis.openapi.format(
    "date-time",
    st.datetimes(
        datetime(FIRST.year, FIRST.month, FIRST.day),
        datetime(LAST.year, LAST.month, LAST.day),
        timezones=st.just(timezone.utc),
    ).map(lambda at: at.isoformat(timespec="seconds").replace("+00:00", "Z")),
)
# Where messages would go: nowhere, so that nobody out there receives one.
schemathesis.openapi.format("uri", st.integers(0, 9999).map(lambda n: f"https://hooks-{n}.invalid/practice"))


def _empty(value):
    return value == "" or (isinstance(value, list) and any(item == "" for item in value))


@schemathesis.hook
def filter_query(context, query):
    """An empty parameter counts as one that is not given: what is only empty is not wrong, and what is required is missing."""
    return query is None or not any(_empty(value) for value in query.values())
