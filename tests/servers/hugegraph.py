"""Apache HugeGraph on RocksDB from its packages: fetched, set up with a password, launched on two loopback ports."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.servers import artifacts, processes

USER = "admin"
PASSWORD = "not-a-secret"
"""It guards nothing but loopback during a test."""

# Other stores' drivers, word splitters, test libraries, and one package whose descriptor does not resolve.
LEFT_OUT = (
    *(
        f"org.apache.hugegraph:hugegraph-{name}"
        for name in ("cassandra", "scylladb", "mysql", "palo", "hbase", "postgresql", "hstore", "struct")
    ),
    "org.apache.tinkerpop:gremlin-console",
    "org.ansj:ansj_seg",
    "org.nlpcn:nlp-lang",
    "com.hankcs:hanlp",
    "com.chenlb.mmseg4j:mmseg4j-core",
    "com.janeluo:ikanalyzer",
    "org.lionsoul:jcseg-core",
    "org.apache.lucene:*",
    "com.taobao.arthas:*",
    "org.mockito:*",
    "net.bytebuddy:*",
    "junit:junit",
    "org.apache.ivy:ivy",
    "org.codehaus.groovy:groovy-console",
    "org.codehaus.groovy:groovy-swing",
)
EXCLUSIONS = "".join(
    "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(*name.split(":"))
    for name in LEFT_OUT
)
POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>codesynapse.tests</groupId><artifactId>hugegraph</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.hugegraph</groupId><artifactId>hugegraph-dist</artifactId><version>{version}</version>
      <exclusions>{exclusions}</exclusions>
    </dependency>
  </dependencies>
  <build><pluginManagement><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
  </plugin></plugins></pluginManagement></build>
</project>
"""

SOURCES = Path(__file__).with_name("hugegraph_launcher")
# Without the option Groovy dies on Java 17, and clients are told that there is no gremlin-groovy.
GROOVY = """    plugins: {
      org.apache.tinkerpop.gremlin.groovy.jsr223.GroovyCompilerGremlinPlugin: {
        compilerConfigurationOptions: {OptimizationOptions: {asmResolving: false}}},"""
AUTHENTICATION = """
gremlinPool: 8
threadPoolWorker: 2
authentication: {
  authenticator: org.apache.hugegraph.auth.StandardAuthenticator,
  authenticationHandler: org.apache.hugegraph.auth.WsAndHttpBasicAuthHandler,
  config: {tokens: conf/rest-server.properties}
}
"""
JVM = ("java", "-Xmx768m", "-XX:+UseSerialGC", "--add-exports=java.base/jdk.internal.reflect=ALL-UNNAMED")


@dataclass(frozen=True)
class HugeGraph:
    """One server's folder and ports; it can be launched, killed and launched again."""

    home: Path
    version: str
    port: int
    rest_port: int

    @property
    def url(self) -> str:
        return f"hugegraph+http://{USER}:{PASSWORD}@127.0.0.1:{self.port}?rest=http://127.0.0.1:{self.rest_port}"

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it evaluates a script: its version is told long before."""
        console = self.home / "console.log"
        command = [*self._java(), "serve", "conf/gremlin-server.yaml", "conf/rest-server.properties"]
        process = processes.launch(command, console, folder=self.home)
        processes.wait_until_ready(process, self._evaluates, console)
        return process

    def set_up(self) -> None:
        """Make an empty graph and its user, in a process of its own."""
        command = [*self._java(), "init", "conf/graphs/hugegraph.properties", "conf/rest-server.properties"]
        done = subprocess.run(command, cwd=self.home, input=f"{PASSWORD}\n", capture_output=True, text=True)
        if done.returncode != 0:
            raise processes.NotStarted((done.stdout + done.stderr)[-1500:])

    def _java(self) -> list[str]:
        path = f"{_launcher(self.version)}:{_jars(self.version)}/*"
        return [*JVM, "-Dlog4j.configurationFile=conf/log4j2.xml", "-cp", path, "Launcher"]

    def _evaluates(self) -> bool:
        credential = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/gremlin",
            data=b'{"gremlin": "1 + 1"}',
            headers={"Authorization": f"Basic {credential}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def new(home: Path, version: str) -> HugeGraph:
    """A server with an empty graph and a password, not launched yet."""
    server = HugeGraph(home=home, version=version, port=processes.free_port(), rest_port=processes.free_port())
    with zipfile.ZipFile(_jars(version) / f"hugegraph-dist-{version}.jar") as dist:
        names = [name for name in dist.namelist() if name.startswith(("conf/", "scripts/"))]
        dist.extractall(home, [name for name in names if not name.endswith(".template")])
    _configure(home / "conf", server)
    server.set_up()
    return server


def _configure(conf: Path, server: HugeGraph) -> None:
    gremlin = conf / "gremlin-server.yaml"
    text = gremlin.read_text("utf-8").replace("    plugins: {", GROOVY, 1)
    text = re.sub(r"(?m)^maxContentLength: .*", "maxContentLength: 1048576", text)
    text = re.sub(r"(?m)^#?(host|port): .*\n", "", text)
    gremlin.write_text(f"host: 127.0.0.1\nport: {server.port}\n{text}{AUTHENTICATION}", "utf-8")
    rest = conf / "rest-server.properties"
    text = re.sub(r"(?m)^#?(restserver\.url|gremlinserver\.url|auth\.\w+)=.*\n", "", rest.read_text("utf-8"))
    rest.write_text(
        f"{text}\nrestserver.url=http://127.0.0.1:{server.rest_port}\ngremlinserver.url=http://127.0.0.1:{server.port}\n"
        "auth.authenticator=org.apache.hugegraph.auth.StandardAuthenticator\nauth.graph_store=hugegraph\n",
        "utf-8",
    )
    graph = conf / "graphs" / "hugegraph.properties"
    text = re.sub(
        r"(?m)^gremlin\.graph=.*",
        "gremlin.graph=org.apache.hugegraph.auth.HugeFactoryAuthProxy",
        graph.read_text("utf-8"),
    )
    # The default allots a hundred megabytes of disk to an empty graph.
    graph.write_text(f"{text}\nrocksdb.write_buffer_size=8388608\n", "utf-8")


def _jars(version: str) -> Path:
    return artifacts.jars(f"hugegraph-{version}", POM.format(version=version, exclusions=EXCLUSIONS))


def _launcher(version: str) -> Path:
    """The launcher, compiled once for each version; it appears under its name when it is whole."""
    sources = sorted(SOURCES.rglob("*.java"))
    newest = max(int(source.stat().st_mtime) for source in sources)
    target = artifacts.CACHE / "launchers" / f"hugegraph-{version}-{newest}.jar"
    with artifacts.exclusively(f"launcher-{version}"):
        if target.exists():
            return target
        classes = target.with_suffix(".classes")
        shutil.rmtree(classes, ignore_errors=True)
        classes.mkdir(parents=True)
        compiler = ["javac", "--release", "11", "-proc:none", "-nowarn", "-cp", f"{_jars(version)}/*"]
        subprocess.run([*compiler, "-d", classes, *sources], check=True, capture_output=True)
        partial = target.with_suffix(".partial")
        with zipfile.ZipFile(partial, "w") as jar:
            for path in sorted(classes.rglob("*.class")):
                jar.write(path, path.relative_to(classes))
        os.replace(partial, target)
        shutil.rmtree(classes)
    return target
