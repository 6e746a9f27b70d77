"""A small shop in TypeORM with migrations, by a program of ours: node/typeorm.js."""
import _programs

TITLE = "TypeORM 0.3.31 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_node(tools)


def run(target, tools, work):
    return _programs.run_node(TITLE, "typeorm.js", target, tools, work)
