package main

import (
	"cmp"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Where the configuration is, unless --config says otherwise.
const (
	envConfig     = "FIRSTCOPY_CONFIG"
	defaultConfig = "firstcopy.yaml"
)

// version is set by the linker in releases (-X main.version=…).
var version = ""

// versionText is the release, or what the Go toolchain knows of the build.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// app is what all commands share: the global flags.
type app struct {
	configFile string
	json       bool
}

// newRoot assembles the command tree. Every call makes a new one, with flags of
// its own, so that trees can run side by side.
func newRoot() *cobra.Command {
	a := &app{}
	root := &cobra.Command{
		Use:           "firstcopy",
		Short:         "An AS2 gateway that forwards the first copy of every interchange, once",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(),
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("firstcopy {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%v", err) })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", cmp.Or(os.Getenv(envConfig), defaultConfig), "configuration `FILE`; also "+envConfig)
	flags.BoolVar(&a.json, "json", false, "print one JSON document instead of text")
	return group(root,
		newServeCommand(a),
		newMigrateCommand(a),
		newCheckConfigCommand(a),
		newVersionCommand(a),
		newPartnerCommand(a),
		newLedgerCommand(a),
		newDeliveryCommand(a),
		newDocumentCommand(a),
		newDriftCommand(a),
		newSFTPCommand(a),
		newSendCommand(a),
		newDemoCommand(a),
	)
}
