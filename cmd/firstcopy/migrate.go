package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/migrations"
)

type migrateOutput struct {
	Applied []appliedOutput `json:"applied"`
	Pending []string        `json:"pending"`
}

type appliedOutput struct {
	Name string    `json:"name"`
	At   time.Time `json:"applied_at"`
	New  bool      `json:"new"` // applied by this command
}

func newMigrateCommand(a *app) *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to date",
		Long: "Applies what the schema lacks, each migration in a transaction of its own. Any number of nodes may try at once.\n" +
			"Migrations go forward only.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := a.databaseURL()
			if err != nil {
				return err
			}
			pool, err := connect(cmd.Context(), url)
			if err != nil {
				return err
			}
			defer pool.Close()
			out, err := migrate(cmd.Context(), pool, status)
			if err != nil {
				return schemaFault(err)
			}
			return a.print(cmd, out, func(w io.Writer) error { return out.write(w, status) })
		},
	}
	cmd.Flags().BoolVar(&status, "status", false, "only tell what is applied and what is pending")
	return cmd
}

// migrate applies what is pending, unless only the status is wanted.
func migrate(ctx context.Context, pool *pgxpool.Pool, onlyStatus bool) (migrateOutput, error) {
	state, err := migrations.Status(ctx, pool)
	if err != nil {
		return migrateOutput{}, err
	}
	pending := state.Pending
	if !onlyStatus {
		if err := migrations.Up(ctx, pool); err != nil {
			return migrateOutput{}, err
		}
		if state, err = migrations.Status(ctx, pool); err != nil {
			return migrateOutput{}, err
		}
	}
	out := migrateOutput{Applied: []appliedOutput{}, Pending: append([]string{}, state.Pending...)}
	for _, m := range state.Applied {
		out.Applied = append(out.Applied, appliedOutput{m.Name, m.At.UTC(), slices.Contains(pending, m.Name)})
	}
	return out, nil
}

// write tells of every migration for the status, and else of what was done.
func (o *migrateOutput) write(w io.Writer, status bool) error {
	if status {
		t := newTable(w, "MIGRATION", "STATE", "APPLIED")
		for _, m := range o.Applied {
			t.row(m.Name, "applied", when(m.At))
		}
		for _, name := range o.Pending {
			t.row(name, "pending", "")
		}
		return t.flush()
	}
	done := 0
	for _, m := range o.Applied {
		if m.New {
			done++
			fmt.Fprintln(w, "applied "+m.Name)
		}
	}
	if done > 0 {
		_, err := fmt.Fprintln(w, "the schema is up to date, "+count(done, "migration", "migrations")+" applied")
		return err
	}
	_, err := fmt.Fprintln(w, "the schema is up to date, nothing to do")
	return err
}
