"""Components and their configuration: one record for all plugin kinds, attrs for all options.

A configuration class is a frozen attrs class whose field names end in a unit (`_ps`, `_bps`,
`_bytes`, `_bits`, `_packets`, `_hops`) or hold a ratio, count, name or switch. There is no second
schema: the command line, `describe` and every message read `attrs.fields(config)`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import attrs

from .errors import ConfigError
from .units import parse_rate_bps, parse_size_bytes, parse_time_ps

T = TypeVar("T")
NAME_PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
CHOICES = "choices"
"""Key of an option's `metadata`: the values it may have."""
FORMERLY = "formerly"
"""Key of an option's `metadata`: other names for it that messages answer with the right one."""


def _is_name(_instance: Any, _attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not NAME_PATTERN.match(value):
        raise ValueError(f"a component is called {value!r}; names are lower-case words joined by '-', as in my-cca")


@attrs.frozen(kw_only=True)
class NoConfig:
    """The configuration of a component without options."""


@attrs.frozen(kw_only=True)
class Component(Generic[T]):
    """What a plugin offers: a name, how to build one object, and which options it takes.

    name: what an experiment file says, `[a-z0-9-]`.
    build: makes one object; its signature is given per kind in `wormhole_core.contracts`.
    summary: one line for `wormhole-sim plugins`.
    config: frozen attrs class of the options.
    reference: paper or RFC it follows, with section.
    presets: named sets of values, `{preset: {section: {field: value}}}`; the section "cca" (the
        component's own options) or "network". Used by `--preset NAME:LABEL`.
    traits: facts the core may read without building an object (documented per kind).
    """

    name: str = attrs.field(validator=_is_name)
    build: Callable[..., T]
    summary: str
    config: type = NoConfig
    reference: str = ""
    presets: Mapping[str, Mapping[str, Mapping[str, Any]]] = attrs.field(factory=dict)
    traits: Mapping[str, Any] = attrs.field(factory=dict)


def positive(default: Any = attrs.NOTHING, **kw: Any) -> Any:
    """A number field that must be > 0."""
    return attrs.field(default=default, validator=_check(lambda v: v > 0, "greater than 0"), **kw)


def non_negative(default: Any = attrs.NOTHING, **kw: Any) -> Any:
    """A number field that must be >= 0."""
    return attrs.field(default=default, validator=_check(lambda v: v >= 0, "at least 0"), **kw)


def between(low: float, high: float, default: Any = attrs.NOTHING, **kw: Any) -> Any:
    """A number field with low <= value <= high."""
    check = _check(lambda v: low <= v <= high, f"between {low:g} and {high:g}")
    return attrs.field(default=default, validator=check, **kw)


def optional(default: Any = None, **kw: Any) -> Any:
    """A number field that is > 0, or None for "derive it"."""
    check = attrs.validators.optional(_check(lambda v: v > 0, "greater than 0"))
    return attrs.field(default=default, validator=check, **kw)


def one_of(*choices: str, default: Any = attrs.NOTHING, **kw: Any) -> Any:
    """A text field with a fixed set of values."""
    check = _check(lambda v: v in choices, "one of " + ", ".join(choices))
    metadata = {**kw.pop("metadata", {}), CHOICES: choices}
    return attrs.field(default=default, validator=check, metadata=metadata, **kw)


def _check(test: Callable[[Any], bool], expected: str) -> Callable[[Any, Any, Any], None]:
    def validator(_instance: Any, attribute: Any, value: Any) -> None:
        try:
            good = test(value)
        except TypeError:
            good = False
        if not good:
            raise ValueError(f"{attribute.name} must be {expected}, got {value!r}")

    return validator


def near_match(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` or an empty text."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def near_option(name: str, config: type, others: Iterable[str] = ()) -> str:
    """`near_match` among the options of `config`, and other names that may stand there."""
    fields = attrs.fields(config)
    for field in fields:
        if name in field.metadata.get(FORMERLY, ()):
            return f"; did you mean {field.name!r}?"
    return near_match(name, [*(field.name for field in fields), *others])


def make_config(owner: str, config: type, values: Mapping[str, Any], origin: str = "") -> Any:
    """Build `config` from what a user wrote.

    owner: how messages name the thing, e.g. `cca 'dctcp'`. origin: the distribution it comes from,
    e.g. `wormhole-cca 0.1.0`; told where a value is refused, since that rule is the distribution's.
    Raises ConfigError that names owner, option, value and what was expected.
    """
    fields = {a.name: a for a in attrs.fields(config)}
    converted = {}
    for key in values:
        if key not in fields:
            options = ", ".join(sorted(fields)) or "none"
            hint = near_option(str(key), config) or "."
            raise ConfigError(f"{owner} has no option {key!r}{hint} Options: {options}")
    owner = f"{owner} ({origin})" if origin else owner
    for key, value in values.items():
        try:
            converted[key] = convert_field(fields[key], value)
        except ValueError as error:
            raise ConfigError(f"{owner}: {key}: {error}") from error
    missing = [n for n, a in fields.items() if a.default is attrs.NOTHING and n not in converted]
    if missing:
        raise ConfigError(f"{owner}: option {missing[0]!r} is required; give it a value")
    try:
        return config(**converted)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{owner}: {error.args[0] if error.args else error}") from error


def convert_field(field: Any, value: Any) -> Any:
    """A user's value for an attrs field: units by name suffix, then bool, int, float, str by type.

    Raises ValueError that says what was expected.
    """
    name, kind = field.name, str(field.type)
    if value is None or (isinstance(value, str) and value.lower() in ("none", "auto") and "None" in kind):
        if "None" in kind:
            return None
        raise ValueError(f"needs a value, got {value!r}")
    if isinstance(value, (list, dict, tuple)):
        if re.fullmatch(r"(?:<class ')?(?:int|float|bool|str)(?:'>)?(?: \| (?:int|float|bool|str|None))*", kind):
            raise ValueError(f"{value!r} is not a single value")
        return value
    if name.endswith("_ps"):
        return parse_time_ps(value)
    if name.endswith("_bps"):
        return parse_rate_bps(value)
    if name.endswith("_bytes"):
        return parse_size_bytes(value)
    if "bool" in kind:
        return _bool(value)
    if "int" in kind and "float" not in kind and "str" not in kind:
        return _integer(value)
    if "float" in kind and "str" not in kind:
        return _float(value)
    return str(value) if "str" in kind else value


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text in ("true", "yes", "on", "1"):
        return True
    if text in ("false", "no", "off", "0"):
        return False
    raise ValueError(f"{value!r} is not a switch; write true or false")


def _integer(value: Any) -> int:
    try:
        number = float(value) if not isinstance(value, int) else value
        if isinstance(value, bool) or number != int(number):
            raise ValueError
        return int(value) if isinstance(value, (int, str)) and str(value).lstrip("+-").isdigit() else int(number)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a whole number") from None


def _float(value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        text = str(value)
        if text.count("/") == 1:
            top, bottom = text.split("/")
            number = float(top) / float(bottom)
        elif text.endswith("%"):
            number = float(text[:-1]) / 100
        else:
            number = float(text)
        if not math.isfinite(number):
            raise ValueError
        return number
    except (TypeError, ValueError, ZeroDivisionError):
        raise ValueError(f"{value!r} is not a number") from None
