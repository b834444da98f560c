// Package configs reads the one YAML file that configures a node.
//
// Unknown keys are refused and all faults of the file are reported together,
// with their lines (package configs/strict). What the file does not say has the
// value of Defaults. Secrets are named by *_file keys; the database URL may
// also come from the environment, and nothing else may. Files named in it are
// relative to it. What it holds can be logged: secrets and keys print redacted.
//
// A loaded Config is never changed and may be read by any number of
// goroutines. It is meant for package cmd, which hands out its parts.
package configs

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"firstcopy/configs/strict"
)

// EnvDatabaseURL is the environment variable that stands above database.url
// and database.url_file.
const EnvDatabaseURL = "FIRSTCOPY_DATABASE_URL"

// Config is all that a node is told. configs/firstcopy.example.yaml explains
// every key.
type Config struct {
	Database    Database    `yaml:"database"`
	Node        string      `yaml:"node"` // names this node in logs and in the ledger
	Listen      Listen      `yaml:"listen"`
	Operator    Operator    `yaml:"operator"`
	Stations    []Station   `yaml:"stations"`
	Spool       Spool       `yaml:"spool"`
	Transaction Transaction `yaml:"transaction"`
	Forward     Forward     `yaml:"forward"`
	SFTP        SFTP        `yaml:"sftp"`
	Log         Log         `yaml:"log"`
}

// Database is where everything is kept.
type Database struct {
	URL     Secret `yaml:"url"` // a postgres:// URL or a keyword string, as libpq reads it
	URLFile string `yaml:"url_file"`
	Pool    int    `yaml:"pool"` // connections at most; one more listens for changes
}

// Listen is the public side: AS2 alone.
type Listen struct {
	Address         string        `yaml:"address"` // host:port
	TLS             TLS           `yaml:"tls"`
	Path            string        `yaml:"path"` // the one path that takes messages
	HeaderLimit     strict.Size   `yaml:"header_limit"`
	BodyLimit       strict.Size   `yaml:"body_limit"` // of a message as sent
	HeaderTimeout   time.Duration `yaml:"header_timeout"`
	BodyTimeout     time.Duration `yaml:"body_timeout"`      // for a whole body
	BodyIdleTimeout time.Duration `yaml:"body_idle_timeout"` // between two reads of a body
	IdleTimeout     time.Duration `yaml:"idle_timeout"`      // between two requests of a connection
	Concurrent      int           `yaml:"concurrent"`        // messages in work at once
	Connections     int           `yaml:"connections"`       // open at once, idle ones included
}

// TLS of the public side; without files it speaks plain HTTP, for a proxy in
// front of it.
type TLS struct {
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// Enabled tells whether the public side speaks TLS itself.
func (t TLS) Enabled() bool { return t.CertFile != "" }

// Operator is the side for people and monitoring. It must not be public.
type Operator struct {
	Address string `yaml:"address"` // host:port
}

// Spool holds payloads while they are read.
type Spool struct {
	Dir    string      `yaml:"dir"`    // for temporary files; "" is the system's
	Memory strict.Size `yaml:"memory"` // up to this size, no file is made
}

// Transaction bounds the waits of one ingest transaction. Running out of any
// of them is answered with 503, never with a guess.
type Transaction struct {
	LockTimeout      time.Duration `yaml:"lock_timeout"`
	StatementTimeout time.Duration `yaml:"statement_timeout"`
	IdleTimeout      time.Duration `yaml:"idle_timeout"`
	Deadline         time.Duration `yaml:"deadline"` // of it all, on our side
}

// Forward is the outbox.
type Forward struct {
	Workers    int           `yaml:"workers"`
	Attempts   int           `yaml:"attempts"`    // then a document is stuck
	Backoff    time.Duration `yaml:"backoff"`     // after the first failure; doubles
	BackoffMax time.Duration `yaml:"backoff_max"` // it doubles up to this
	Timeout    time.Duration `yaml:"timeout"`     // of one attempt
}

// SFTP is how files are fetched from partners' servers.
type SFTP struct {
	Partners int           `yaml:"partners"` // polled at once
	Lease    time.Duration `yaml:"lease"`    // after which another node takes over from one that has died
}

// Log is how a node reports.
type Log struct {
	Level  slog.Level `yaml:"level"`
	Format string     `yaml:"format"` // "json" or "text"
}

// Defaults is the configuration of a file that says nothing. It is not
// complete: a database and a station are missing.
func Defaults() Config {
	return Config{
		Database: Database{Pool: 16},
		Listen: Listen{
			Address: ":8080", Path: "/as2",
			HeaderLimit: 64 * strict.KiB, BodyLimit: strict.GiB,
			HeaderTimeout: 10 * time.Second, BodyTimeout: 5 * time.Minute, BodyIdleTimeout: time.Minute,
			IdleTimeout: 2 * time.Minute, Concurrent: 256, Connections: 4096,
		},
		Operator: Operator{Address: "127.0.0.1:8081"},
		Spool:    Spool{Memory: strict.MiB},
		Transaction: Transaction{
			LockTimeout: 2 * time.Second, StatementTimeout: 5 * time.Second,
			IdleTimeout: 5 * time.Second, Deadline: 10 * time.Second,
		},
		Forward: Forward{
			Workers: 16, Attempts: 60,
			Backoff: 5 * time.Second, BackoffMax: 30 * time.Minute, Timeout: 30 * time.Second,
		},
		SFTP: SFTP{Partners: 1024, Lease: 30 * time.Second},
		Log:  Log{Level: slog.LevelInfo, Format: "json"},
	}
}

// Load reads and checks the file at path, reads the files it names, and looks
// at EnvDatabaseURL. The error joins all faults; those of the file are
// *strict.Error with their lines.
func Load(path string) (Config, error) {
	data, err := readSmall(path, strict.MaxBytes)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	config := Defaults()
	l := &loader{dir: filepath.Dir(path), doc: strict.Decode(data, &config)}
	l.database(&config.Database, os.Getenv(EnvDatabaseURL))
	l.node(&config.Node)
	l.listen(&config.Listen)
	l.address("operator.address", config.Operator.Address)
	l.stations(config.Stations)
	l.spool(&config.Spool)
	l.transaction(config.Transaction)
	l.forward(config.Forward)
	l.sftp(config.SFTP)
	if config.Log.Format != "json" && config.Log.Format != "text" {
		l.doc.Reportf("log.format", "%q: one of json, text", config.Log.Format)
	}
	if err := l.doc.Err(); err != nil {
		return Config{}, fmt.Errorf("configuration %s:\n%w", path, err)
	}
	return config, nil
}
