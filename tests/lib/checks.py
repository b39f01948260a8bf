"""What the check_*.py scripts count, and the lines that they close with, in Check's form (tests/run.py adds them up).

    from checks import check, close
    check(answer == 4, "the answer is %d" % answer)
    sys.exit(close())

One that raises has failed as well: its exit status says so, and no totals are printed.
"""

import os
import sys

_checks = 0
_failures = []


def check(condition, words):
    """Counts one check; `words` say what was found where it does not hold. Gives whether it holds."""
    global _checks
    _checks += 1
    if not condition:
        _failures.append(words)
    return bool(condition)


def close():
    """Prints what did not hold, then the totals; gives the exit status. A script that checked nothing has failed."""
    if not _checks:
        check(False, "nothing was checked")
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    for words in _failures:
        print("%s: %s" % (name, words))
    passed = _checks - len(_failures)
    print("%d%%: Checks: %d, Failures: %d, Errors: 0" % (100 * passed // _checks, _checks, len(_failures)))
    return 1 if _failures else 0
