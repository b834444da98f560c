package localpg

import "context"

// What the external tests look at from outside the API.
var (
	ParseMajor     = parseMajor
	InstallCommand = installCommand
	ErrPortTaken   = errPortTaken
)

// FetchFrom fetches release want from a Maven repository into a cache folder
// and returns the folder of the programs.
func FetchFrom(ctx context.Context, repository, cache string, want int, o Options) (string, error) {
	acct, err := serverAccount()
	if err != nil {
		return "", err
	}
	b, err := fetcher{cache: cache, repository: repository, acct: acct}.fetch(ctx, o, want)
	return b.dir, err
}

// Home returns the folder of the server's data.
func (s *Server) Home() string { return s.home.dir }
