package test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// A ciProject is a git repository with a catalog, whose bundle is in a registry that requires credentials.
type ciProject struct {
	*distribution
	dir    string // of the repository
	tag    string // of the image of its catalog
	config string // the directory of docker's config.json
}

const ciCatalog = `schema: olm.package
name: kiln
defaultChannel: stable
---
schema: olm.channel
package: kiln
name: stable
entries: [{name: kiln.v1.0.0}]
---
schema: olm.bundle
package: kiln
name: kiln.v1.0.0
image: %s/kiln:v1.0.0
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
`

// newProject makes a project, and a remote "origin" that has the same catalog in the branch main.
func newProject(t *testing.T) *ciProject {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs a runner with Linux")
	}
	for _, tool := range []string{"curl", "git", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	p := &ciProject{distribution: newDistribution(t, "htpasswd"), dir: t.TempDir(), config: t.TempDir()}
	p.tag = p.host + "/crafts:v1"
	bundle, err := name.NewTag(p.host + "/kiln:v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(bundle, imageOf(t), p.options()...); err != nil {
		t.Fatal(err)
	}
	p.logIn(t, testPassword)
	if err := os.Mkdir(filepath.Join(p.dir, "catalog"), 0o777); err != nil {
		t.Fatal(err)
	}
	p.write(t, ciCatalog)
	p.git(t, "init", "--quiet", "--initial-branch=main")
	p.git(t, "add", "catalog")
	p.git(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a")
	p.git(t, "remote", "add", "origin", "file://"+p.dir)
	return p
}

// write writes the catalog.
func (p *ciProject) write(t *testing.T, catalog string) {
	t.Helper()
	write(t, filepath.Join(p.dir, "catalog", "kiln.yaml"), strings.ReplaceAll(catalog, "%s", p.host))
}

// addChannel adds a channel to the catalog.
func (p *ciProject) addChannel(t *testing.T, name string) {
	t.Helper()
	p.write(t, ciCatalog+"---\n{schema: olm.channel, package: kiln, name: "+name+", entries: [{name: kiln.v1.0.0}]}\n")
}

// addBundle adds a bundle with a version to the catalog.
func (p *ciProject) addBundle(t *testing.T, version string) {
	t.Helper()
	added := strings.ReplaceAll(ciCatalog[strings.LastIndex(ciCatalog, "---"):], "kiln.v1.0.0", "kiln.v"+version)
	catalog := strings.Replace(ciCatalog, "[{name: kiln.v1.0.0}]",
		"[{name: kiln.v1.0.0}, {name: kiln.v"+version+", replaces: kiln.v1.0.0}]", 1)
	p.write(t, catalog+strings.Replace(added, "version: 1.0.0", "version: "+version, 1))
}

func (p *ciProject) logIn(t *testing.T, password string) {
	t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(testUser + ":" + password))
	write(t, filepath.Join(p.config, "config.json"), fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, p.host, auth))
}

func (p *ciProject) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// run runs a command of a job in the project, and returns its exit status and its output.
func (p *ciProject) run(t *testing.T, cmd *exec.Cmd, env ...string) (code int, out string) {
	t.Helper()
	cmd.Dir = p.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"SSL_CERT_FILE=" + filepath.Join(p.ca, "ca.crt")}, env)
	text, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// published returns the digest of the image at the tag, "" for none.
func (p *ciProject) published(t *testing.T) string {
	t.Helper()
	tag, err := name.NewTag(p.tag)
	if err != nil {
		t.Fatal(err)
	}
	desc, err := remote.Head(tag, p.options()...)
	if err != nil {
		return ""
	}
	return desc.Digest.String()
}

// A job is a run of the action, with the data that GitHub's runner keeps for it.
type job struct {
	*ciProject
	action   action
	values   map[string]string // of expressions
	comments string            // the file with the comments of the pull request
	path     string            // PATH

	temp, output, summary, paths string
}

