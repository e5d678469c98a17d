package org.apache.hugegraph.util;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/* Stands in for HugeGraph's class of this name, which knows the signature of Java 11 alone, so that a server with
 * authentication does not start on Java 12 and later. It must come before hugegraph-core on the class path. */
public class Reflection {
    private static void filter(String name, Class<?> filtered, String... names) {
        try {
            Class<?> reflection = Class.forName("jdk.internal.reflect.Reflection");
            Method method;
            Object argument = names;
            try {
                method = reflection.getMethod(name, Class.class, String[].class);
            } catch (NoSuchMethodException absent) {
                method = reflection.getMethod(name, Class.class, Set.class);
                argument = new HashSet<>(Arrays.asList(names));
            }
            method.invoke(null, filtered, argument);
        } catch (ReflectiveOperationException | RuntimeException error) {
            System.err.println("Reflection filter not set for " + filtered.getName() + ": " + error);
        }
    }

    public static void registerFieldsToFilter(Class<?> filtered, String... names) {
        filter("registerFieldsToFilter", filtered, names);
    }

    public static void registerMethodsToFilter(Class<?> filtered, String... names) {
        filter("registerMethodsToFilter", filtered, names);
    }

    public static Class<?> loadClass(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException error) {
            throw new RuntimeException(error.getMessage(), error);
        }
    }
}
