"""Checks that the preload is its chapters, joined in an order that works.

Usage: chapters.py DIRECTORY PRELOAD CHAPTER...

DIRECTORY is the package whose chapters are named in their order, PRELOAD the
file that was assembled from it. Both are loaded into this process's Dask.
Prints what is wrong, a line each.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pathlib
import sys


def names(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top level defines, imports aside."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)]


def is_import(node: ast.AST) -> bool:
    """Whether a statement imports."""
    return isinstance(node, (ast.Import, ast.ImportFrom))


def relative(chapter: str, node: ast.AST, top: list, defined: dict[str, list[str]]):
    """Say what hinders dropping a chapter's import of another one."""
    if not isinstance(node, ast.ImportFrom) or not node.level:
        return
    where = f"{chapter}.py:{node.lineno}"
    if node not in top:
        yield f"{where}: imports another chapter below the top level"
    if node.level > 1 or node.module not in defined:
        yield f"{where}: imports from {node.module}, which is no earlier chapter"
        return
    for alias in node.names:
        if alias.asname:
            yield f"{where}: imports {alias.name} by another name"
        if alias.name not in defined[node.module]:
            yield f"{where}: {node.module} does not define {alias.name}"


def unique(defined: dict[str, list[str]], trees: dict[str, ast.Module]):
    """Say which names mean several things when all chapters are one module."""
    owners: dict[str, str] = {}
    for chapter, own in defined.items():
        for name in own:
            if name in owners:
                yield f"{name} is defined in {owners[name]} and in {chapter}"
            owners[name] = chapter
    meanings: dict[str, str] = {}
    for chapter, tree in trees.items():
        for node in tree.body:
            if not is_import(node) or getattr(node, "level", 0):
                continue
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                meaning = f"{getattr(node, 'module', '')} {alias.name}"
                if name in owners:
                    yield f"{name} is imported in {chapter} and defined in {owners[name]}"
                if meanings.setdefault(name, meaning) != meaning:
                    yield f"{name} is {meanings[name]} in one chapter and {meaning} in {chapter}"


def content(tree: ast.Module) -> list[str]:
    """Return what a module does besides importing."""
    return [ast.dump(node) for node in tree.body if not is_import(node)]


def load(name: str, path: pathlib.Path):
    """Import a file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public(module) -> set[str]:
    """Return what a module holds, its own attributes aside."""
    return {n for n in vars(module) if not n.startswith("__")}


def check(directory: pathlib.Path, preload: pathlib.Path, order: list[str]):
    """Say all that is wrong."""
    trees = {c: ast.parse((directory / f"{c}.py").read_text()) for c in order}
    defined: dict[str, list[str]] = {}
    for chapter, tree in trees.items():
        for node in ast.walk(tree):
            yield from relative(chapter, node, tree.body, defined)
        defined[chapter] = [name for node in tree.body for name in names(node)]
    yield from unique(defined, trees)

    title = ast.parse((directory / "__init__.py").read_text())
    want = content(title) + [node for tree in trees.values() for node in content(tree)]
    if content(ast.parse(preload.read_text())) != want:
        yield "the preload does not say what its chapters say"

    sys.path.insert(0, str(directory.parent))
    package = [importlib.import_module(f"{directory.name}.{c}") for c in order]
    have, want = public(load("esched_preload", preload)), set().union(*map(public, package))
    if have != want:
        yield f"only the preload or only its chapters hold {sorted(have ^ want)}"


if __name__ == "__main__":
    for fault in check(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]):
        print(fault)
