package partners

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// partner reads one agreement and adds it, faulty or not, so that positions in
// the list stay those of the file.
func (r *reader) partner(path string, y partnerYAML) {
	a := Agreement{
		Tenant: cmp.Or(y.Tenant, DefaultTenant), Name: y.Name,
		Windows: Windows{Default: y.Window, Standard: y.Windows},
		Key:     y.Key.key(),
		Drift:   cmp.Or(y.Drift, DriftHold),
		Stale:   y.Stale, SameDocument: y.SameDocument,
		OnDuplicate: cmp.Or(y.OnDuplicate, AnswerProcessed),
		Acknowledge: Acknowledge(y.Acknowledge),
		Sink:        y.Sink, SinkSecretFile: y.SinkSecretFile,
	}
	r.required(path+".name", y.Name)
	r.check(path+".name", checkName(a.Name))
	r.check(path+".tenant", checkName(a.Tenant))
	r.windows(path, &a)
	r.check(path+".drift", oneOf(a.Drift, DriftHold, DriftForward, DriftDiscard))
	r.amendments(path, &a)
	r.check(path+".on_duplicate", oneOf(a.OnDuplicate, AnswerProcessed, AnswerWarning))
	a.Acknowledge.check(a.Drift, func(key string, err error) { r.check(path+".acknowledge."+key, err) })
	r.required(path+".sink", y.Sink)
	r.check(path+".sink", checkSink(y.Sink))
	if y.SinkSecretFile != "" {
		r.check(path+".sink_secret_file", checkSecretFile(y.SinkSecretFile, y.Sink))
	}
	a.Limits = r.limits(path+".limits", y.Limits)
	if y.AS2 != nil {
		r.as2(path+".as2", &a, *y.AS2)
	}
	if y.SFTP != nil {
		r.sftp(path+".sftp", &a, y.SFTP)
	}
	if y.Acknowledge.agreed() {
		r.unanswered(path, &a, y)
	}
	if y.AS2 == nil && y.SFTP == nil {
		r.doc.Reportf(path+".as2", "missing, and sftp as well: one of them, or both")
	}
	r.agreements = append(r.agreements, a)
}

// unanswered warns where acknowledgements are composed and have nowhere to go. They go by the channel that the delivery came on.
func (r *reader) unanswered(path string, a *Agreement, y partnerYAML) {
	if y.AS2 != nil && y.AS2.URL == "" {
		r.warn(path+".acknowledge", a.Name, "acknowledge is agreed, but as2.url is not: what comes by AS2 is answered with nothing")
	}
	if y.SFTP != nil && y.SFTP.Folders.Acknowledgement == "" {
		r.warn(path+".acknowledge", a.Name, "acknowledge is agreed, but sftp.folders.acknowledgement is not: what comes by SFTP is answered with nothing")
	}
}

func (r *reader) required(path, value string) {
	if value == "" {
		r.doc.Reportf(path, "missing")
	}
}

func (r *reader) windows(path string, a *Agreement) {
	if a.Windows.Default == (Window{}) {
		a.Windows.Default = DefaultWindow
	}
	r.warn(path+".window", a.Name, a.Windows.Default.warning())
	for _, standard := range slices.Sorted(maps.Keys(a.Windows.Standard)) {
		at := path + ".windows." + standard
		if err := oneOf(standard, Standards()...); err != nil {
			r.doc.Report(path+".windows", err)
			continue
		}
		if a.Windows.Standard[standard] == (Window{}) { // a key without a value
			r.doc.Reportf(at, "missing")
		}
		r.warn(at, a.Name, a.Windows.Standard[standard].warning())
	}
	if len(a.Windows.Standard) == 0 {
		a.Windows.Standard = nil
	}
}

func (r *reader) limits(path string, y limitsYAML) Limits {
	l := Limits{Payload: DefaultPayload, Concurrent: DefaultConcurrency}
	if y.Payload != nil {
		l.Payload = *y.Payload
	}
	if y.Concurrent != nil {
		l.Concurrent = *y.Concurrent
	}
	if l.Payload < 1 {
		r.doc.Reportf(path+".payload", "at least 1 byte")
	}
	if l.Concurrent < 1 {
		r.doc.Reportf(path+".concurrent", "at least 1")
	}
	return l
}

