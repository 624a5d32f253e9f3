package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// A comment is a comment on a pull request, in the form of GitHub's API.
type comment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Type string `json:"type"`
	} `json:"user"`
}

// Environment variables of the stand-in for gh: the first marks it as the stand-in, the second is the file with the
// comments.
const (
	envGH       = "TEST_IS_GH"
	envComments = "TEST_COMMENTS"
)

// installGH installs a stand-in for gh, GitHub's client, in a directory. It has the comments of one pull request,
// number 7 of org/repo, and evaluates --jq as gh does.
func installGH(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", envGH, self)
	if err := os.WriteFile(filepath.Join(dir, "gh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// readComments reads the comments of a file.
func readComments(file string) (all []comment, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(text, &all)
}

// gh is the stand-in for gh. It supports "api" with the flags that the action uses.
func gh(args []string) error {
	var method, filter, body, url string
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch word {
		case "api", "--paginate", "--silent":
			continue
		case "--method", "--jq", "--field":
			value := args[0]
			args = args[1:]
			switch word {
			case "--method":
				method = value
			case "--jq":
				filter = value
			default:
				text, err := os.ReadFile(strings.TrimPrefix(value, "body=@"))
				if err != nil {
					return err
				}
				body = string(text)
			}
		default:
			url = word
		}
	}
	if os.Getenv("GH_TOKEN") != "secret" {
		return errors.New("gh: Resource not accessible by integration (HTTP 403)")
	}
	comments, err := readComments(os.Getenv(envComments))
	if err != nil {
		return err
	}
	const list, one = "repos/org/repo/issues/7/comments", "repos/org/repo/issues/comments"
	switch {
	case url == list && method == "" && body == "":
		return query(comments, filter)
	case url == list && method == "":
		comments = append(comments, comment{ID: 100 + len(comments), Body: body})
		comments[len(comments)-1].User.Type = "Bot"
	case path.Dir(url) == one && method == "PATCH":
		err = errors.New("gh: Not Found (HTTP 404)")
		for i := range comments {
			if strconv.Itoa(comments[i].ID) == path.Base(url) {
				comments[i].Body, err = body, nil
			}
		}
	default:
		err = fmt.Errorf("gh: %s %s: Not Found (HTTP 404)", method, url)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(comments)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv(envComments), text, 0o600)
}

// query prints the result of a jq filter on the comments.
func query(comments []comment, filter string) error {
	text, err := json.Marshal(comments)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	parsed, err := gojq.Parse(filter)
	if err != nil {
		return err
	}
	code, err := gojq.Compile(parsed, gojq.WithEnvironLoader(os.Environ))
	if err != nil {
		return err
	}
	for results := code.Run(value); ; {
		result, ok := results.Next()
		if !ok {
			return nil
		}
		if err, ok := result.(error); ok {
			return err
		}
		fmt.Fprintln(os.Stdout, result)
	}
}
