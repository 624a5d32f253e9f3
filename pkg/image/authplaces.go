package image

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
)

// AuthOptions configure the lookup of credentials. The zero value uses the same places as podman and docker.
type AuthOptions struct {
	// AuthFile is the only file to read, and must exist; "" means the usual files.
	AuthFile string

	// RegistriesConf is the registries.conf whose credential-helpers are used; "" means the usual files.
	RegistriesConf string

	// Env returns environment variables; nil means os.Getenv.
	Env func(string) string

	// Log gets warnings about ignored entries; nil discards them.
	Log *slog.Logger
}

func (o AuthOptions) env(name string) string { return getenv(o.Env, name) }

func getenv(env func(string) string, name string) string {
	if env == nil {
		return os.Getenv(name)
	}
	return env(name)
}

// home returns the home directory of the user, or "".
func home(env func(string) string) string {
	if dir := getenv(env, "HOME"); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// configHome returns the directory of the user's configuration, or "".
func configHome(env func(string) string) string {
	return cmp.Or(getenv(env, "XDG_CONFIG_HOME"), under(home(env), ".config"))
}

// under joins dir and path elements, and returns "" if dir is "".
func under(dir string, elem ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// An authPlace is the location of a credentials file.
type authPlace struct {
	path   string
	origin string // the option or variable that sets the path, or ""
	legacy bool   // a .dockercfg, with the registries at the top level
	must   bool   // a missing file is an error
}

// authPlaces returns the credentials files to read, in this order, whether or not they exist.
//
// The first is $REGISTRY_AUTH_FILE or else docker's config.json, as in upstream's opm. The files of podman follow,
// see containers-auth.json(5). All constructed paths are absolute, even without a home directory.
func authPlaces(o AuthOptions) []authPlace {
	if o.AuthFile != "" {
		return []authPlace{{path: o.AuthFile, origin: "--authfile", must: true}}
	}
	docker := dockerPlace(o)
	first := docker
	if path := o.env("REGISTRY_AUTH_FILE"); path != "" {
		first = authPlace{path: path, origin: "$REGISTRY_AUTH_FILE"}
	}
	places := []authPlace{
		first,
		runtimePlace(o),
		{path: under(configHome(o.Env), "containers", "auth.json")},
		docker,
		{path: under(home(o.Env), ".dockercfg"), legacy: true},
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(places, func(p authPlace) bool {
		again := seen[p.path]
		seen[p.path] = true
		return again
	})
}

// dockerPlace returns the location of docker's config.json.
func dockerPlace(o AuthOptions) authPlace {
	if dir := o.env("DOCKER_CONFIG"); dir != "" {
		return authPlace{path: filepath.Join(dir, "config.json"), origin: "$DOCKER_CONFIG"}
	}
	return authPlace{path: under(home(o.Env), ".docker", "config.json")}
}

// runtimePlace returns the location of the file that `podman login` writes, which does not outlive the session.
func runtimePlace(o AuthOptions) authPlace {
	if dir := o.env("XDG_RUNTIME_DIR"); dir != "" {
		return authPlace{path: filepath.Join(dir, "containers", "auth.json"), origin: "$XDG_RUNTIME_DIR"}
	}
	if runtime.GOOS != "linux" {
		return authPlace{path: under(home(o.Env), ".config", "containers", "auth.json")}
	}
	return authPlace{path: fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid())}
}
