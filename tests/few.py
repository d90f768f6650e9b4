"""Every sixth of the digits: enough where runs are compared and none has to learn."""

import functools

from fedbench import Dataset
from fedbench.base import registry


def load_data(name, params, folder):
    """The data set of a source."""
    return registry.build("dataset", name, params).load(folder)


@functools.cache
def few_digits():
    """240 training and 60 test images."""
    digits = load_data("digits", {}, None)
    train = digits.x_train[:1440:6], digits.y_train[:1440:6]
    test = digits.x_test[::6], digits.y_test[::6]
    return Dataset("few digits", *train, *test, classes=10)
