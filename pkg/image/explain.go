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

// An Explanation lists the places searched for credentials for an image, and the credentials used. It contains no
// secrets.
type Explanation struct {
	Reference string       `json:"reference"`
	Sources   []AuthSource `json:"sources"` // in search order, up to the one used
	Used      *AuthSource  `json:"used,omitempty"`
	Error     string       `json:"error,omitempty"`
}

// An AuthSource is a file that may have credentials, or a helper listed in registries.conf.
type AuthSource struct {
	File     string `json:"file,omitempty"`
	Origin   string `json:"origin,omitempty"` // its setting, such as $REGISTRY_AUTH_FILE; "" for the usual files
	Exists   bool   `json:"exists"`
	Helper   string `json:"helper,omitempty"`   // the program docker-credential-HELPER was asked
	Username string `json:"username,omitempty"` // of the credentials
	Token    bool   `json:"token,omitempty"`    // the credentials are a token
	Note     string `json:"note,omitempty"`     // why the source is not used although it exists
	used     bool
}

// conclude records the result of a source.
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
		s.Note = "no credentials for it"
	}
}

// Explain explains which file or helper provides the credentials for ref. It runs helpers.
//
// The error is the keychain's error for ref (see [NewKeychain]). The explanation is returned with it, and is nil only
// if registries.conf cannot be read.
func Explain(ref name.Reference, o AuthOptions) (*Explanation, error) {
	_, sources, err := NewKeychain(o).(*keychain).lookup(context.Background(), newAuthTarget(ref.Context()))
	if sources == nil && err != nil {
		return nil, err
	}
	e := &Explanation{Reference: ref.Name(), Sources: sources}
	if err != nil {
		e.Error = err.Error()
	}
	if n := len(sources); n > 0 && sources[n-1].used {
		e.Used = &sources[n-1]
	}
	return e, err
}

// String returns the explanation as text: a line for each source, then the result.
func (e *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Reference)
	for i := range e.Sources {
		fmt.Fprintf(&b, "  %s\n", e.Sources[i].line())
	}
	switch {
	case e.Used != nil:
		fmt.Fprintf(&b, "credentials: %s\n", e.Used.credentials())
	case e.Error != "":
		b.WriteString("credentials: none, because of the error above\n")
	default:
		b.WriteString("credentials: none, requests are anonymous\n")
	}
	return b.String()
}

func (s *AuthSource) line() string {
	where := cmp.Or(s.File, "docker-credential-"+s.Helper)
	if s.Origin != "" {
		where += " (" + s.Origin + ")"
	}
	switch {
	case s.used:
		return where + ": used"
	case !s.Exists:
		return where + ": does not exist"
	}
	return where + ": " + s.Note
}

// credentials describes the credentials: the user, and the file or helper that provides them.
func (s *AuthSource) credentials() string {
	what := "user " + strconv.Quote(s.Username)
	if s.Token {
		what = "a token"
		if s.Username != "" {
			what = "a token of user " + strconv.Quote(s.Username)
		}
	}
	switch {
	case s.Helper == "":
		return what + " from " + s.File
	case s.File == "":
		return what + " from docker-credential-" + s.Helper
	}
	return what + " from docker-credential-" + s.Helper + ", which is named in " + s.File
}
