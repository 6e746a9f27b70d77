"""Connector/J 9.7.0, by a program of ours over its features: java/src/ConnectorJ.java."""
import _programs

TITLE = "Connector/J 9.7.0 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_java(tools)


def run(target, tools, work):
    return _programs.run_java(TITLE, "ConnectorJ", target, tools, work)
