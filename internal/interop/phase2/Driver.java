import com.fasterxml.jackson.databind.JsonNode;
import com.helger.as2lib.cert.CertificateFactory;
import com.helger.as2lib.client.AS2Client;
import com.helger.as2lib.client.AS2ClientRequest;
import com.helger.as2lib.client.AS2ClientResponse;
import com.helger.as2lib.client.AS2ClientSettings;
import com.helger.as2lib.crypto.ECompressionType;
import com.helger.as2lib.crypto.ECryptoAlgorithmCrypt;
import com.helger.as2lib.crypto.ECryptoAlgorithmSign;
import com.helger.as2lib.disposition.DispositionOptions;
import com.helger.as2lib.exception.AS2Exception;
import com.helger.as2lib.message.IMessage;
import com.helger.as2lib.partner.Partnership;
import com.helger.as2lib.partner.SelfFillingPartnershipFactory;
import com.helger.as2lib.processor.DefaultMessageProcessor;
import com.helger.as2lib.processor.module.AbstractProcessorModule;
import com.helger.as2lib.processor.receiver.AS2MDNReceiverModule;
import com.helger.as2lib.processor.receiver.AS2ReceiverModule;
import com.helger.as2lib.processor.receiver.AbstractActiveNetModule;
import com.helger.as2lib.processor.receiver.net.AS2MDNReceiverHandler;
import com.helger.as2lib.processor.sender.AS2SenderModule;
import com.helger.as2lib.processor.sender.AsynchMDNSenderModule;
import com.helger.as2lib.processor.storage.IProcessorStorageModule;
import com.helger.as2lib.session.AS2Session;
import com.helger.as2lib.util.http.IAS2IncomingMDNCallback;
import com.helger.commons.collection.attr.StringMap;
import com.helger.mail.datasource.ByteArrayDataSource;
import com.helger.mail.cte.EContentTransferEncoding;
import com.helger.security.keystore.EKeyStoreType;
import jakarta.activation.DataHandler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Driver of phase2 (as2-lib) for the interoperability tests: java Driver send|receive PLAN. */
public class Driver {
    /** What the library made of a receipt. */
    record Receipt(String disposition, String mic, boolean signed, boolean micMatches) {}

    private final JsonNode plan;
    private final byte[] keys;
    private final Map<String, Receipt> receipts = new ConcurrentHashMap<>();
    private final IAS2IncomingMDNCallback callback = (sync, mdn, from, to, disposition, mic, id, signed, matches) ->
        receipts.put(id, new Receipt(disposition, mic, signed, matches));

    private Driver(JsonNode plan) throws Exception {
        this.plan = plan;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Support.keys(plan).store(out, Support.PASSWORD);
        keys = out.toByteArray();
    }

    public static void main(String[] args) throws Exception {
        JsonNode plan = Support.plan(args[1]);
        if (plan.path("quiet").asBoolean()) {
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
        }
        Driver driver = new Driver(plan);
        if (args[0].equals("receive")) {
            driver.receive();
        } else {
            driver.send();
        }
        System.exit(0);
    }

    // Sending.

    private void send() throws Exception {
        AS2Session late = session();
        AS2MDNReceiverModule receiver = new AS2MDNReceiverModule() {
            @Override
            public AS2MDNReceiverHandler createHandler() {
                AS2MDNReceiverHandler handler = super.createHandler();
                handler.setIncomingMDNCallback(callback);
                return handler;
            }
        };
        listen(late, receiver, plan.get("receipt_port").asInt());
        for (JsonNode c : plan.get("cases")) {
            if (!Support.text(c, "oaep").isEmpty()) {
                Support.outcome(c, "not offered", "has no OAEP");
                continue;
            }
            try {
                send(c);
            } catch (Exception e) {
                Support.outcome(c, "failed", Support.words(e));
            }
        }
    }

