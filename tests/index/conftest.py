"""What the tests of the indexes share: models loaded once for the whole run."""

import pytest

from memd_daemon.index.embed import Embedder, QueryTable, TokenCounter


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The shipped model, loaded."""
    model = Embedder()
    model.load()
    return model


@pytest.fixture(scope="session")
def table() -> QueryTable:
    """The query table of the shipped model."""
    return QueryTable()


@pytest.fixture(scope="session")
def counter() -> TokenCounter:
    """The counter that budgets use."""
    return TokenCounter()
