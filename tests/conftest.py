"""What every test shares: readable failures from shared modules too, such as tests/store/contract.py."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    *(f"tests.{folder.name}" for folder in Path(__file__).parent.iterdir() if folder.is_dir())
)
