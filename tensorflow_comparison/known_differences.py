"""Intentional differences from TensorFlow, with their reasons.

A key is the name of a case, or the beginning of several names followed by "*".
"""

KNOWN_DIFFERENCES: dict[str, str] = {
    "arrays.linspace_of_unknown*": "TensorFlow 1.15 knows that the result has one dimension, and "
    "refuses to make none; 2 computes it in another way",
    "arrays.range_of_another_type": "TensorFlow 1.15 converts tensors to no other type; 2 casts",
    "checkpoints.of_a_number": "a TypeError that says what was given; Python's "
    "AttributeError comes out of TensorFlow",
    "checkpoints.restored_of_no_checkpoint*": "ValueError, as for whatever is no checkpoint; "
    "TensorFlow takes any file for one of the format before 1.0, which does not exist here",
    "checkpoints.saved_where_no_directory_is": "TensorFlow 1.15 refuses it; 2 makes the directory",
    "checkpoints.states_that_are_damaged*": "an error: with TensorFlow, which only warns, a "
    "program would begin its training again",
    "diagonals.of_known[15]": "refused where it is written; in TensorFlow the run fails",
    "diagonals.of_known[60]": "an index out of range is an error; TensorFlow 2 takes an element of "
    "another row",
    "differences.patches[24]": "refused where it is written; in TensorFlow the run fails",
    "decoding.csv_of_no_columns": "Python's IndexError comes out of TensorFlow; here a ValueError "
    "says what is wrong",
    "loops.arrays[11]": "refused where it is written; TensorFlow logs an error, and the run fails",
    "loops.arrays[24]": "an error that says what is wrong; Python's IndexError comes out of "
    "TensorFlow",
    "loops.odd_cases[0]": "an error, as documented; TensorFlow does not wait for the check where "
    "the functions return numbers",
    "loops.refused[7]": "refused where it is written; in TensorFlow the run fails",
    "loops.refused[17]": "TypeError, as in TensorFlow 1.15; an AttributeError comes out of 2",
    "loops.refused[21]": "refused where it is written; in TensorFlow the run fails",
    "loops.refused[24]": "TypeError, as in TensorFlow 1.15",
    "loops.refused[27]": "TypeError, as in TensorFlow 1.15; an AttributeError comes out of 2",
    "loops.refused[28]": "an error that says what is wrong; Python's IndexError comes out of "
    "TensorFlow",
    "loops.refused[31]": "refused where it is written; in TensorFlow the run fails",
    "loops.refused[32]": "TypeError, as in TensorFlow 1.15; an AttributeError comes out of 2",
    "loops.refused[33]": "refused where it is written; in TensorFlow the run fails",
    "loops.refused[34]": "refused where it is written; in TensorFlow the run fails",
    "loops.refused[35]": "refused where it is written; in TensorFlow the run fails",
    "parsing.known_before_of_other_ranks*": "TensorFlow 1.15 takes vectors only; 2 any rank",
    "parsing.sparse_with_too_few_indices*": "an error instead of a sparse tensor that is broken",
    "readers.several_read_on_after_damage*": "the records before the damage come first, the error "
    "with the next read; TensorFlow counts those records and drops them",
    "readers.written_to_a_full_disk*": "everything fails from then on, and closing tells it; "
    "TensorFlow writes on after the gap, and its flush succeeds",
    "sparse.fed_with_a_list": "a TypeError that says what to feed, not a failure to unpack",
    "sparse.partly_known*": "TensorFlow 1.15 feeds a shape that is known in part through a "
    "placeholder, so only its rank is known; 2 gives that placeholder the known sizes as default",
    "sparse_layout.expanded_of_unknown_rank*": "TensorFlow refuses an unknown rank",
    "variables.empty_name*": "an empty name counts as none, as it does in TensorFlow for all "
    "operations but constants; there a variable takes the name of its scope, here it is refused",
    "variables.names_in_a_random_operation": "TensorFlow 1.15 always moves and scales the numbers; "
    "2 leaves that out if it changes nothing",
    "control.stopped_with_an_error_that_is_not_handled": "the error is recorded; a TypeError "
    "comes out of TensorFlow and nothing stops",
    "control.function_of_python_that_returns_an_object": "what the function gave is wrong, nothing "
    "inside the library: InvalidArgumentError, not InternalError",
    "control.function_of_python_that_raises_an_error_of_the_library": "a function that says with "
    "OutOfRangeError that the input has ended means it; UnknownError in TensorFlow",
    "gfile.directory_copied*": "FailedPreconditionError, as in TensorFlow 1.15; 2 leaves an "
    "empty file",
    "idioms_flows.effect_that_waits_for_a_switch": "what waits for an output runs if that "
    "has a value; in TensorFlow it waits for the operation, which runs either way",
    "evaluation.entropies_by_place*": "TensorFlow 1.15 takes labels and logits by name only, since "
    "their order was another one before 1.0",
    "json_examples.decoded_though_it_is_no_json*": "an error says what is wrong with it",
    "summaries.not_written": "the file is made at once, as TensorFlow's documentation says",
    "summaries.written_without_a_summary*": "a TypeError that says what was given, not the missing "
    "attribute of something else",
    "math.cast_by_division*": "`div_no_nan` of TensorFlow 1.15 takes fractions only; 2 casts",
    "math.operators_on_bits*": "TensorFlow 1.15 takes truth values only; 2 computes with bits",
    "math.without_a_kernel*": "refused when the graph is built, not when it runs",
    "random_numbers.numbers_of_the_graphs_seed*": "the seed is the number of all operations so "
    "far, as in TensorFlow 1.15; 2 counts those with seeds",
    "string_splitting.replaced_badly*": "an error; TensorFlow logs it and takes the match out",
    "strings.nothing_joined": "in TensorFlow 1.15 the operation has one input at least; 2 allows "
    "none",
    "arrays.one_hot_of_an_integer_as_a_fraction": "TensorFlow 1.15 compares the value's own type "
    "with the one asked for; 2 converts it",
    "runners.failed_with_a_coordinator[1]": "what ends a thread stops the coordinator, also if a "
    "subclass does not report it; with TensorFlow the consumer waits for ever",
    "runners.failed_without_a_coordinator": "the queue is closed when its last thread has ended, "
    "whatever ended it; with TensorFlow the consumer waits for ever",
    "runners.without_rows_and_epochs": "an error; with TensorFlow the runner looks for rows for "
    "ever, and its consumer waits",
    "training.clusters[5]": "a TypeError, as for an address that is no text; Python's ValueError "
    "comes out of TensorFlow",
    "images.greys[9]": "TensorFlow has no kernel for these types",
}


def reason_for(name: str) -> str | None:
    """Returns why a case may differ; None if it may not."""
    for key, reason in KNOWN_DIFFERENCES.items():
        if name == key or (key.endswith("*") and name.startswith(key[:-1])):
            return reason
    return None
