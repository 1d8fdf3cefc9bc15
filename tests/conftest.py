"""What all Python tests share: skipping by marker what this environment lacks."""

import importlib.util
import os
import shutil

import pytest

# marker -> package that a test so marked needs
NEEDS = {"torch": "torch", "metatrain": "metatrain"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Skip tests whose marker names a package that is not installed.

    :param items: all collected tests.
    """
    for marker, package in NEEDS.items():
        if importlib.util.find_spec(package) is not None:
            continue
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{package} is not installed"))


@pytest.fixture(scope="session")
def program() -> str:
    """The program mt-analyze, of MT_ANALYZE or of PATH."""
    found = os.environ.get("MT_ANALYZE") or shutil.which("mt-analyze")
    if found is None:
        pytest.skip("mt-analyze is not installed")
    return found