func (r *reader) as2(path string, a *Agreement, y as2YAML) {
	a.AS2 = AS2{
		ID: y.ID, Station: y.Station,
		AsyncURLs: y.AsyncURLs, URL: y.URL, AllowPrivate: y.AllowPrivate,
		DefaultMIC: cmp.Or(y.DefaultMIC, DefaultMIC),
	}
	r.required(path+".id", y.ID)
	r.check(path+".id", CheckAS2ID(y.ID))
	r.required(path+".station", y.Station)
	r.check(path+".station", CheckAS2ID(y.Station))
	name, err := canonicalDigest(a.AS2.DefaultMIC)
	r.check(path+".default_mic", err)
	a.AS2.DefaultMIC = name
	for i, u := range y.AsyncURLs {
		r.check(fmt.Sprintf("%s.async_urls[%d]", path, i), checkAsyncURL(u, y.AllowPrivate))
	}
	r.require(path+".require", a, y.Require)
	r.certificates(path+".certificates", a, y.Certificates)
	if y.URL != "" {
		r.check(path+".url", checkMessageURL(y.URL, y.AllowPrivate))
		r.check(path+".url", a.reachable())
	}
}

// require reads the floor. What is not said is demanded: security is given up
// in writing only.
func (r *reader) require(path string, a *Agreement, y requireYAML) {
	floor := Require{
		Signed:    y.Signed == nil || *y.Signed,
		Encrypted: y.Encrypted == nil || *y.Encrypted,
		Digests:   canonicalList(r, path+".digests", y.Digests, canonicalDigest),
		Ciphers:   canonicalList(r, path+".ciphers", y.Ciphers, canonicalCipher),
	}
	if !floor.Signed {
		r.warn(path+".signed", a.Name, "signed: false: anybody who knows the identifiers can send in this partner's name")
	}
	a.AS2.Require = floor
}

func canonicalList(r *reader, path string, in []string, canonical func(string) (string, error)) []string {
	var out []string
	for i, s := range in {
		name, err := canonical(s)
		r.check(fmt.Sprintf("%s[%d]", path, i), err)
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *reader) certificates(path string, a *Agreement, list []certificateYAML) {
	before := map[[32]byte]int{}
	readable := true
	for i, y := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		c, ok := r.certificate(at, a.Name, y)
		if !ok {
			readable = false
			continue
		}
		if first, twice := before[c.Fingerprint()]; twice {
			r.doc.Reportf(at+".file", "the same certificate as certificates[%d]", first)
		}
		before[c.Fingerprint()] = i
		a.AS2.Certificates = append(a.AS2.Certificates, c)
	}
	if readable && a.AS2.Require.Signed && len(a.pinned(UseVerify)) == 0 {
		r.doc.Reportf(path, "signed messages are required, and no certificate is there to verify them")
	}
	sortCertificates(a.AS2.Certificates)
}

func (r *reader) certificate(path, partner string, y certificateYAML) (Certificate, bool) {
	if y.File == "" {
		r.doc.Reportf(path+".file", "missing")
		return Certificate{}, false
	}
	file := y.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.dir, file)
	}
	x, err := readCertificate(file)
	if err != nil {
		r.doc.Reportf(path+".file", "%s: %w", file, err)
		return Certificate{}, false
	}
	c := Certificate{X509: x, Uses: y.Use, From: y.From.Time, Until: y.Until.End()}
	if len(c.Uses) == 0 {
		c.Uses = defaultUses(x)
	}
	for i, use := range c.Uses {
		r.check(fmt.Sprintf("%s.use[%d]", path, i), oneOf(use, UseVerify, UseEncrypt))
	}
	slices.Sort(c.Uses)
	c.Uses = slices.Compact(c.Uses)
	if !c.Until.IsZero() && !c.start().Before(c.Until) {
		r.doc.Reportf(path+".until", "ends before it begins, on %s", date(c.start()))
	}
	warning, err := checkKey(x, c.Uses)
	r.check(path+".file", err)
	r.warn(path+".file", partner, warning)
	return c, true
}
