package configs

import (
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"
)

// redacted stands for what must not be shown.
const redacted = "[redacted]"

// Secret is text that prints as [redacted] in every way that fmt, slog and the
// encoders know. Convert it to string where it is used.
type Secret string

// String hides the secret; an empty one shows that it is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// LogValue is the configuration for a log line: everything that matters, the
// database by its place alone, keys by their certificates.
func (c Config) LogValue() slog.Value {
	stations := make([]slog.Attr, len(c.Stations))
	for i, s := range c.Stations {
		stations[i] = slog.Any(s.AS2ID, s)
	}
	return slog.GroupValue(
		slog.String("node", c.Node),
		slog.Any("database", c.Database),
		slog.Any("listen", c.Listen),
		slog.String("operator", c.Operator.Address),
		slog.Attr{Key: "stations", Value: slog.GroupValue(stations...)},
		slog.Group("spool", "dir", c.Spool.Dir, "memory", c.Spool.Memory.String()),
		slog.Group("transaction", "lock_timeout", c.Transaction.LockTimeout, "statement_timeout", c.Transaction.StatementTimeout,
			"idle_timeout", c.Transaction.IdleTimeout, "deadline", c.Transaction.Deadline),
		slog.Group("forward", "workers", c.Forward.Workers, "attempts", c.Forward.Attempts, "backoff", c.Forward.Backoff,
			"backoff_max", c.Forward.BackoffMax, "timeout", c.Forward.Timeout),
		slog.Group("sftp", "partners", c.SFTP.Partners, "lease", c.SFTP.Lease),
		slog.Group("log", "level", c.Log.Level, "format", c.Log.Format),
	)
}

// LogValue shows where the database is and as whom, never a password.
func (d Database) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Int("pool", d.Pool)}
	if parsed, err := pgconn.ParseConfig(string(d.URL)); d.URL != "" && err == nil {
		attrs = append(attrs, slog.String("host", parsed.Host), slog.Int("port", int(parsed.Port)),
			slog.String("name", parsed.Database), slog.String("user", parsed.User))
	}
	return slog.GroupValue(attrs...)
}

// LogValue is the public side; of TLS, whether it is on.
func (l Listen) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("address", l.Address), slog.Bool("tls", l.TLS.Enabled()), slog.String("path", l.Path),
		slog.String("header_limit", l.HeaderLimit.String()), slog.String("body_limit", l.BodyLimit.String()),
		slog.Duration("header_timeout", l.HeaderTimeout), slog.Duration("body_timeout", l.BodyTimeout),
		slog.Duration("body_idle_timeout", l.BodyIdleTimeout), slog.Duration("idle_timeout", l.IdleTimeout),
		slog.Int("concurrent", l.Concurrent),
	)
}

// LogValue names the station's keys by their certificates.
func (s Station) LogValue() slog.Value {
	keys := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = fmt.Sprintf("%s for %v", k, k.Use)
	}
	return slog.GroupValue(slog.Any("keys", keys))
}