    private void send(JsonNode c) throws Exception {
        boolean async = Support.text(c, "receipt").equals("async");
        boolean signed = !Support.text(c, "receipt").equals("unsigned");
        AS2ClientRequest request = new AS2ClientRequest("Invoice");
        request.setContentType("application/EDIFACT");
        byte[] payload = Support.text(c, "payload").getBytes(StandardCharsets.US_ASCII);
        request.setData(new DataHandler(new ByteArrayDataSource(payload, "application/EDIFACT", null)));
        request.setFilename("invoice.edi");
        request.setContentTransferEncoding(EContentTransferEncoding.BINARY);
        AS2ClientResponse response = client().sendSynchronous(settings(c, async, signed), request);
        String id = response.getOriginalMessageID();
        for (int i = 0; async && i < 100 && !receipts.containsKey(id); i++) {
            TimeUnit.MILLISECONDS.sleep(100);
        }
        Receipt receipt = receipts.get(id);
        if (receipt == null) {
            Support.outcome(c, response.hasMDN() ? "receipt rejected" : "failed",
                response.hasException() ? Support.words(response.getException()) : "no receipt that the library could read");
        } else if (!receipt.disposition().endsWith("; processed")) {
            Support.outcome(c, "refused", receipt.disposition().replaceFirst(".*; *", ""));
        } else if (!receipt.micMatches()) {
            Support.outcome(c, "receipt rejected", "MIC mismatch: " + receipt.mic());
        } else if (signed != receipt.signed()) {
            Support.outcome(c, "receipt rejected", "signed: " + receipt.signed());
        } else {
            Support.outcome(c, "accepted", "");
        }
    }

    private AS2ClientSettings settings(JsonNode c, boolean async, boolean signed) {
        String hub = Support.text(plan, "hub_name");
        String peer = Support.text(plan, "peer_name");
        AS2ClientSettings s = new AS2ClientSettings();
        s.setKeyStore(EKeyStoreType.PKCS12, keys, new String(Support.PASSWORD));
        s.setSenderData(peer, "phase2@example.com", peer);
        s.setReceiverData(hub, hub, Support.url(plan, c));
        s.setPartnershipName("interop");
        ECryptoAlgorithmSign sign = signature(c);
        s.setEncryptAndSign(ECryptoAlgorithmCrypt.getFromIDOrNull(Support.text(c, "encrypt")), sign);
        String compress = Support.text(c, "compress");
        if (!compress.isEmpty()) {
            s.setCompress(ECompressionType.ZLIB, compress.equals("before"));
        }
        if (signed) {
            ECryptoAlgorithmSign mic = sign == null ? ECryptoAlgorithmSign.DIGEST_SHA_256 : sign;
            s.setMDNOptions(new DispositionOptions().setProtocolImportance(DispositionOptions.IMPORTANCE_OPTIONAL)
                .setProtocol(DispositionOptions.PROTOCOL_PKCS7_SIGNATURE)
                .setMICAlgImportance(DispositionOptions.IMPORTANCE_OPTIONAL).setMICAlg(mic));
        } else {
            s.setMDNOptions((String) null);
        }
        if (async) {
            s.setAsyncMDNUrl("http://127.0.0.1:" + plan.get("receipt_port").asInt() + "/");
        }
        return s;
    }

    private static String digest(JsonNode c) {
        return Support.text(c, "sign").replace("sha", "sha-");
    }

    private static ECryptoAlgorithmSign signature(JsonNode c) {
        if (Support.text(c, "sign").isEmpty()) {
            return null;
        }
        return ECryptoAlgorithmSign.getFromIDOrNull(c.path("pss").asBoolean() ? "rsassa-pss-" + digest(c) : digest(c));
    }

    private AS2Client client() {
        AS2Client client = new AS2Client() {
            @Override
            protected AS2Session createSession() {
                AS2Session session = super.createSession();
                session.setCryptoVerifyUseCertificateInBodyPart(false);
                return session;
            }

            @Override
            protected void initMessageProcessor(AS2Session session) throws AS2Exception {
                super.initMessageProcessor(session);
                folders(session);
            }
        };
        client.setAS2SenderModuleFactory(() -> {
            AS2SenderModule module = new AS2SenderModule();
            module.setIncomingMDNCallback(callback);
            return module;
        });
        return client;
    }

    // Receiving.

