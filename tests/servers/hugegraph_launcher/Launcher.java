import org.apache.hugegraph.HugeFactory;
import org.apache.hugegraph.HugeGraph;
import org.apache.hugegraph.auth.StandardAuthenticator;
import org.apache.hugegraph.dist.HugeGraphServer;
import org.apache.hugegraph.dist.RegisterUtil;
import org.apache.tinkerpop.gremlin.structure.util.GraphFactory;

/* init  conf/graphs/hugegraph.properties conf/rest-server.properties < password
 * serve conf/gremlin-server.yaml conf/rest-server.properties
 *
 * HugeGraph's own start registers backends that are left out here; this one knows RocksDB alone. "init" never shares a
 * process with "serve": a cache that is one for each graph's name keeps the first HugeGraph object, and once that is
 * closed, cached reads fail with "Graph '...' has been closed". */
public class Launcher {
    public static void main(String[] arguments) throws Exception {
        RegisterUtil.registerRocksDB();
        RegisterUtil.registerServer();
        if (arguments[0].equals("init")) {
            HugeGraph graph = (HugeGraph) GraphFactory.open(arguments[1]);
            if (!graph.backendStoreInfo().exists()) graph.initBackend();
            StandardAuthenticator.initAdminUserIfNeeded(arguments[2]);
            graph.close();
            System.exit(0);
        }
        // Numbers in a script load this class, which reads a system property: HugeGraph's security manager refuses
        // that inside a script, and its logger then loops. So it is loaded here.
        Class.forName("org.codehaus.groovy.runtime.typehandling.BigDecimalMath");
        HugeGraphServer server = new HugeGraphServer(arguments[1], arguments[2]);
        HugeFactory.removeShutdownHook();
        Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
    }
}
