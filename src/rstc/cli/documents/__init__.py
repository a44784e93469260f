"""The JSON documents that commands write with `--json`: what each holds, as typed classes.

Every field is in every document of its kind; null stands for what does not apply. `cli/json_schema.py` derives the JSON
Schema from these classes, and `cli/json_output.py` writes them. They are part of the interface: a field that is renamed
or removed takes a new schema version.
"""
