"""Migrations and queries of Knex, models of Objection, by a program of ours: node/knex.js."""
import _programs

TITLE = "Knex 3.3.0, Objection 3.1.5 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_node(tools)


def run(target, tools, work):
    return _programs.run_node(TITLE, "knex.js", target, tools, work)
