"""What a result shows when it is printed."""

from tests.methods.one_weight import train


def test_a_result_is_printed_in_one_line():
    # w = 4, target 2, lr 0.1: the model ends at 3.8, so the loss is ½ · 1.8² = 1.62
    text = repr(train([[2.0]], w=4.0))
    assert "\n" not in text
    assert text.startswith("Result(")
    assert text.endswith("finished after 1 rounds, loss 1.62)")
