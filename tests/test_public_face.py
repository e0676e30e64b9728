import subprocess
import sys

import pytest

import advisor


def test_every_public_name_can_be_had() -> None:
    for name in advisor.__all__:
        assert callable(getattr(advisor, name)), name
    assert advisor.__all__ == sorted(advisor.__all__)
    assert set(advisor.__all__) <= set(dir(advisor))


def test_advise_stays_the_function_after_its_module_is_imported() -> None:
    import advisor.advise
    import advisor.compare

    assert advisor.advise is sys.modules["advisor.advise"].advise
    assert advisor.compare is sys.modules["advisor.compare"].compare


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'recommend_me'"):
        advisor.recommend_me  # noqa: B018


def test_importing_the_package_imports_no_heavy_library() -> None:
    code = "import advisor, sys; print([m for m in ('pandas', 'numpy', 'pydantic', 'click') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
