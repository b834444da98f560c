package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/configs"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/migrations"
	"firstcopy/sftpwatch"
)

// grace is how long an orderly stop waits for messages and forwards under way.
// Process managers commonly kill after 30 s.
const grace = 20 * time.Second

func newServeCommand(a *app) *cobra.Command {
	var migrateFirst bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a gateway node",
		Long: "Runs a gateway node until SIGINT or SIGTERM, which let messages and forwards under way finish; a second signal ends\n" +
			"it at once, without harm: what was not answered is repeated by the partner, what was not forwarded is taken up again.\n" +
			"Any number of nodes may share one database. Logs go to standard error.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // from now on a signal kills
			return serve(ctx, cmd, c, migrateFirst)
		},
	}
	cmd.Flags().BoolVar(&migrateFirst, "migrate", false, "bring the database's schema up to date first")
	return cmd
}

func serve(ctx context.Context, cmd *cobra.Command, c configs.Config, migrateFirst bool) error {
	nodeConfig, err := gatewayConfig(c)
	if err != nil {
		return err
	}
	if err := prepareDatabase(ctx, string(c.Database.URL), migrateFirst); err != nil {
		return err
	}
	collectSeldom()
	node, err := gateway.Open(ctx, nodeConfig, logger(cmd, c.Log))
	if err != nil {
		return err
	}
	return node.Run(ctx)
}

// collectSeldom trades memory for time: what lives from one message to the next
// is a few MiB, and to collect whenever as much again has been allocated took a
// tenth of the processor. GOGC, where it is set, has the last word.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// prepareDatabase looks at the database before the node does, to say clearly
// what is wrong with it.
func prepareDatabase(ctx context.Context, url string, migrateFirst bool) error {
	pool, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if migrateFirst {
		if err := migrations.Up(ctx, pool); err != nil {
			return schemaFault(err)
		}
	}
	if err := migrations.Check(ctx, pool); err != nil {
		return schemaFault(err)
	}
	return nil
}

// gatewayConfig gives the gateway the file's values in its own terms.
func gatewayConfig(c configs.Config) (gateway.Config, error) {
	secure, err := tlsConfig(c.Listen.TLS)
	if err != nil {
		return gateway.Config{}, err
	}
	g := gateway.Config{
		Version: versionText(), Node: c.Node, DatabaseURL: string(c.Database.URL), Connections: c.Database.Pool,
		Listen: gateway.Listen{Address: c.Listen.Address, TLS: secure, Path: c.Listen.Path, HeaderLimit: int(c.Listen.HeaderLimit),
			HeaderTimeout: c.Listen.HeaderTimeout, IdleTimeout: c.Listen.IdleTimeout, Connections: c.Listen.Connections},
		Operator: c.Operator.Address,
		Stations: map[string]gateway.Station{}, Certificates: map[string][]*x509.Certificate{},
		Limits: gateway.Limits{Body: int64(c.Listen.BodyLimit), BodyIdle: c.Listen.BodyIdleTimeout, BodyTotal: c.Listen.BodyTimeout,
			Concurrent: c.Listen.Concurrent, SpoolDir: c.Spool.Dir, SpoolMemory: int(c.Spool.Memory)},
		Transaction: gateway.Transaction(c.Transaction),
		Forward: forward.Config{Workers: c.Forward.Workers, Attempts: c.Forward.Attempts, Backoff: c.Forward.Backoff,
			BackoffMax: c.Forward.BackoffMax, Timeout: c.Forward.Timeout},
		SFTP:  sftpwatch.Config{Partners: c.SFTP.Partners, Lease: c.SFTP.Lease},
		Grace: grace,
	}
	for _, s := range c.Stations {
		g.Stations[s.AS2ID] = station{s}
		for _, k := range s.Keys {
			g.Certificates[s.AS2ID] = append(g.Certificates[s.AS2ID], k.Certificate)
		}
	}
	return g, nil
}

// tlsConfig reads the listener's key pair; nil for plain HTTP.
func tlsConfig(c configs.TLS) (*tls.Config, error) {
	if !c.Enabled() {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("listen.tls: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
