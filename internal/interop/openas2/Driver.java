import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.activation.CommandMap;
import javax.activation.DataHandler;
import javax.activation.MailcapCommandMap;
import javax.mail.internet.MimeBodyPart;
import javax.mail.util.ByteArrayDataSource;
import org.openas2.BaseSession;
import org.openas2.OpenAS2Exception;
import org.openas2.cert.CertificateFactory;
import org.openas2.cert.PKCS12CertificateFactory;
import org.openas2.message.AS2Message;
import org.openas2.message.FileAttribute;
import org.openas2.message.Message;
import org.openas2.partner.BasePartnershipFactory;
import org.openas2.partner.Partnership;
import org.openas2.partner.PartnershipFactory;
import org.openas2.processor.BaseProcessorModule;
import org.openas2.processor.DefaultProcessor;
import org.openas2.processor.Processor;
import org.openas2.processor.ProcessorModule;
import org.openas2.processor.receiver.AS2MDNReceiverModule;
import org.openas2.processor.receiver.AS2ReceiverModule;
import org.openas2.processor.resender.ResenderModule;
import org.openas2.processor.sender.AS2SenderModule;
import org.openas2.processor.sender.MDNSenderModule;
import org.openas2.processor.sender.SenderModule;
import org.openas2.processor.storage.StorageModule;
import org.openas2.util.AS2Util;
import org.openas2.util.Properties;

/** Driver of OpenAS2 for the interoperability tests: java Driver send|receive PLAN. */
public class Driver {
    /** What the server made of a message: its receipt was taken, or it is to be sent again. */
    record Result(boolean taken, boolean signed, boolean micMatches, String words) {}

    private static final Map<String, String> CIPHERS =
        Map.of("3des", "3DES", "aes128-cbc", "AES128", "aes192-cbc", "AES192", "aes256-cbc", "AES256");

    private final JsonNode plan;
    private final Map<String, Result> results = new ConcurrentHashMap<>();
    private final Session session;

    /** A session without the server's XML files. */
    static final class Session extends BaseSession {
        Session() throws OpenAS2Exception {
            super();
        }

        @Override
        public String getAppVersion() {
            return "";
        }

        @Override
        public String getAppTitle() {
            return "OpenAS2";
        }
    }

    static final class Partnerships extends BasePartnershipFactory {
        @Override
        public Partnership getPartnership(String name) {
            return null; // messages are matched by their AS2 names
        }

        @Override
        public Map<String, Object> getPartners() {
            return Map.of();
        }
    }

    private Driver(JsonNode plan) throws Exception {
        this.plan = plan;
        Map<String, String> properties = new HashMap<>();
        properties.put(Properties.APP_TITLE_PROP, "OpenAS2");
        properties.put(Properties.APP_VERSION_PROP, "");
        Properties.setProperties(properties);
        session = new Session();
        MailcapCommandMap handlers = (MailcapCommandMap) CommandMap.getDefaultCommandMap();
        handlers.addMailcap("multipart/*;; x-java-content-handler=com.sun.mail.handlers.multipart_mixed");
        CommandMap.setDefaultCommandMap(handlers);
        File store = new File(Support.text(plan, "scratch"), "keys.p12");
        try (OutputStream out = new FileOutputStream(store)) {
            Support.keys(plan).store(out, Support.PASSWORD);
        }
        PKCS12CertificateFactory certificates = new PKCS12CertificateFactory();
        certificates.init(session, parameters("filename", store.getPath(), "password", new String(Support.PASSWORD)));
        session.setComponent(CertificateFactory.COMPID_CERTIFICATE_FACTORY, certificates);
        Partnerships partnerships = new Partnerships();
        partnerships.getPartnerships().add(partnership("peer_name", "hub_name"));
        partnerships.getPartnerships().add(partnership("hub_name", "peer_name"));
        session.setComponent(PartnershipFactory.COMPID_PARTNERSHIP_FACTORY, partnerships);
        DefaultProcessor processor = new DefaultProcessor();
        processor.init(session, parameters("pendingmdn", folder("pending"), "pendingmdninfo", folder("info")));
        session.setComponent(Processor.COMPID_PROCESSOR, processor);
        add(new Bookkeeping());
    }

