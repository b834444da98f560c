package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/as2/smime"
	"firstcopy/configs"
	"firstcopy/configs/strict"
	"firstcopy/gateway"
)

// load reads the configuration file.
func (a *app) load() (configs.Config, error) {
	c, err := configs.Load(a.configFile)
	if at, ok := errors.AsType[*fs.PathError](err); ok && at.Path == a.configFile && errors.Is(err, fs.ErrNotExist) {
		return c, withHint(fmt.Errorf("there is no configuration file %s: %w", a.configFile, at.Err),
			"name it with --config or %s; all but serve and check-config can do with %s alone", envConfig, configs.EnvDatabaseURL)
	}
	if _, ok := errors.AsType[*strict.Error](err); ok {
		return c, withHint(err, "every key is explained in configs/firstcopy.example.yaml")
	}
	return c, err
}

// forwardAttempts is how often a document is tried that an administrator sends:
// as the configuration says, if there is one on this machine.
func (a *app) forwardAttempts() int {
	if c, err := configs.Load(a.configFile); err == nil {
		return c.Forward.Attempts
	}
	return configs.Defaults().Forward.Attempts
}

// station lets the gateway use a configured station's keys.
type station struct{ configs.Station }

var _ gateway.Station = station{}

// DecryptionKeys are those in use now, in the order in which to try them.
func (s station) DecryptionKeys(now time.Time) []smime.Key {
	var keys []smime.Key
	for _, k := range s.Station.DecryptionKeys(now) {
		keys = append(keys, smime.Key{Certificate: k.Certificate, Private: k.Private})
	}
	return keys
}

// SigningKey fails when none of the station's keys is in use: the message is
// then not answered but repeated by its partner, until somebody has seen to it.
func (s station) SigningKey(now time.Time) (smime.Key, error) {
	k, ok := s.Station.SigningKey(now)
	if !ok {
		return smime.Key{}, errors.New("station " + s.AS2ID + " has no key to sign with now")
	}
	return smime.Key{Certificate: k.Certificate, Private: k.Private}, nil
}

// logger writes to the command's standard error as the configuration says.
func logger(cmd *cobra.Command, c configs.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), options))
	}
	return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), options))
}
