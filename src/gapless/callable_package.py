"""A package that can be called: `gapless.measure` is both the package and its main function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(package: str, function: Callable[..., Any]) -> None:
    """Let `package(...)` mean `function(...)`.

    Importing a subpackage binds its name in the parent, where the public function of the same name
    is expected; so the package itself answers the call, whichever was imported first.
    """

    class CallablePackage(ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    CallablePackage.__call__.__doc__ = function.__doc__
    sys.modules[package].__class__ = CallablePackage
