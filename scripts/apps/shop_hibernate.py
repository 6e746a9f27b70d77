"""Hibernate by Connector/J, behind the JDK's HTTP server: Flyway's migrations, which Hibernate validates, and the schema that it would make itself."""
import shutil
from pathlib import Path
import _programs

TITLE = "Hibernate 6.6.29, Flyway 11.13.1 (Connector/J 9.7.0)"
HERE = Path(__file__).resolve().parent
CLOCK = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\t\d+"  # flyway_schema_history


def install(tools):
    place = _programs.install_jars(_programs.HERE / "java/pom.xml", tools / "java")
    _programs.compile_java(place, HERE / "hibernate", tools / "java/shop")


def steps(target, database, tools, work):
    shutil.copytree(HERE / "hibernate", work / "hibernate", dirs_exist_ok=True)
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{tools}/java/shop:{tools}/java/lib/*", "Shop"]
    return {
        "before": [("migrate", [*java, "migrate", "hibernate"], True), ("info", [*java, "info", "hibernate"], True), ("what update would do", [*java, "update"], True)],
        "serve": [*java, "serve"],
    }
