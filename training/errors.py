"""What can go wrong in the middle of a run."""


class TrainingError(RuntimeError):
    """Training cannot go on; the message says what happened. The policy is as it was before the faulty step."""
