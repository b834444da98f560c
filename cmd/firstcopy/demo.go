package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"firstcopy/internal/demo"
)

func newDemoCommand(_ *app) *cobra.Command {
	o := demo.Options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play the main job: two partners, real AS2 messages, one forward each",
		Long: "Starts a gateway on a database of its own and plays two trading partners, who repeat, contradict and forge\n" +
			"messages, and one of whom drops files by SFTP as well. The database is created on the server of\n" +
			"FIRSTCOPY_DATABASE_URL, or else on a private PostgreSQL that is started for the purpose. What the demo started, it\n" +
			"stops; it fails if anything came out otherwise than it should.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // from now on a signal kills
			if o.Binary, err = os.Executable(); err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			o.DatabaseURL, o.Out = os.Getenv("FIRSTCOPY_DATABASE_URL"), cmd.OutOrStdout()
			return demo.Run(ctx, o)
		},
	}
	cmd.Flags().BoolVar(&o.Stay, "stay", false, "keep everything running, to try by hand")
	cmd.Flags().StringVar(&o.Dir, "dir", "", "`FOLDER` for keys, configuration and forwarded files; kept (default: a temporary one)")
	return cmd
}
