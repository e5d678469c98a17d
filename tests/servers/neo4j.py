"""Neo4j Community from its packages: fetched, set up with a password, launched on one loopback port."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.servers import artifacts, processes, tools

USER = "neo4j"
PASSWORD = "not-a-secret"
"""Eight characters at least, or the server refuses it. It guards nothing but loopback during a test."""

POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>codesynapse.tests</groupId><artifactId>neo4j</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{version}</version></dependency>
  </dependencies>
  <build><pluginManagement><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
  </plugin></plugins></pluginManagement></build>
</project>
"""

# Without the settings of db.tx_log and db.checkpoint the logs grow to hundreds of megabytes in the tests; without
# auth_max_failed_attempts three wrong passwords lock out the right one for seconds.
CONFIGURATION = """server.default_listen_address=127.0.0.1
server.default_advertised_address=127.0.0.1
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.bolt.tls_level=DISABLED
server.http.enabled=false
server.https.enabled=false
server.memory.pagecache.size=32m
dbms.security.auth_enabled=true
dbms.security.auth_max_failed_attempts=0
dbms.usage_report.enabled=false
db.transaction.monitor.check.interval=100ms
db.tx_log.preallocate=false
db.tx_log.rotation.size=1m
db.tx_log.rotation.retention_policy=keep_none
db.checkpoint.interval.tx=200
db.checkpoint.interval.time=5s
"""

OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang", "java.util.concurrent", "jdk.internal.misc")
JVM = (
    "-Xms128m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
)


@dataclass(frozen=True)
class Release:
    """What differs between the releases. java: the oldest that runs it. settings: lines of its configuration."""

    version: str
    java: int
    main: str
    jvm: tuple[str, ...] = ()
    settings: str = ""

    def command(self, *options: str) -> list[str]:
        """A JVM that has all of its classes."""
        name = f"neo4j-{self.version}"
        return [tools.java(self.java), *options, "-cp", f"{artifacts.jars(name, POM.format(version=self.version))}/*"]


LTS = Release("5.26.30", java=17, main="org.neo4j.server.CommunityEntryPoint")
NEWEST = Release(
    "2026.08.1",
    java=21,
    main="org.neo4j.server.Neo4jCommunity",
    jvm=("--enable-native-access=ALL-UNNAMED",),
    # Else it looks for a fleet of its own on the network.
    settings="dbms.fleet_manager.enabled=false\nserver.fleet_discovery.enabled=false\n",
)


@dataclass(frozen=True)
class Neo4j:
    """One server's folder and port; it can be launched, killed and launched again."""

    home: Path
    port: int
    release: Release

    @property
    def url(self) -> str:
        return f"bolt://{USER}:{PASSWORD}@127.0.0.1:{self.port}"

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it answers: the Bolt port opens last."""
        arguments = [f"--home-dir={self.home}", f"--config-dir={self.home / 'conf'}"]
        console = self.home / "console.log"
        command = [*self.release.command(*JVM, *self.release.jvm), self.release.main, *arguments]
        process = processes.launch(command, console)
        processes.wait_until_ready(
            process, lambda: processes.listens(self.port), console, self.home / "logs" / "neo4j.log"
        )
        return process


def new(home: Path, *, release: Release) -> Neo4j:
    """A server with an empty database and a password, not launched yet."""
    server = Neo4j(home=home, port=processes.free_port(), release=release)
    conf = home / "conf"
    conf.mkdir(parents=True)
    (conf / "neo4j.conf").write_text(CONFIGURATION.format(port=server.port) + release.settings, "utf-8")
    tool = [*release.command("-Xmx256m"), "org.neo4j.server.startup.Neo4jAdminCommand"]
    process = processes.launch(
        [*tool, "dbms", "set-initial-password", PASSWORD],
        home / "password.log",
        environment={"NEO4J_HOME": str(home), "NEO4J_CONF": str(conf)},
    )
    if process.wait() != 0:
        raise processes.NotStarted((home / "password.log").read_text("utf-8", "replace")[-1500:])
    return server