    private void receive() throws Exception {
        AS2Session session = session();
        add(session, new AsynchMDNSenderModule());
        add(session, new AbstractProcessorModule() {
            @Override
            public boolean canHandle(String action, IMessage message, Map<String, Object> options) {
                return action.equals(IProcessorStorageModule.DO_STORE);
            }

            @Override
            public void handle(String action, IMessage message, Map<String, Object> options) throws AS2Exception {
                try {
                    Support.say("message_id", message.getMessageID(), "sha256", Support.sha256(message.getData().getInputStream()));
                } catch (Exception e) {
                    throw new AS2Exception("digesting the payload", e);
                }
            }
        });
        int port = plan.get("listen_port").asInt();
        listen(session, new AS2ReceiverModule(), port);
        Support.say("listening", "http://127.0.0.1:" + port + "/");
        System.in.readAllBytes();
    }

    // Both.

    private AS2Session session() throws Exception {
        AS2Session session = new AS2Session();
        session.setCryptoVerifyUseCertificateInBodyPart(false);
        CertificateFactory certificates = new CertificateFactory();
        StringMap type = new StringMap();
        type.putIn(CertificateFactory.ATTR_TYPE, EKeyStoreType.PKCS12.getID());
        certificates.initDynamicComponent(session, type);
        certificates.setPassword(new String(Support.PASSWORD));
        certificates.setSaveChangesToFile(false);
        certificates.load(new ByteArrayInputStream(keys), Support.PASSWORD);
        session.setCertificateFactory(certificates);
        SelfFillingPartnershipFactory partnerships = new SelfFillingPartnershipFactory() {
            @Override
            protected void onBeforeAddPartnership(Partnership p) throws AS2Exception {
                // The receiver of asynchronous receipts asks with aliases set to null, which the library takes for set.
                if (p.getSenderX509Alias() == null) {
                    p.setSenderX509Alias(p.getSenderAS2ID());
                }
                if (p.getReceiverX509Alias() == null) {
                    p.setReceiverX509Alias(p.getReceiverAS2ID());
                }
                super.onBeforeAddPartnership(p);
            }
        };
        partnerships.initDynamicComponent(session, null);
        partnerships.addPartnership(fromHub());
        session.setPartnershipFactory(partnerships);
        DefaultMessageProcessor processor = new DefaultMessageProcessor();
        processor.initDynamicComponent(session, null);
        session.setMessageProcessor(processor);
        folders(session);
        return session;
    }

    /** The library looks at the agreed signature to decide whether a content digest covers the MIME header. */
    private Partnership fromHub() {
        Partnership p = new Partnership("from the hub");
        p.setSenderAS2ID(Support.text(plan, "hub_name"));
        p.setSenderX509Alias(Support.text(plan, "hub_name"));
        p.setReceiverAS2ID(Support.text(plan, "peer_name"));
        p.setReceiverX509Alias(Support.text(plan, "peer_name"));
        p.setSigningAlgorithm(ECryptoAlgorithmSign.DIGEST_SHA_256);
        return p;
    }

    /** Where the library keeps the digests of messages whose receipts are to come. */
    private void folders(AS2Session session) {
        try {
            for (String name : new String[] {"pending", "info"}) {
                new File(Support.text(plan, "scratch"), name).mkdirs();
            }
            session.getMessageProcessor().setPendingMDNFolder(Support.text(plan, "scratch") + "/pending");
            session.getMessageProcessor().setPendingMDNInfoFolder(Support.text(plan, "scratch") + "/info");
        } catch (AS2Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void add(AS2Session session, AbstractProcessorModule module) throws Exception {
        module.initDynamicComponent(session, null);
        session.getMessageProcessor().addModule(module);
    }

    private static void listen(AS2Session session, AbstractActiveNetModule module, int port) throws Exception {
        StringMap where = new StringMap();
        where.putIn(AbstractActiveNetModule.ATTR_ADDRESS, "127.0.0.1");
        where.putIn(AbstractActiveNetModule.ATTR_PORT, Integer.toString(port));
        module.initDynamicComponent(session, where);
        session.getMessageProcessor().addModule(module);
        session.getMessageProcessor().startActiveModules();
    }
}
