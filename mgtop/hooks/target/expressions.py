"""Expressions of configured hooks: read into a tree, checked against a list, and made closures.

Never eval'ed. An expression may look at the arguments and the result of a call, and compute with
plain numbers and texts. It may call nothing but ``len``, ``min``, ``max``, ``sum`` and ``get`` of
``kwargs``; and what would make the program wait for a GPU (a tensor's value) is refused when it
happens.
"""

from __future__ import annotations

import _ast
import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

    Call = Tuple[Tuple[Any, ...], Dict[str, Any], Any]
    """args, kwargs and result of one call."""
    Closure = Callable[[Tuple[Any, ...], Dict[str, Any], Any], Any]

LONGEST = 400
MOST_FRAMES = 1_000_000
"""Of one call; the recorder takes more for a damaged event."""
_DEEPEST = 40
_PARSE_ONLY = 0x400  # ast.PyCF_ONLY_AST, without the import of ast, which takes 3 ms

_PLAIN = (int, float, str, bytes, tuple, list, dict, type(None))


class Wrong(Exception):
    """An expression that cannot be used; the text says why.

    ``column`` is where, from 1; 0 where that is not known.
    """

    def __init__(self, text: str, column: int = 0) -> None:
        super().__init__(text)
        self.column = column


class NotPlain(Exception):
    """A value that is no plain number or text met a computation."""


def read(text: str) -> Closure:
    """``text`` as a function of ``args``, ``kwargs`` and ``result``.

    ``self`` in it is ``args[0]``.

    Raises:
        Wrong: it is no expression, or holds what is not allowed.
    """
    if not text.strip():
        raise Wrong("it is empty")
    if len(text) > LONGEST:
        raise Wrong("it is longer than %d characters" % LONGEST)
    try:
        tree: Any = compile(text.strip(), "<hook>", "eval", _PARSE_ONLY, True)
    except SyntaxError as error:
        raise Wrong("it is no expression: %s" % error.msg, error.offset or 0) from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise Wrong("it is no expression: %s" % error) from None
    return _closure(tree.body, 0)


def plain(value: Any) -> Any:
    """``value``, if it is a plain number, text or collection; numpy's scalars count as numbers.

    Raises:
        NotPlain: it is not, as a tensor, whose value the program would have to wait for.
    """
    if isinstance(value, _PLAIN):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return value.item()
    raise NotPlain(
        "%s is no plain number or text (of a tensor, use its shape)" % type(value).__name__
    )


def _closure(node: Any, depth: int) -> Closure:
    if depth > _DEEPEST:
        raise Wrong("it is nested too deeply", _column(node))
    make = _MAKERS.get(type(node).__name__)
    if make is None:
        raise Wrong(
            "%s is not allowed; %s" % (_KINDS.get(type(node).__name__, "this"), _ALLOWED),
            _column(node),
        )
    return make(node, depth + 1)


def _column(node: Any) -> int:
    return int(getattr(node, "col_offset", -1)) + 1


_ALLOWED = (
    "an expression holds args, kwargs, result and self, their attributes and items, numbers, "
    "texts, arithmetic, comparisons, and len, min, max and sum"
)
_KINDS = {
    "Call": "a call",
    "Lambda": "lambda",
    "ListComp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "NamedExpr": ":=",
    "JoinedStr": "an f-string",
    "Await": "await",
    "Yield": "yield",
    "Starred": "*",
    "Dict": "a dict",
    "Set": "a set",
}
_ROOTS: Dict[str, Closure] = {
    "args": lambda args, kwargs, result: args,
    "kwargs": lambda args, kwargs, result: kwargs,
    "result": lambda args, kwargs, result: result,
    "self": lambda args, kwargs, result: args[0],
}
_FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "len": len,
    "min": lambda *values: min(*map(plain, values)),
    "max": lambda *values: max(*map(plain, values)),
    "sum": lambda values: sum(map(plain, values)),
}


def _name(node: Any, depth: int) -> Closure:
    root = _ROOTS.get(node.id)
    if root is None:
        known = ", ".join(_ROOTS)
        raise Wrong("%s is not known; there are %s" % (node.id, known), _column(node))
    return root


def _constant(node: Any, depth: int) -> Closure:
    value = node.value
    if not isinstance(value, (int, float, str, type(None))):
        raise Wrong("%r is not allowed; %s" % (value, _ALLOWED), _column(node))
    return lambda args, kwargs, result: value


def _attribute(node: Any, depth: int) -> Closure:
    name = node.attr
    if name.startswith("__"):
        raise Wrong("%s is not allowed" % name, _column(node))
    of = _closure(node.value, depth)
    return lambda args, kwargs, result: getattr(of(args, kwargs, result), name)


def _subscript(node: Any, depth: int) -> Closure:
    of = _closure(node.value, depth)
    at = node.slice
    if type(at).__name__ == "Index":  # Python 3.8
        at = at.value
    if type(at).__name__ == "Slice":
        low, high, step = (_optional(part, depth) for part in (at.lower, at.upper, at.step))
        return lambda args, kwargs, result: of(args, kwargs, result)[
            slice(
                plain(low(args, kwargs, result)),
                plain(high(args, kwargs, result)),
                plain(step(args, kwargs, result)),
            )
        ]
    key = _closure(at, depth)
    return lambda args, kwargs, result: of(args, kwargs, result)[plain(key(args, kwargs, result))]


def _optional(node: Optional[Any], depth: int) -> Closure:
    return (lambda args, kwargs, result: None) if node is None else _closure(node, depth)


