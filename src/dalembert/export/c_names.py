"""Names of a model as identifiers of C."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["export_word", "identifier", "identifiers", "is_taken"]

#: Words of C (up to C23, and GNU's) and C++, macros of headers, and prefixes of exported functions.
_TAKEN = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while asm bool catch class complex delete explicit export false
    friend imaginary mutable namespace new operator private protected public template this throw
    true try typename using virtual NULL EOF NAN INFINITY I errno stdin stdout stderr linux unix
    near far small interface program alignas alignof and and_eq bitand bitor char8_t char16_t
    char32_t co_await co_return co_yield compl concept const_cast consteval constexpr constinit
    decltype dynamic_cast noexcept not not_eq nullptr or or_eq reinterpret_cast requires
    static_assert static_cast thread_local typeid typeof typeof_unqual wchar_t xor xor_eq i386
    IN OUT OPTIONAL CONST VOID TRUE FALSE ERROR DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS HUGE
    MAXFLOAT BUFSIZ EDOM ERANGE EILSEQ NFDBITS FD_SETSIZE FLT_RADIX FLT_ROUNDS FLT_EVAL_METHOD
    BYTE_ORDER PIPE_BUF MAX_CANON MAX_INPUT MB_CUR_MAX P_tmpdir L_tmpnam L_ctermid
    math_errhandling WCONTINUED WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED
"""
TAKEN = frozenset(re.findall(r"\w+", _TAKEN))
#: Families of macros in the headers of C and POSIX.
MACROS = re.compile(
    r"M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_[24]|[12]_PI|2_SQRTPI|SQRT2|SQRT1_2)(l|f\d+x?)?"
    r"|FP_(NAN|INFINITE|ZERO|SUBNORMAL|NORMAL|ILOGB0|ILOGBNAN|FAST_FMA[FL]?)"
    r"|HUGE_VAL\w*|MATH_ERR\w+|SNANF?L?"
    r"|FE_(DIVBYZERO|INEXACT|INVALID|OVERFLOW|UNDERFLOW|ALL_EXCEPT|DFL_ENV)"
    r"|FE_(DOWNWARD|TONEAREST|TOWARDZERO|UPWARD)|SEEK_(SET|CUR|END|DATA|HOLE)"
    r"|EXIT_(SUCCESS|FAILURE)|(PRI|SCN)[diouxX](\d+|FAST\d+|LEAST\d+|MAX|PTR)"
    r"|(DBL|FLT|LDBL)_[A-Z0-9_]+|DECIMAL_DIG|CHAR_BIT|MB_LEN_MAX|(LITTLE|BIG|PDP)_ENDIAN"
    r"|U?(INT|INT(_FAST|_LEAST)?\d+|INTMAX|INTPTR|CHAR|SHRT|LONG|LLONG)_(MAX|MIN)|SCHAR_(MAX|MIN)"
    r"|(XATTR|BC)_[A-Z_]+_MAX|PTHREAD_[A-Z_]+"
    r"|(RE_DUP|COLL_WEIGHTS|EXPR_NEST|SEM_VALUE|CHARCLASS_NAME)_MAX"
    r"|(MQ_PRIO|AIO_PRIO_DELTA|TTY_NAME|DELAYTIMER|RTSIG)_MAX"
    r"|(RAND|SIZE|SSIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC|PATH|NAME|LINE|TMP|FOPEN)_(MAX|MIN)"
    r"|(FILENAME|HOST_NAME|LOGIN_NAME|NGROUPS)_(MAX|MIN)"
)
#: File names that a compiler or a system takes for its own: standard headers, devices of Windows.
_FILES = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn
    string tgmath threads time uchar wchar wctype strings memory malloc unistd program
    fmi2functions fmi2functiontypes fmi2typesplatform fmi3functions fmi3functiontypes
    fmi3platformtypes con prn aux nul
"""
FILES = frozenset(re.findall(r"\w+", _FILES))


def identifier(name: str) -> str:
    """A name of alphanumerics and underscores, not a digit first, that C does not reserve.

    >>> [identifier(name) for name in ("two-particles incline", "3D", "default", "θ")]
    ['two_particles_incline', 'x3D', 'default_', 'u03b8']
    """
    text = "".join(c if c.isascii() else f"u{ord(c):04x}" for c in name)
    text = re.sub(r"\W+", "_", text).strip("_") or "x"
    if not text[0].isalpha():
        text = f"x{text}"
    return f"{text}_" if is_taken(text) else text


def is_taken(text: str) -> bool:
    """Whether a word means something in C or its headers.

    >>> is_taken("register"), is_taken("M_PI"), is_taken("M_A")
    (True, True, False)
    """
    return text in TAKEN or MACROS.fullmatch(text) is not None


def export_word(name: str) -> str:
    """An identifier that can also begin all names of an export, and be the name of its files.

    >>> export_word("pendulum"), export_word("String"), export_word("Program")
    ('pendulum', 'String_model', 'Program_model')
    """
    text = identifier(name)
    return f"{text.rstrip('_')}_model" if text.lower().rstrip("_") in FILES else text


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """An identifier for each name; no two are equal.

    >>> identifiers(["a b", "a-b", "c"])
    ['a_b', 'a_b_2', 'c']
    """
    found: list[str] = []
    known = set(taken)
    for name in names:
        base = word = identifier(name)
        number = 2
        while word in known:
            word, number = f"{base}_{number}", number + 1
        known.add(word)
        found.append(word)
    return found