// newJob starts a job with some inputs.
func (p *ciProject) newJob(t *testing.T, inputs map[string]string) *job {
	t.Helper()
	j := &job{ciProject: p, action: readYAML[action](t, "action.yml"), temp: t.TempDir(), values: map[string]string{
		"github.base_ref": "", "github.token": "secret", "github.repository": "org/repo", "github.event.number": "7",
	}}
	for name, input := range j.action.Inputs {
		j.values["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		j.values["inputs."+name] = value
	}
	bin := t.TempDir()
	installGH(t, bin)
	j.path = bin + ":" + os.Getenv("PATH")
	j.comments = filepath.Join(bin, "comments.json")
	j.output, j.summary, j.paths = filepath.Join(bin, "output"), filepath.Join(bin, "summary"), filepath.Join(bin, "path")
	return j
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// step runs a step of the action as the runner does.
func (j *job) step(t *testing.T, name string) (code int, out string) {
	t.Helper()
	i := slices.IndexFunc(j.action.Runs.Steps, func(s actionStep) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("the action has no step %q", name)
	}
	step := j.action.Runs.Steps[i]
	if step.Shell != "sh" {
		t.Fatalf("%s: the shell is %q", name, step.Shell)
	}
	env := []string{
		"RUNNER_TEMP=" + j.temp, "GITHUB_OUTPUT=" + j.output, "GITHUB_STEP_SUMMARY=" + j.summary, "GITHUB_PATH=" + j.paths,
		"PATH=" + j.path, "DOCKER_CONFIG=" + j.config, envComments + "=" + j.comments,
	}
	j.values["steps.publish.outputs.dir"] = j.lastOutput("dir")
	for key, value := range step.Env {
		env = append(env, key+"="+expression.ReplaceAllStringFunc(value, func(text string) string {
			value, ok := j.values[expression.FindStringSubmatch(text)[1]]
			if !ok {
				t.Errorf("%s: the test has no value for %s", name, text)
			}
			return value
		}))
	}
	return j.run(t, exec.CommandContext(t.Context(), "sh", "-e", write(t, filepath.Join(t.TempDir(), "step.sh"), step.Run)), env...)
}

// lastOutput returns the value that a step set last for an output, "" for none.
func (j *job) lastOutput(name string) (value string) {
	outputs, _ := os.ReadFile(j.output) // missing before the first step
	for line := range strings.Lines(string(outputs)) {
		if text, ok := strings.CutPrefix(line, name+"="); ok {
			value = strings.TrimSuffix(text, "\n")
		}
	}
	return value
}

// want checks the exit status of a step, its outputs and its summary.
func (j *job) want(t *testing.T, step string, code int, output, summary string) {
	t.Helper()
	got, out := j.step(t, step)
	outputs, _ := os.ReadFile(j.output)
	text, _ := os.ReadFile(j.summary)
	if got != code || !strings.Contains(string(outputs), output) || !strings.Contains(string(text), summary) {
		t.Errorf("%s: exit status %d, want %d\n%s\noutputs %s\nwant %s\nsummary %s\nwant %s", step, got, code, out,
			outputs, output, text, summary)
	}
}

// TestActionComments checks that, on a pull request, the action compares the catalog with the one of the base branch,
// and keeps one comment up to date.
func TestActionComments(t *testing.T) {
	p := newProject(t)
	comments := filepath.Join(t.TempDir(), "comments.json")
	const fake = `{"id": 1, "body": "<!-- opm publish catalog -->\nmine", "user": {"type": "User"}}`
	write(t, comments, `[`+fake+`, {"id": 2, "body": "coverage", "user": {"type": "Bot"}}]`)
	var last string
	for _, tt := range []struct {
		channel, outcome string
		code             int
		summary          string
	}{
		{"fast", "outcome=checked\n", 0, "channel `fast` added"},
		{"slow", "outcome=checked\n", 0, "channel `slow` added"},
		{"[", "outcome=rejected\n", 1, "### validate: 1 error"},
	} {
		p.addChannel(t, tt.channel)
		j := p.newJob(t, nil)
		j.comments, j.values["github.base_ref"] = comments, "main"
		j.want(t, "Publish", tt.code, tt.outcome, tt.summary)
		j.want(t, "Comment", 0, "", "")
		all, err := readComments(comments)
		if err != nil || len(all) != 3 || all[0].Body != "<!-- opm publish catalog -->\nmine" || all[1].Body != "coverage" {
			t.Fatalf("got %+v, %v", all, err)
		}
		last = all[2].Body
		if !strings.HasPrefix(last, "<!-- opm publish catalog -->\n## ") || !strings.Contains(last, tt.summary) {
			t.Errorf("got the comment\n%s\nwant in it %s", last, tt.summary)
		}
		if tt.code > 0 { // as in a fork, whose token may only read
			j.values["github.token"] = "other"
			if code, out := j.step(t, "Comment"); code != 0 || !strings.Contains(out, "::warning::no comment: ") {
				t.Errorf("exit status %d: %s", code, out)
			}
		}
	}
}

// TestActionTwice checks that a job may use the action for two catalogs.
func TestActionTwice(t *testing.T) {
	shared.OnlyFull(t)
	p := newProject(t)
	if err := os.CopyFS(filepath.Join(p.dir, "other"), os.DirFS(filepath.Join(p.dir, "catalog"))); err != nil {
		t.Fatal(err)
	}
	p.addChannel(t, "fast")
	j := p.newJob(t, nil)
	write(t, j.comments, "[]")
	j.values["github.base_ref"] = "main"
	for catalog, summary := range map[string]string{"catalog": "channel `fast` added", "other": "1 package added"} {
		j.values["inputs.catalog"] = catalog
		j.want(t, "Publish", 0, "outcome=checked\n", summary)
		j.want(t, "Comment", 0, "", "")
	}
	if all, err := readComments(j.comments); err != nil || len(all) != 2 {
		t.Errorf("got %+v, %v", all, err)
	}
}

// TestActionCatalogs checks that one use of the action compares each of several catalogs with its own one of the base
// branch, annotates the lines of problems, and publishes all catalogs or none.
func TestActionCatalogs(t *testing.T) {
	p := newProject(t)
	catalogs := filepath.Join(p.dir, "catalogs")
	for _, name := range []string{"v1", "v2"} {
		if err := os.CopyFS(filepath.Join(catalogs, name), os.DirFS(filepath.Join(p.dir, "catalog"))); err != nil {
			t.Fatal(err)
		}
	}
	p.git(t, "add", "catalogs/v1")
	p.git(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=b")
	inputs := map[string]string{"catalog": "catalogs/"}
	j := p.newJob(t, inputs)
	j.values["github.base_ref"] = "main"
	write(t, j.comments, "[]")
	j.want(t, "Publish", 0, "outcome=checked\n", "## Checked `v1`")
	text, err := os.ReadFile(j.summary)
	if err != nil || !strings.Contains(string(text), "| diff | passed | no changes |") ||
		!strings.Contains(string(text), "| diff | passed | 1 package differs |") {
		t.Errorf("%v, got %s", err, text)
	}
	j.want(t, "Comment", 0, "", "")
	if all, err := readComments(j.comments); err != nil || len(all) != 1 {
		t.Errorf("got %+v, %v", all, err)
	}

	inputs["tag"], inputs["push"], inputs["args"] = p.host+"/crafts:{{.Catalog}}", "true", "--base-image scratch"
	p.newJob(t, inputs).want(t, "Publish", 0, "outcome=published\ndigest=sha256:", "## 2 catalogs: 2 published")
	write(t, filepath.Join(catalogs, "v2", "kiln.yaml"),
		strings.Replace(strings.ReplaceAll(ciCatalog, "%s", p.host), "defaultChannel: stable", "defaultChannel: fast", 1))
	p.tag = p.host + "/crafts:v1"
	before := p.published(t)
	write(t, filepath.Join(catalogs, "v1", "other.yaml"),
		"{schema: olm.channel, package: kiln, name: other, entries: [{name: kiln.v1.0.0}]}\n")
	j = p.newJob(t, inputs)
	code, out := j.step(t, "Publish")
	if want := "\n::error file=catalogs/v2/kiln.yaml,line=3,col=17,"; code != 1 || !strings.Contains("\n"+out, want) {
		t.Errorf("exit status %d\n%s\nwant %s", code, out, want)
	}
	if got := j.lastOutput("outcome"); got != "rejected" || before == "" || p.published(t) != before {
		t.Errorf("the outcome is %q, the image was %q and is %q", got, before, p.published(t))
	}
}

// TestActionPushes checks that the action pushes a changed image to a registry that requires credentials.
func TestActionPushes(t *testing.T) {
	p := newProject(t)
	const args = "--base-image scratch"
	inputs := map[string]string{"tag": p.tag, "push": "true", "args": args}
	for _, want := range []string{"outcome=published\ndigest=sha256:", "outcome=unchanged\ndigest=sha256:"} {
		p.newJob(t, inputs).want(t, "Publish", 0, want, "| push | passed |")
	}
	before := p.published(t)
	p.addChannel(t, "fast")
	p.newJob(t, map[string]string{"tag": p.tag, "args": args}).want(t, "Publish", 0, "outcome=checked\ndigest=\n", "channel `fast` added")
	p.logIn(t, "wrong")
	p.newJob(t, inputs).want(t, "Publish", 2, "outcome=failed\n", "| push | **failed** |")
	if now := p.published(t); before == "" || now != before {
		t.Errorf("the image was %q and is %q", before, now)
	}
	p.logIn(t, testPassword)
	p.newJob(t, inputs).want(t, "Publish", 0, "outcome=published\n", "channel `fast` added")
	if now := p.published(t); now == before {
		t.Error("the image did not change")
	}
	j := p.newJob(t, map[string]string{"tag": "crafts", "push": "true"})
	if code, out := j.step(t, "Publish"); code != 1 || !strings.Contains(out, `Error: --tag "crafts": `) {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestActionInstalls checks that the action installs a release of opm, unless its checksum is wrong.
func TestActionInstalls(t *testing.T) {
	const program, file = "#!/bin/sh\necho installed\n", "/opm-toolchain/opm/releases/latest/download/"
	name := "linux-" + runtime.GOARCH + "-opm"
	checksums := fmt.Sprintf("%x  %s\n%x  other\n", sha256.Sum256([]byte(program)), name, sha256.Sum256(nil))
	files := map[string]string{file + name: program, file + "checksums.txt": checksums}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := files[r.URL.Path]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(files[r.URL.Path]))
	}))
	t.Cleanup(server.Close)
	p := newProject(t)
	install := func(version string) (*job, int) {
		j := p.newJob(t, map[string]string{"version": version})
		_, j.path, _ = strings.Cut(os.Getenv("PATH"), ":") // without opm
		j.values["github.server_url"] = server.URL
		code, out := j.step(t, "Install opm")
		t.Logf("%s: exit status %d: %s", version, code, out)
		return j, code
	}
	j, code := install("latest")
	dir, err := os.ReadFile(j.paths)
	if err != nil || code != 0 {
		t.Fatalf("exit status %d, %v", code, err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(dir)), "opm")).Output()
	if err != nil || string(out) != "installed\n" {
		t.Errorf("got %q, %v", out, err)
	}
	files[file+name] += "changed"
	for _, version := range []string{"latest", "v0.0.0"} {
		j, code := install(version)
		if _, err := os.Stat(j.paths); code == 0 || err == nil {
			t.Errorf("%s: exit status %d, %v", version, code, err)
		}
	}
}