_BINARY: Dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
}


def _binary(node: Any, depth: int) -> Closure:
    act = _BINARY.get(type(node.op).__name__)
    if act is None:
        raise Wrong("this operator is not allowed; %s" % _ALLOWED, _column(node))
    left, right = _closure(node.left, depth), _closure(node.right, depth)

    def computed(args: Any, kwargs: Any, result: Any) -> Any:
        a, b = plain(left(args, kwargs, result)), plain(right(args, kwargs, result))
        if not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
            raise NotPlain("arithmetic is of numbers")
        return act(a, b)

    return computed


def _unary(node: Any, depth: int) -> Closure:
    of = _closure(node.operand, depth)
    kind = type(node.op).__name__
    if kind == "Not":
        return lambda args, kwargs, result: not plain(of(args, kwargs, result))
    if kind == "USub":
        return lambda args, kwargs, result: -plain(of(args, kwargs, result))
    if kind == "UAdd":
        return lambda args, kwargs, result: +plain(of(args, kwargs, result))
    raise Wrong("this operator is not allowed; %s" % _ALLOWED, _column(node))


_COMPARISONS: Dict[str, Callable[[Any, Any], bool]] = {
    "Eq": lambda a, b: bool(plain(a) == plain(b)),
    "NotEq": lambda a, b: bool(plain(a) != plain(b)),
    "Lt": lambda a, b: bool(plain(a) < plain(b)),
    "LtE": lambda a, b: bool(plain(a) <= plain(b)),
    "Gt": lambda a, b: bool(plain(a) > plain(b)),
    "GtE": lambda a, b: bool(plain(a) >= plain(b)),
    "Is": lambda a, b: a is b,
    "IsNot": lambda a, b: a is not b,
    "In": lambda a, b: plain(a) in plain(b),
    "NotIn": lambda a, b: plain(a) not in plain(b),
}


def _compare(node: Any, depth: int) -> Closure:
    first = _closure(node.left, depth)
    rest = [
        (_COMPARISONS[type(op).__name__], _closure(right, depth))
        for op, right in zip(node.ops, node.comparators)  # noqa: B905 (Python 3.8)
    ]

    def compared(args: Any, kwargs: Any, result: Any) -> bool:
        a = first(args, kwargs, result)
        for holds, other in rest:
            b = other(args, kwargs, result)
            if not holds(a, b):
                return False
            a = b
        return True

    return compared


def _boolean(node: Any, depth: int) -> Closure:
    parts = [_closure(value, depth) for value in node.values]
    stops_at = type(node.op).__name__ == "Or"

    def decided(args: Any, kwargs: Any, result: Any) -> Any:
        value: Any = None
        for part in parts:
            value = plain(part(args, kwargs, result))
            if bool(value) is stops_at:
                break
        return value

    return decided


def _choice(node: Any, depth: int) -> Closure:
    test = _closure(node.test, depth)
    then, otherwise = _closure(node.body, depth), _closure(node.orelse, depth)
    return lambda args, kwargs, result: (then if plain(test(args, kwargs, result)) else otherwise)(
        args, kwargs, result
    )


def _call(node: Any, depth: int) -> Closure:
    called = node.func
    kind = type(called).__name__
    if node.keywords or any(type(part).__name__ == "Starred" for part in node.args):
        raise Wrong("a call here takes plain arguments only", _column(node))
    parts = tuple([_closure(part, depth) for part in node.args])
    if kind == "Name" and called.id in _FUNCTIONS:
        function = _FUNCTIONS[called.id]
        return lambda args, kwargs, result: function(
            *[part(args, kwargs, result) for part in parts]
        )
    if (
        kind == "Attribute"
        and called.attr == "get"
        and getattr(called.value, "id", None) == "kwargs"
        and 1 <= len(parts) <= 2
    ):
        return lambda args, kwargs, result: kwargs.get(
            *[part(args, kwargs, result) for part in parts]
        )
    name = getattr(called, "id", None) or getattr(called, "attr", "this")
    raise Wrong("calling %s is not allowed; %s" % (name, _ALLOWED), _column(node))


_MAKERS: Dict[str, Callable[[Any, int], Closure]] = {
    _ast.Name.__name__: _name,
    _ast.Constant.__name__: _constant,
    _ast.Attribute.__name__: _attribute,
    _ast.Subscript.__name__: _subscript,
    _ast.BinOp.__name__: _binary,
    _ast.UnaryOp.__name__: _unary,
    _ast.Compare.__name__: _compare,
    _ast.BoolOp.__name__: _boolean,
    _ast.IfExp.__name__: _choice,
    _ast.Call.__name__: _call,
}


def count_of(value: Any) -> int:
    """What a ``count`` expression gave, as a number of frames; None is none.

    Raises:
        NotPlain: it is no number.
    """
    value = plain(value)
    if value is None or value is False:
        return 0
    if isinstance(value, (int, float)):
        if not value <= MOST_FRAMES:  # nor is what is no number at all
            raise NotPlain("count gave %r: no call makes so many frames" % value)
        return int(value)
    raise NotPlain("count gave a %s, not a number" % type(value).__name__)


def identity_of(value: Any) -> Optional[str]:
    """What a ``request`` expression gave, as an identity; None: no identity is known.

    Numbers and texts are what they are; another object is known by its type and address.
    """
    if value is None:
        return None
    if isinstance(value, (int, float, str, bytes)):
        return str(value)[:200]
    return "%s at %x" % (type(value).__name__, id(value))
