"""A small shop in Sequelize, by a program of ours: node/sequelize.js."""
import _programs

TITLE = "Sequelize 6.37.8 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_node(tools)


def run(target, tools, work):
    return _programs.run_node(TITLE, "sequelize.js", target, tools, work)
