"""Flyway 11.13.1, Liquibase 4.33.0, by a program of ours over its features: java/src/Migrations.java."""
import _programs

TITLE = "Flyway 11.13.1, Liquibase 4.33.0 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_java(tools)


def run(target, tools, work):
    return _programs.run_java(TITLE, "Migrations", target, tools, work)
