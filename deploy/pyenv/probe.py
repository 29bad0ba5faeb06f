"""Describes the interpreter that runs it, as a last line of JSON.

Arguments: a mode and names of modules. The mode "find" asks whether virtual
environments can be made, "installed" lists the installed packages and looks
the modules up without importing them, "import" imports them. It has to run on
interpreters that are too old for everything else, which then say so.
"""

import json
import sys


def installed():
    """Return the versions of the installed packages by name."""
    from importlib.metadata import distributions

    found = {}
    for dist in distributions():
        name = dist.metadata["Name"]
        if name:
            found.setdefault(name, dist.version)  # the first on sys.path wins
    return found


def attempt(mode, module):
    """Return why the module cannot be used, or an empty string."""
    import importlib
    import importlib.util

    try:
        if mode == "import":
            importlib.import_module(module)
        elif importlib.util.find_spec(module) is None:
            return "not found"
    except BaseException as err:
        return ": ".join([type(err).__name__, str(err)])
    return ""


def describe(mode, modules):
    """Return what the mode asks for."""
    facts = {
        "version": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "implementation": getattr(getattr(sys, "implementation", None), "name", ""),
    }
    if sys.version_info < (3, 11):  # noqa: UP036 - what it is started with is unknown
        return facts
    if mode == "find":
        import sysconfig

        facts["free_threaded"] = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
        mode = "import"
    else:
        facts["packages"] = installed()
    reasons = [(module, attempt(mode, module)) for module in modules]
    facts["missing"] = {module: why for module, why in reasons if why}
    return facts


if __name__ == "__main__":
    print(json.dumps(describe(sys.argv[1], sys.argv[2:])))
