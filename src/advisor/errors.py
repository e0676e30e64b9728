"""Every error the advisor raises on purpose.

    AdvisorError            the root: its text says what is wrong, where, and what to do
    ├── InputError          a file, a row or a value that cannot be read
    ├── QuestionError       a question that cannot be asked of this data
    ├── PricesError         price or hardware facts that are missing, broken or not to be trusted
    ├── MeasurementError    a benchmark that could not be run or kept
    └── MissingExtraError   an optional dependency that is not installed

The command line prints the text as one line and exits with 2. "Nothing qualifies" is an answer, not an error.
"""


class AdvisorError(Exception):
    """Root of the tree. The text is one line for a person: what, where, what to do."""


class InputError(AdvisorError):
    """A file, a row or a value that cannot be read: names the file and, where there is one, the row."""


class QuestionError(AdvisorError):
    """A question that cannot be asked, or that this data cannot answer."""


class PricesError(AdvisorError):
    """Price or hardware facts that are missing, broken or not to be trusted."""


class MeasurementError(AdvisorError):
    """A benchmark that could not be run, or whose file could not be kept."""


class MissingExtraError(AdvisorError):
    """An optional dependency is not installed; the text says how to install it."""
