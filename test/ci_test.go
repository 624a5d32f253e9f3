package test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v4"
)

// The types of files for other programs have the keys that we use: another key is a mistake.
type (
	// An action is action.yml, see https://docs.github.com/actions/reference/workflows-and-actions/metadata-syntax.
	action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Outputs           map[string]struct{ Description, Value string }
		Runs              struct {
			Using string
			Steps []actionStep
		}
	}
	actionStep struct {
		Name       string
		ID         string `yaml:"id,omitempty"`
		If         string `yaml:"if,omitempty"`
		Shell, Run string
		Env        map[string]string
	}

	// A hook is in .pre-commit-hooks.yaml, see https://pre-commit.com/#creating-new-hooks.
	hook struct {
		ID, Name, Description, Entry, Language string
		Args                                   []string
		TypesOr                                []string `yaml:"types_or"`
		PassFilenames                          *bool    `yaml:"pass_filenames"`
	}
	preCommitConfig struct {
		Repos []struct {
			Repo, Rev string
			Hooks     []struct{ ID, Files string }
		}
	}

	// A gitlabCI is .gitlab-ci.yml, see https://docs.gitlab.com/ci/yaml.
	gitlabCI struct {
		Variables map[string]string
		Template  gitlabJob `yaml:".opm"`
		Check     gitlabJob
		Impact    gitlabJob
		Publish   gitlabJob
	}
	gitlabJob struct {
		Extends, Image string
		Variables      map[string]string
		BeforeScript   []string `yaml:"before_script"`
		Script         []string
		Rules          []struct{ If string }
		ResourceGroup  string `yaml:"resource_group"`
		Artifacts      struct {
			When    string
			Paths   []string
			Reports struct{ CodeQuality string }
		}
		Retry struct {
			Max       int
			ExitCodes int `yaml:"exit_codes"`
		}
	}

	// A tektonObject is a Task or a Pipeline, see https://tekton.dev/docs/pipelines/pipeline-api.
	tektonObject struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			Description string
			Params      []tektonParam
			Workspaces  []struct {
				Name, Description string
				Optional          bool
			}
			Steps []tektonStep
			Tasks []tektonTask
		}
	}
	tektonParam struct {
		Name, Description, Type string
		Default                 any
	}
	tektonStep struct {
		Name, Image   string
		WorkingDir    string `yaml:"workingDir"`
		Env           []tektonValue
		Command, Args []string
		Script        string
	}
	tektonTask struct {
		Name     string
		RunAfter []string `yaml:"runAfter"`
		Retries  int
		TaskRef  struct {
			Name, Resolver string
			Params         []tektonValue
		} `yaml:"taskRef"`
		Params     []tektonValue
		Workspaces []struct{ Name, Workspace string }
	}
	tektonValue struct{ Name, Value string }
)

// readYAML reads a file of the repository strictly.
func readYAML[T any](t *testing.T, name string, options ...yaml.Option) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(text, &v, append(options, yaml.WithKnownFields())...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// lint returns the findings of actionlint about a workflow of a repository that has the action in its root, with
// shellcheck if that is installed.
func lint(t *testing.T, workflow string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "action.yml"), string(text))
	shellcheck, _ := exec.LookPath("shellcheck")
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{Shellcheck: shellcheck, WorkingDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	project, err := actionlint.NewProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.Lint(filepath.Join(dir, "workflow.yaml"), []byte(workflow), project)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		t.Errorf("%v\n%s", e, workflow)
	}
}

// TestWorkflows checks that the example workflows are valid, and use only inputs that the action has.
func TestWorkflows(t *testing.T) {
	names, err := filepath.Glob("../examples/ci/github-*.yaml")
	if err != nil || len(names) < 2 {
		t.Fatalf("found %v, %v", names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		workflow := strings.ReplaceAll(string(text), "opm-toolchain/opm@main", "./")
		if workflow == string(text) {
			t.Errorf("%s does not use the action", name)
		}
		lint(t, workflow)
	}
}

// TestOwnWorkflows checks that the workflows of this repository are valid.
func TestOwnWorkflows(t *testing.T) {
	names, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(names) != 2 {
		t.Fatalf("found %v, %v", names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lint(t, string(text))
	}
}

// TestNotes checks the notes of a release, which are the section of its version in CHANGELOG.md.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## v1.10.0\n\n- Later.\n\n## v1.1.0\n\n### List\n\n- First.\n")
	script, err := filepath.Abs("../scripts/notes.sh")
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"v1.10.0": "\n- Later.\n", "v1.1.0": "\n### List\n\n- First.\n", "v1.1": ""} {
		cmd := exec.CommandContext(t.Context(), "sh", script, version)
		cmd.Dir = dir
		if got, err := cmd.Output(); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("notes of %s: %v, %q, want %q", version, err, got, want)
		}
	}
}

