"""The documented features of mysql2 (its package has no tests) by a program of ours: node/mysql2.js."""
import _programs

TITLE = "mysql2 3.24.5 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_node(tools)


def run(target, tools, work):
    return _programs.run_node(TITLE, "mysql2.js", target, tools, work)
