"""What every test shares: nothing but readable failures from shared modules such as tests/store/contract.py."""

import pytest

pytest.register_assert_rewrite("tests")
