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

// An Explanation says which credentials are used for an image and where they were looked for. It has no secrets.
type Explanation struct {
	Reference string       `json:"reference"`
	Sources   []AuthSource `json:"sources"` // in the order asked, up to the one that is used
	Used      *AuthSource  `json:"used,omitempty"`
	Error     string       `json:"error,omitempty"`
}

// An AuthSource is a file that may have credentials, or a helper that registries.conf lists.
type AuthSource struct {
	File     string `json:"file,omitempty"`
	Origin   string `json:"origin,omitempty"` // what names it, such as $REGISTRY_AUTH_FILE; "" for the usual files
	Exists   bool   `json:"exists"`
	Helper   string `json:"helper,omitempty"`   // the program asked is docker-credential-HELPER
	Username string `json:"username,omitempty"` // of the credentials
	Token    bool   `json:"token,omitempty"`    // the credentials are a token
	Note     string `json:"note,omitempty"`     // why it is not used, though it exists
	used     bool
}

// conclude notes the answer of a source.
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

// Explain says which file or helper gives the credentials for ref. Helpers are asked.
//
// The error is the one that [NewKeychain] returns for ref. The explanation comes with it, and is nil only if
// registries.conf cannot be read.
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

// String returns the explanation for people: a line for each source, then the result.
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

// credentials says whose the credentials are and where they come from.
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
