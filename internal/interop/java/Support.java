import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;

/** What the drivers in Java share: the plan, the lines of output, and keys out of PEM files. */
final class Support {
    static final char[] PASSWORD = "interop".toCharArray();

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = System.out;

    static JsonNode plan(String file) throws Exception {
        System.setOut(System.err); // libraries chatter there
        return JSON.readTree(new File(file));
    }

    /** Writes one line of names and values. */
    static synchronized void say(String... pairs) {
        ObjectNode line = JSON.createObjectNode();
        for (int i = 0; i < pairs.length; i += 2) {
            line.put(pairs[i], pairs[i + 1] == null ? "" : pairs[i + 1]);
        }
        OUT.println(line);
        OUT.flush();
    }

    static void outcome(JsonNode c, String verdict, String detail) {
        say("case", text(c, "id"), "verdict", verdict, "detail", detail);
    }

    /** The value of a field; empty if there is none. */
    static String text(JsonNode n, String field) {
        return n.path(field).asText("");
    }

    /** The address a case is posted to, or any other with no case. */
    static String url(JsonNode plan, JsonNode c) {
        return text(plan, "hub_url") + "?case=" + text(c, "id").replace("+", "%2B");
    }

    /** Keys and certificates under the AS2 names of their owners. */
    static KeyStore keys(JsonNode plan) throws Exception {
        System.setProperty("keystore.pkcs12.legacy", ""); // old Bouncy Castles read no other
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, PASSWORD);
        PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(pem(text(plan, "peer_key"))));
        store.setKeyEntry(text(plan, "peer_name"), key, PASSWORD, new Certificate[] {certificate(text(plan, "peer_cert"))});
        store.setCertificateEntry(text(plan, "hub_name"), certificate(text(plan, "hub_cert")));
        return store;
    }

    private static Certificate certificate(String file) throws Exception {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            return CertificateFactory.getInstance("X.509").generateCertificate(in);
        }
    }

    private static byte[] pem(String file) throws Exception {
        return Base64.getMimeDecoder().decode(Files.readString(Path.of(file)).replaceAll("-----[A-Z ]+-----", ""));
    }

    static String sha256(InputStream content) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content.readAllBytes()));
    }

    /** The words of an exception and its causes. */
    static String words(Throwable t) {
        StringBuilder words = new StringBuilder();
        for (; t != null; t = t.getCause()) {
            words.append(words.length() == 0 ? "" : ": ").append(t.getMessage() == null ? t.getClass().getSimpleName() : t.getMessage());
        }
        return words.toString();
    }
}
