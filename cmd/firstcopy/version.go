package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"firstcopy/migrations"
)

type versionOutput struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Schema   string `json:"schema"` // two binaries with the same one need the same database
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary and of the schema it needs",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versionOutput{versionText(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, migrations.Checksum()}
			return a.print(cmd, v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "firstcopy %s, %s, %s, schema %.12s\n", v.Version, v.Go, v.Platform, v.Schema)
				return err
			})
		},
	}
}
