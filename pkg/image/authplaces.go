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

// AuthOptions say where credentials are looked for. The zero value means where podman and docker look.
type AuthOptions struct {
	// AuthFile is the only file to read; "" means the usual ones. It must exist.
	AuthFile string

	// RegistriesConf is the registries.conf whose credential-helpers are asked; "" means the usual places.
	RegistriesConf string

	// Env returns environment variables; nil is os.Getenv.
	Env func(string) string

	// Log is told of entries that are ignored; nil drops what is logged.
	Log *slog.Logger
}

func (o AuthOptions) env(name string) string { return getenv(o.Env, name) }

func getenv(env func(string) string, name string) string {
	if env == nil {
		return os.Getenv(name)
	}
	return env(name)
}

// home returns the home directory of the user, "" if there is none.
func home(env func(string) string) string {
	if dir := getenv(env, "HOME"); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// configHome returns the directory of the user's configuration, "" if there is none.
func configHome(env func(string) string) string {
	return cmp.Or(getenv(env, "XDG_CONFIG_HOME"), under(home(env), ".config"))
}

// under joins path elements below dir, and returns "" if there is no dir.
func under(dir string, elem ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// An authPlace is a file that may hold credentials.
type authPlace struct {
	path   string
	origin string // the option or variable that names it, or ""
	legacy bool   // a .dockercfg, which has the registries at its top level
	must   bool   // a missing file is an error
}

// authPlaces returns the files to read, in this order, whether they exist or not.
//
// The first is $REGISTRY_AUTH_FILE or else docker's, as in upstream's opm. Then come those of podman, see
// containers-auth.json(5). All paths that we make are absolute, also without a home directory.
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

// dockerPlace returns the configuration file of docker.
func dockerPlace(o AuthOptions) authPlace {
	if dir := o.env("DOCKER_CONFIG"); dir != "" {
		return authPlace{path: filepath.Join(dir, "config.json"), origin: "$DOCKER_CONFIG"}
	}
	return authPlace{path: under(home(o.Env), ".docker", "config.json")}
}

// runtimePlace returns the file that `podman login` writes, which does not outlive the session.
func runtimePlace(o AuthOptions) authPlace {
	if dir := o.env("XDG_RUNTIME_DIR"); dir != "" {
		return authPlace{path: filepath.Join(dir, "containers", "auth.json"), origin: "$XDG_RUNTIME_DIR"}
	}
	if runtime.GOOS != "linux" {
		return authPlace{path: under(home(o.Env), ".config", "containers", "auth.json")}
	}
	return authPlace{path: fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid())}
}