// A gitlabAPI is a stand-in for GitLab's API. It has the notes of one merge request, number 7 of project 5, and the user
// with the id 1.
type gitlabAPI struct{ notes []gitlabNote }

type gitlabNote struct {
	ID     int    `json:"id"`
	Body   string `json:"body"`
	Author struct {
		ID int `json:"id"`
	} `json:"author"`
}

func (g *gitlabAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const notes = "/projects/5/merge_requests/7/notes"
	if r.Header.Get("PRIVATE-TOKEN") != "secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch request := r.Method + " " + r.URL.Path; request {
	case "GET /user":
		fmt.Fprint(w, `{"id": 1}`)
	case "GET " + notes:
		_ = json.NewEncoder(w).Encode(g.notes)
	case "POST " + notes:
		note := gitlabNote{ID: 100 + len(g.notes), Body: r.FormValue("body")}
		note.Author.ID = 1
		g.notes = append(g.notes, note)
	default:
		for i := range g.notes {
			if request == fmt.Sprintf("PUT %s/%d", notes, g.notes[i].ID) {
				g.notes[i].Body = r.FormValue("body")
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}
}

// runGitlab runs a job of GitLab as the runner does.
func (p *ciProject) runGitlab(t *testing.T, job gitlabJob, password, api string) (code int, out string) {
	t.Helper()
	values := map[string]string{
		"CI_REGISTRY": p.host, "CI_REGISTRY_IMAGE": p.host + "/org/repo", "CI_PROJECT_DIR": p.dir,
		"CI_REGISTRY_USER": testUser, "CI_REGISTRY_PASSWORD": password, "CI_API_V4_URL": api, "CI_PROJECT_ID": "5",
		"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "GITLAB_TOKEN": "secret",
	}
	var env []string
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	ci := readYAML[gitlabCI](t, "examples/ci/gitlab-ci.yml")
	for _, variables := range []map[string]string{ci.Variables, ci.Template.Variables, job.Variables} {
		for name, value := range variables {
			env = append(env, name+"="+os.Expand(value, func(name string) string { return values[name] }))
		}
	}
	t.Cleanup(func() { os.Remove(p.dir + ".auth.json") })
	script := strings.Join(append(ci.Template.BeforeScript, job.Script...), "\n")
	return p.run(t, exec.CommandContext(t.Context(), "sh", "-ec", script), env...)
}

// TestGitlabComments checks that the impact of a merge request is one comment, which is kept up to date.
func TestGitlabComments(t *testing.T) {
	shared.OnlyFull(t)
	p := newProject(t)
	ci := readYAML[gitlabCI](t, "examples/ci/gitlab-ci.yml")
	marker := ci.Impact.Variables["MARKER"]
	fake := gitlabNote{ID: 1, Body: marker + "\nmine"}
	fake.Author.ID = 2
	api := &gitlabAPI{[]gitlabNote{fake}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	for _, version := range []string{"1.1.0", "1.2.0"} {
		p.addBundle(t, version)
		if code, out := p.runGitlab(t, ci.Impact, testPassword, server.URL); code != 0 {
			t.Fatalf("exit status %d: %s", code, out)
		}
		if len(api.notes) != 2 || api.notes[0] != fake {
			t.Fatalf("got %+v", api.notes)
		}
		if body := api.notes[1].Body; !strings.HasPrefix(body, marker+"\n") || !strings.Contains(body, "kiln.v"+version) {
			t.Errorf("got the comment\n%s\nwant the impact of %s", body, version)
		}
	}
}

// TestGitlabRuns checks that GitLab's jobs check and publish, with the credentials that GitLab provides.
func TestGitlabRuns(t *testing.T) {
	shared.OnlyFull(t)
	t.Parallel()
	p := newProject(t)
	p.tag = p.host + "/org/repo/catalog:latest"
	ci := readYAML[gitlabCI](t, "examples/ci/gitlab-ci.yml")
	run := func(job gitlabJob, password string) (code int, out string) {
		t.Helper()
		return p.runGitlab(t, job, password, "")
	}
	if code, out := run(ci.Check, testPassword); code != 0 || p.published(t) != "" {
		t.Errorf("check: exit status %d: %s", code, out)
	}
	if code, out := run(ci.Publish, "wrong"); code != ci.Template.Retry.ExitCodes || p.published(t) != "" {
		t.Errorf("publish with the wrong password: exit status %d: %s", code, out)
	}
	if code, out := run(ci.Publish, testPassword); code != 0 || p.published(t) == "" {
		t.Errorf("publish: exit status %d: %s", code, out)
	}
	for _, name := range ci.Template.Artifacts.Paths {
		if text, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || !strings.Contains(string(text), "## Published ") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// TestTektonRuns checks that Tekton's tasks publish, and write the impact of a bundle that is not published.
func TestTektonRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.runTekton(t, "tekton.yaml")
	if p.published(t) == "" {
		t.Error("nothing is published")
	}
	p.addBundle(t, "1.1.0")
	p.runTekton(t, "tekton-pull-request.yaml")
	text, err := os.ReadFile(filepath.Join(p.dir, "impact.md"))
	if err != nil || !strings.Contains(string(text), "kiln.v1.1.0") {
		t.Errorf("got %s, %v", text, err)
	}
}

// runTekton runs the step of the Task in an example.
func (p *ciProject) runTekton(t *testing.T, name string) {
	t.Helper()
	task, _ := readTekton(t, name)
	step := task.Spec.Steps[0]
	values := strings.NewReplacer("$(params.catalog)", "catalog", "$(params.tag)", p.tag, "$(params.opm-image)", "image",
		"$(workspaces.source.path)", p.dir, "$(workspaces.dockerconfig.path)", p.config)
	if dir := values.Replace(step.WorkingDir); dir != p.dir {
		t.Errorf("it works in %s", dir)
	}
	var args, env []string
	for _, arg := range step.Args {
		if arg == "$(params.args[*])" {
			args = append(args, "--base-image", "scratch")
			continue
		}
		args = append(args, values.Replace(arg))
	}
	for _, v := range step.Env {
		env = append(env, v.Name+"="+values.Replace(v.Value))
	}
	if rest := strings.Join(append(args, env...), " "); strings.Contains(rest, "$(") {
		t.Errorf("no values for %s", rest)
	}
	program := "sh"
	if step.Script != "" {
		args = []string{"-ec", step.Script}
	} else {
		program = filepath.Base(step.Command[0])
	}
	if code, out := p.run(t, exec.CommandContext(t.Context(), program, args...), env...); code != 0 {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestPreCommitRuns checks that the hooks find problems and format files, and that both make a commit fail.
func TestPreCommitRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	run := func(id string, files ...string) (code int, out string) {
		t.Helper()
		hooks := readYAML[[]hook](t, ".pre-commit-hooks.yaml")
		h := hooks[slices.IndexFunc(hooks, func(h hook) bool { return h.ID == id })]
		args := append(strings.Fields(h.Entry), h.Args...)
		if h.PassFilenames == nil || *h.PassFilenames {
			args = append(args, files...)
		}
		return p.run(t, exec.CommandContext(t.Context(), args[0], args[1:]...))
	}
	if code, out := run("opm-validate"); code != 0 {
		t.Errorf("exit status %d: %s", code, out)
	}
	p.write(t, strings.Replace(ciCatalog, "defaultChannel: stable", `defaultChannel: "none"`, 1))
	if code, out := run("opm-validate"); code != 1 || !strings.Contains(out, "catalog/kiln.yaml:3:") {
		t.Errorf("exit status %d: %s", code, out)
	}
	if code, out := run("opm-fmt", "catalog/kiln.yaml"); code != 0 || !strings.Contains(out, "catalog/kiln.yaml") {
		t.Errorf("exit status %d: %s", code, out)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "catalog", "kiln.yaml"))
	if err != nil || !strings.Contains(string(text), "defaultChannel: none\n") {
		t.Errorf("got %s, %v", text, err)
	}
}
