"""What can go wrong in the middle of a run."""


class TrainingError(RuntimeError):
    """Training cannot go on; the message says what happened. The policy is as it was before the faulty step.

    `remedy`: what to add to the command that goes on, where the same would happen again without.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