// TestAction checks that the steps of the action are valid as steps of a workflow, the only form that linters support.
func TestAction(t *testing.T) {
	a := readYAML[action](t, "action.yml")
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		t.Errorf("got %+v", a)
	}
	inputs, outputs := map[string]any{}, map[string]string{}
	for name, input := range a.Inputs {
		inputs[name] = map[string]string{"type": "string", "description": input.Description, "default": input.Default}
	}
	for name, output := range a.Outputs {
		outputs[name] = output.Value
	}
	workflow, err := yaml.Marshal(map[string]any{
		"on": map[string]any{"workflow_call": map[string]any{"inputs": inputs}},
		"jobs": map[string]any{"action": map[string]any{
			"runs-on": "ubuntu-latest", "outputs": outputs, "steps": a.Runs.Steps,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	lint(t, string(workflow))
}

func TestPreCommitHooks(t *testing.T) {
	config := readYAML[preCommitConfig](t, "examples/ci/pre-commit-config.yaml")
	hooks, systems := map[string]bool{}, map[string]bool{}
	for _, h := range readYAML[[]hook](t, ".pre-commit-hooks.yaml") {
		if id, ok := strings.CutSuffix(h.ID, "-system"); ok {
			systems[id] = h.Language == "system"
			continue
		}
		hooks[h.ID] = true
		if h.Name == "" || h.Description == "" || !strings.HasPrefix(h.Entry, "opm ") || h.Language != "golang" {
			t.Errorf("got %+v", h)
		}
	}
	for _, h := range config.Repos[0].Hooks {
		if !hooks[h.ID] || !systems[h.ID] || h.Files == "" {
			t.Errorf("the example uses %+v", h)
		}
		delete(hooks, h.ID)
	}
	if len(hooks) > 0 {
		t.Errorf("the example does not use %v", hooks)
	}
}

// lintShell checks a shell script with the linters that are installed.
func lintShell(t *testing.T, script string) {
	t.Helper()
	for _, linter := range []string{"sh -n", "shellcheck --shell=sh -"} {
		args := strings.Fields(linter)
		if _, err := exec.LookPath(args[0]); err != nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", linter, err, out)
		}
	}
}

// TestGitlab checks that the shell scripts of GitLab's jobs are valid.
func TestGitlab(t *testing.T) {
	ci := readYAML[gitlabCI](t, "examples/ci/gitlab-ci.yml")
	for _, job := range []gitlabJob{ci.Check, ci.Impact, ci.Publish} {
		if job.Extends != ".opm" || len(job.Rules) == 0 {
			t.Errorf("got %+v", job)
		}
		lintShell(t, strings.Join(append(ci.Template.BeforeScript, job.Script...), "\n")+"\n")
	}
	if report := ci.Check.Artifacts.Reports.CodeQuality; !strings.Contains(ci.Check.Script[0], "-o gitlab >"+report) {
		t.Errorf("the report %q is not written by %q", report, ci.Check.Script[0])
	}
}

// TestTekton checks that Tekton's objects only refer to params, workspaces and tasks that exist.
func TestTekton(t *testing.T) {
	for _, name := range []string{"tekton.yaml", "tekton-pull-request.yaml"} {
		t.Run(name, func(t *testing.T) { testTekton(t, name) })
	}
}

func testTekton(t *testing.T, name string) {
	task, pipeline := readTekton(t, name)
	for _, p := range task.Spec.Params {
		if !strings.Contains(fmt.Sprint(task.Spec.Steps), "$(params."+p.Name) {
			t.Errorf("the task does not use its param %s", p.Name)
		}
	}
	lintShell(t, task.Spec.Steps[0].Script)
	used := pipeline.Spec.Tasks[1]
	for i, task := range pipeline.Spec.Tasks[1:] {
		if task.RunAfter[0] != pipeline.Spec.Tasks[i].Name {
			t.Errorf("got %+v", task)
		}
	}
	if used.TaskRef.Name != task.Metadata.Name {
		t.Errorf("got %+v", used)
	}
	given, declared := map[string]bool{}, map[string]bool{}
	for _, p := range used.Params {
		given[p.Name] = true
	}
	for _, p := range pipeline.Spec.Params {
		declared["$(params."+p.Name+")"] = true
	}
	for _, p := range task.Spec.Params {
		if p.Default == nil && !given[p.Name] {
			t.Errorf("the pipeline does not give the param %s", p.Name)
		}
		delete(given, p.Name)
	}
	for _, task := range pipeline.Spec.Tasks {
		for _, p := range task.Params {
			if strings.Contains(p.Value, "$(") && !declared[p.Value] {
				t.Errorf("the pipeline does not have %s", p.Value)
			}
		}
		for _, w := range task.Workspaces {
			if !strings.Contains(fmt.Sprint(pipeline.Spec.Workspaces), "{"+w.Workspace+" ") {
				t.Errorf("the pipeline does not have the workspace %s", w.Workspace)
			}
		}
	}
	if len(given) > 0 {
		t.Errorf("the task does not have the params %v", given)
	}
}

func readTekton(t *testing.T, name string) (task, pipeline tektonObject) {
	t.Helper()
	all := readYAML[[]tektonObject](t, "examples/ci/"+name, yaml.WithAllDocuments())
	if len(all) != 2 || all[0].Kind != "Task" || all[1].Kind != "Pipeline" {
		t.Fatalf("got %+v", all)
	}
	return all[0], all[1]
}
