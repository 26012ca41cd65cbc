"""Datasets of msgpack samples: the readers, augments and writers of the package ``datadings``. An independent implementation.

>>> from wharf_data.datadings.reader import MsgpackReader      # doctest: +SKIP
>>> with MsgpackReader("train.msgpack") as reader:             # doctest: +SKIP
...     for sample in reader:
...         print(sample["key"], sample["label"])

Classes, arguments and values are those of ``datadings`` 3.4.7, and files are the same byte for byte. Different on purpose:

* Pickles are refused, for reading and writing.
* Arrays are read-only views of the mapped file where they are aligned.
* Negative indexes count from the end everywhere; an empty dataset is iterated like an empty list.
* A key that has only its hash in common with one of the dataset is not found.
* Files appear when a writer is closed, all at once; there is no progress bar. Overwriting is only asked for in a terminal.
* A fraction given as ``buf_size`` of ``QuasiShuffler`` counts (the original takes 0.01 for every fraction).
* Nesting is limited to 128 levels.
* Files of a pattern are sorted; a list of files must not lead out of its ``root_dir``.
* ``Compose`` with a ``prefix`` passes parameters under their own names, so that functions can take them.

Left out: ``datadings.sets``, except for the types of samples, because its programs download datasets; ``datadings.commands``, which the command
``wharf`` replaces; and some of ``datadings.tools``, which says so.
"""
