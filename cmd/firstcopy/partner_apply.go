package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firstcopy/partners"
)

type changeOutput struct {
	Tenant string            `json:"tenant"`
	Name   string            `json:"name"`
	Action partners.Action   `json:"action"`
	Fields []fieldChangeJSON `json:"fields"`
}

type fieldChangeJSON struct {
	Field string `json:"field"`
	Old   string `json:"old"` // empty: there was none
	New   string `json:"new"` // empty: there is none any more
}

type applyOutput struct {
	DryRun  bool           `json:"dry_run"`
	Changes []changeOutput `json:"changes"`
}

type applyFlags struct {
	files  []string
	tenant string
	opts   partners.ApplyOptions
	who    actor
}

func newPartnerApplyCommand(a *app) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply -f FILE…",
		Short: "Make the agreements what the files say",
		Long: "Compares the files with the database, shows every difference, and applies all of them in one transaction, which\n" +
			"running gateways follow at once. Partners that the files do not name stay as they are, unless --prune is given.\n" +
			"configs/agreements.example.yaml explains every key.",
		Example: "  firstcopy partner apply -f partners.yaml --dry-run\n  firstcopy partner apply -f edi.yaml -f peppol.yaml --prune",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.apply(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, "agreements `FILE`, may be given several times; - is standard input")
	flags.BoolVar(&f.opts.DryRun, "dry-run", false, "show the differences, apply nothing")
	flags.BoolVar(&f.opts.Prune, "prune", false, "remove the partners that no file names, in the tenants that the files name")
	flags.StringVar(&f.tenant, "tenant", "", "refuse agreements of any other `TENANT`")
	f.who.flag(cmd)
	return cmd
}

func (a *app) apply(cmd *cobra.Command, f *applyFlags) error {
	if len(f.files) == 0 {
		return usagef("%s needs a file: -f FILE", cmd.CommandPath())
	}
	agreements, err := readAgreements(cmd, f.files, f.tenant)
	if err != nil {
		return err
	}
	pool, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer pool.Close()
	changes, err := partners.NewStore(pool).Apply(cmd.Context(), f.who.name(), agreements, f.opts)
	if err != nil {
		return err
	}
	out := applyOutput{DryRun: f.opts.DryRun, Changes: []changeOutput{}}
	for _, c := range changes {
		out.Changes = append(out.Changes, changeOf(c))
	}
	return a.print(cmd, out, out.write)
}

// readAgreements reads all files; their faults are reported together.
func readAgreements(cmd *cobra.Command, files []string, tenant string) ([]partners.Agreement, error) {
	var all []partners.Agreement
	var faults []error
	for _, file := range files {
		data, err := readInput(cmd, file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		agreements, warnings, err := partners.ParseFile(filepath.Dir(file), data)
		if err != nil {
			faults = append(faults, placed(file, err))
			continue
		}
		for _, w := range warnings {
			warn(cmd, "%s: %s", file, w)
		}
		for _, a := range agreements {
			if tenant != "" && a.Tenant != tenant {
				faults = append(faults, fmt.Errorf("%s: %s is of tenant %s, not %s", file, a.Name, a.Tenant, tenant))
			}
		}
		all = append(all, agreements...)
	}
	if len(faults) > 0 {
		return nil, withHint(errors.Join(faults...), "nothing was applied; configs/agreements.example.yaml explains every key")
	}
	return all, nil
}

func readInput(cmd *cobra.Command, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(file)
}

// placed puts the file's name before each of its faults.
func placed(file string, err error) error {
	var faults []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		faults = append(faults, errors.New(file+": "+line))
	}
	return errors.Join(faults...)
}

func changeOf(c partners.Change) changeOutput {
	out := changeOutput{Tenant: c.Tenant, Name: c.Name, Action: c.Action, Fields: []fieldChangeJSON{}}
	for _, f := range c.Fields {
		out.Fields = append(out.Fields, fieldChangeJSON(f))
	}
	return out
}

// marks lead the lines of a diff.
var marks = map[partners.Action]string{
	partners.Created: "+", partners.Restored: "+", partners.Changed: "~", partners.Removed: "-", partners.Unchanged: "=",
}

// write is the diff, one block for each partner.
func (c *changeOutput) write(w io.Writer) {
	fmt.Fprintf(w, "%s %s (%s)\n", marks[c.Action], display(c.Tenant, c.Name), c.Action)
	if c.Action == partners.Removed {
		return // that all its terms end goes without saying
	}
	for _, f := range c.Fields {
		switch {
		case f.Old == "":
			fmt.Fprintf(w, "    + %s: %s\n", f.Field, f.New)
		case f.New == "":
			fmt.Fprintf(w, "    - %s: %s\n", f.Field, f.Old)
		default:
			fmt.Fprintf(w, "    ~ %s: %s → %s\n", f.Field, f.Old, f.New)
		}
	}
}

func (o *applyOutput) write(w io.Writer) error {
	var counts []string
	for _, action := range []partners.Action{partners.Created, partners.Restored, partners.Changed, partners.Removed, partners.Unchanged} {
		n := 0
		for i := range o.Changes {
			if o.Changes[i].Action == action {
				n++
				o.Changes[i].write(w)
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, action))
		}
	}
	head := "applied: "
	if o.DryRun {
		head = "dry run, nothing was applied: "
	}
	_, err := fmt.Fprintln(w, head+strings.Join(counts, ", "))
	return err
}
