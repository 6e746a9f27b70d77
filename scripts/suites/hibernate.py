"""Hibernate 6.6.29, by a program of ours over its features: java/src/HibernateApp.java."""
import _programs

TITLE = "Hibernate 6.6.29 (program of ours)"
EXPLAINED = []
SHARED = []


def install(tools):
    _programs.install_java(tools)


def run(target, tools, work):
    return _programs.run_java(TITLE, "HibernateApp", target, tools, work)