    public static void main(String[] args) throws Exception {
        JsonNode plan = Support.plan(args[1]);
        if (plan.path("quiet").asBoolean()) {
            Logger.getLogger("").setLevel(Level.WARNING);
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
        add(new AS2SenderModule());
        add(new AS2MDNReceiverModule(), "address", "127.0.0.1", "port", plan.get("receipt_port").asText(), "errordir", folder("errors"));
        session.getProcessor().startActiveModules();
        for (JsonNode c : plan.get("cases")) {
            String cipher = Support.text(c, "encrypt");
            if (c.path("pss").asBoolean() || !Support.text(c, "oaep").isEmpty() || !cipher.isEmpty() && !CIPHERS.containsKey(cipher)) {
                Support.outcome(c, "not offered", "has no GCM, PSS or OAEP");
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
        AS2Message message = message(c);
        session.getProcessor().handle(SenderModule.DO_SEND, message, message.getOptions());
        String id = message.getMessageID();
        boolean async = Support.text(c, "receipt").equals("async");
        for (int i = 0; async && i < 100 && !results.containsKey(id); i++) {
            TimeUnit.MILLISECONDS.sleep(100);
        }
        boolean signed = !Support.text(c, "receipt").equals("unsigned");
        Result r = results.get(id);
        if (r == null) {
            Support.outcome(c, "failed", "no receipt that the server could read: " + message.getLogMsg());
        } else if (!r.taken()) {
            boolean negative = r.words().contains("processed/error") && !r.words().contains("MIC");
            Support.outcome(c, negative ? "refused" : "receipt rejected", negative ? r.words().replaceFirst("(?s).*processed/error: *([a-z-]+).*", "processed/error: $1") : r.words());
        } else if (signed && !r.micMatches()) {
            Support.outcome(c, "receipt rejected", "MIC missing or different: " + r.words());
        } else if (signed != r.signed()) {
            Support.outcome(c, "receipt rejected", "signed: " + r.signed());
        } else {
            Support.outcome(c, "accepted", "");
        }
    }

    private AS2Message message(JsonNode c) throws Exception {
        Partnership p = partnership("peer_name", "hub_name");
        p.setAttribute("protocol", "as2");
        p.setAttribute(Partnership.PA_AS2_URL, Support.url(plan, c));
        p.setAttribute(Partnership.PA_AS2_MDN_TO, "openas2@example.com");
        p.setAttribute(Partnership.PA_CONTENT_TRANSFER_ENCODING, "binary");
        p.setAttribute(Partnership.PA_RESEND_REQUIRES_NEW_MESSAGE_ID, "false");
        String sign = Support.text(c, "sign");
        if (!sign.isEmpty()) {
            p.setAttribute(Partnership.PA_SIGNATURE_ALGORITHM, sign.toUpperCase());
        }
        if (!Support.text(c, "encrypt").isEmpty()) {
            p.setAttribute(Partnership.PA_ENCRYPTION_ALGORITHM, CIPHERS.get(Support.text(c, "encrypt")));
        }
        if (!Support.text(c, "compress").isEmpty()) {
            p.setAttribute("compression_type", "ZLIB");
            p.setAttribute("compression_mode", "compress-" + Support.text(c, "compress") + "-signing");
        }
        p.setAttribute(Partnership.PA_AS2_MDN_OPTIONS, Support.text(c, "receipt").equals("unsigned") ? "none"
            : "signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, " + (sign.isEmpty() ? "sha256" : sign));
        if (Support.text(c, "receipt").equals("async")) {
            p.setAttribute(Partnership.PA_AS2_RECEIPT_OPTION, "http://127.0.0.1:" + plan.get("receipt_port").asText() + "/");
        }
        AS2Message message = new AS2Message();
        message.setPartnership(p);
        message.setSubject("Invoice");
        message.updateMessageID();
        MimeBodyPart body = new MimeBodyPart();
        body.setDataHandler(new DataHandler(new ByteArrayDataSource(Support.text(c, "payload").getBytes(StandardCharsets.US_ASCII), "application/EDIFACT")));
        body.setHeader("Content-Type", "application/EDIFACT");
        body.setHeader("Content-Transfer-Encoding", "binary"); // as the server's directory poller does
        body.setHeader("Content-Disposition", "Attachment; filename=\"invoice.edi\"");
        message.setContentDisposition("Attachment; filename=\"invoice.edi\"");
        message.setData(body);
        message.setPayloadFilename("invoice.edi");
        message.setAttribute(FileAttribute.MA_FILENAME, "invoice.edi");
        message.setAttribute(FileAttribute.MA_PENDINGFILE, folder("pending") + "/" + UUID.randomUUID());
        message.setAttribute(FileAttribute.MA_ERROR_DIR, folder("errors"));
        message.setOption(ResenderModule.OPTION_RETRIES, "1"); // with 0 the cause of a failure is lost
        message.setStatus(Message.MSG_STATUS_MSG_SEND);
        return message;
    }

    /** Takes what the server hands on: payloads and receipts to store, messages to send again. */
    private final class Bookkeeping extends BaseProcessorModule {
        @Override
        public boolean canHandle(String action, Message message, Map<Object, Object> options) {
            return action.equals(StorageModule.DO_STORE) || action.equals(StorageModule.DO_STOREMDN) || action.equals(ResenderModule.DO_RESEND);
        }

        @Override
        public void handle(String action, Message message, Map<Object, Object> options) throws OpenAS2Exception {
            try {
                switch (action) {
                    case StorageModule.DO_STORE ->
                        Support.say("message_id", message.getMessageID(), "sha256", Support.sha256(message.getData().getInputStream()));
                    case StorageModule.DO_STOREMDN -> {
                        if (message.getMDN() != null && message.getCalculatedMIC() != null || message.getOptions().containsKey("DIRECTION")) {
                            results.put(message.getMessageID(), taken((AS2Message) message));
                        }
                    }
                    default -> results.put(message.getMessageID(), new Result(false, false, false, Support.words((Throwable) options.get(ResenderModule.OPTION_CAUSE))));
                }
            } catch (Exception e) {
                throw new OpenAS2Exception(e);
            }
        }

        private Result taken(AS2Message message) throws Exception {
            boolean signed = AS2Util.getCryptoHelper().isSigned(message.getMDN().getData());
            return new Result(true, signed, AS2Util.checkMDN(message), String.valueOf(message.getLogMsg()));
        }
    }

    // Receiving.

    private void receive() throws Exception {
        add(new MDNSenderModule());
        int port = plan.get("listen_port").asInt();
        add(new AS2ReceiverModule(), "address", "127.0.0.1", "port", Integer.toString(port), "errordir", folder("errors"), "errorformat", "headers.message-id");
        session.getProcessor().startActiveModules();
        Support.say("listening", "http://127.0.0.1:" + port + "/");
        System.in.readAllBytes();
    }

    // Both.

    private void add(ProcessorModule module, String... pairs) throws Exception {
        module.init(session, parameters(pairs));
        session.getProcessor().getModules().add(module);
    }

    private Partnership partnership(String sender, String receiver) {
        Partnership p = new Partnership();
        for (String id : new String[] {Partnership.PID_AS2, Partnership.PID_X509_ALIAS}) {
            p.setSenderID(id, Support.text(plan, sender));
            p.setReceiverID(id, Support.text(plan, receiver));
        }
        p.setSenderID(Partnership.PID_EMAIL, "sender@example.com");
        p.setReceiverID(Partnership.PID_EMAIL, "receiver@example.com");
        return p;
    }

    private String folder(String name) {
        File folder = new File(Support.text(plan, "scratch"), name);
        folder.mkdirs();
        return folder.getPath();
    }

    private static Map<String, String> parameters(String... pairs) {
        Map<String, String> m = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            m.put(pairs[i], pairs[i + 1]);
        }
        return m;
    }
}
