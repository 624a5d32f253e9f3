package image

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// An Explanation tells which credentials are used for an image and how they were found. It never has a secret.
type Explanation struct {
	Reference string       `json:"reference"`
	Keys      []string     `json:"keys"`    // what entries of files may be called, the most specific first
	Sources   []AuthSource `json:"sources"` // where was looked, in this order, up to the one that is used
	Used      *AuthSource  `json:"used,omitempty"`
	Error     string       `json:"error,omitempty"`
}

// An AuthSource is a place that credentials are looked for in: a file, or a helper that registries.conf lists.
type AuthSource struct {
	File     string `json:"file,omitempty"`
	Origin   string `json:"origin,omitempty"` // what makes it a place, such as $REGISTRY_AUTH_FILE; "" for the usual ones
	Exists   bool   `json:"exists"`
	Readable bool   `json:"readable"`
	Key      string `json:"key,omitempty"`      // the entry that is about the image
	Helper   string `json:"helper,omitempty"`   // who was asked: docker-credential-HELPER
	Username string `json:"username,omitempty"` // of the credentials
	Token    bool   `json:"token,omitempty"`    // the credentials are a token
	Note     string `json:"note,omitempty"`     // why it is not used, though it exists
	used     bool
}

// conclude notes what a source has given.
func (s *AuthSource) conclude(c authn.AuthConfig, err error) {
	s.used = c != (authn.AuthConfig{})
	s.Username = c.Username
	s.Token = c.IdentityToken != "" || c.RegistryToken != ""
	switch {
	case err != nil:
		s.Note = err.Error()
	case s.used || s.Note != "":
	case s.Helper != "":
		s.Note = fmt.Sprintf("docker-credential-%s has no credentials for it", s.Helper)
	default:
		s.Note = "no entry for it"
	}
}

// Explain tells which file, key and helper give the credentials for ref. Helpers are asked.
//
// The error is what [NewKeychain] fails with for it. The explanation comes with it, and is nil only if registries.conf
// cannot be read.
func Explain(ref name.Reference, o AuthOptions) (*Explanation, error) {
	t := newAuthTarget(ref.Context())
	_, sources, err := NewKeychain(o).(*keychain).lookup(context.Background(), t)
	if sources == nil && err != nil {
		return nil, err
	}
	e := &Explanation{Reference: ref.Name(), Keys: t.keys(), Sources: sources}
	if err != nil {
		e.Error = err.Error()
	}
	if n := len(sources); n > 0 && sources[n-1].used {
		e.Used = &sources[n-1]
	}
	return e, err
}

// String returns the explanation for people: a line for every place, and at last the result.
func (e *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: looked for %s\n", e.Reference, strings.Join(e.Keys, ", "))
	for i := range e.Sources {
		fmt.Fprintf(&b, "  %s\n", e.Sources[i].line())
	}
	switch {
	case e.Used != nil:
		fmt.Fprintf(&b, "credentials: %s\n", e.Used.credentials())
	case e.Error != "":
		b.WriteString("credentials: none, because of the error above\n")
	default:
		b.WriteString("credentials: none, the registry is asked anonymously\n")
	}
	return b.String()
}

func (s *AuthSource) line() string {
	where := cmp.Or(s.File, "docker-credential-"+s.Helper)
	if s.Origin != "" {
		where += " (" + s.Origin + ")"
	}
	switch {
	case s.used && s.Key != "":
		return fmt.Sprintf("%s: entry %q", where, s.Key)
	case s.used:
		return where + ": used"
	case !s.Exists:
		return where + ": does not exist"
	}
	return where + ": " + s.Note
}

// credentials says whose credentials they are and where they come from.
func (s *AuthSource) credentials() string {
	what := "user " + strconv.Quote(s.Username)
	if s.Token {
		what = "a token"
		if s.Username != "" {
			what = "a token of user " + strconv.Quote(s.Username)
		}
	}
	if s.Helper != "" {
		what += " from docker-credential-" + s.Helper
	}
	if s.File != "" {
		what += " by " + s.File
	}
	return what
}
