package archtest_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// toolFolders checks that a tool's folder holds all of the tool: definition,
// metadata, handler and a test.
func toolFolders(t *tree) []string {
	var faults []string
	for _, app := range t.dirs("internal/app") {
		for _, dir := range t.dirs(path.Join(app, "tools")) {
			faults = append(faults, missing(t, dir, "definition.json", "metadata.yaml", "handler.go")...)
			if !slices.ContainsFunc(t.files, func(f *source) bool { return f.dir == dir && f.test }) {
				faults = append(faults, dir+": a tool has a test in its folder")
			}
			var def struct{ Name, Description string }
			if err := json.Unmarshal([]byte(t.text(path.Join(dir, "definition.json"))), &def); err != nil || def.Description == "" {
				faults = append(faults, dir+"/definition.json: not a definition with a description")
			} else if def.Name != path.Base(dir) {
				faults = append(faults, fmt.Sprintf("%s/definition.json: the tool is named %q, its folder is not", dir, def.Name))
			}
			faults = append(faults, keys(t, path.Join(dir, "metadata.yaml"), "version", "owner", "safety_class", "audit_log_required")...)
		}
	}
	return faults
}

// promptFolders checks that a prompt's folder holds all of the prompt.
func promptFolders(t *tree) []string {
	var faults []string
	for _, dir := range t.dirs("internal/prompt") {
		faults = append(faults, missing(t, dir, "system.md", "metadata.yaml")...)
		faults = append(faults, keys(t, path.Join(dir, "metadata.yaml"), "version", "role", "owner", "eval_baseline")...)
	}
	return faults
}

func missing(t *tree, dir string, names ...string) []string {
	var faults []string
	for _, name := range names {
		if !t.exists(path.Join(dir, name)) {
			faults = append(faults, fmt.Sprintf("%s: %s is missing", dir, name))
		}
	}
	return faults
}

func keys(t *tree, name string, wanted ...string) []string {
	if !t.exists(name) {
		return nil // reported as missing
	}
	var got map[string]any
	if err := yaml.Unmarshal([]byte(t.text(name)), &got); err != nil {
		return []string{fmt.Sprintf("%s: %v", name, err)}
	}
	var faults []string
	for _, key := range wanted {
		if got[key] == nil || got[key] == "" {
			faults = append(faults, fmt.Sprintf("%s: %s is missing", name, key))
		}
	}
	return faults
}

// owned are the paths whose changes alter what customers are told or what is
// done in their name: a person answers for each.
var owned = []string{"/internal/prompt/", "/internal/tool/", "/internal/app/*/tools/", "/internal/handoff/", "/internal/turn/driver.go", "/internal/eval/"}

// owners checks that a person, not only a team, owns each of them.
func owners(t *tree) []string {
	persons := map[string]bool{}
	for line := range strings.Lines(t.text(".github/CODEOWNERS")) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		for _, who := range fields[1:] {
			team := strings.HasPrefix(who, "@") && strings.Contains(who, "/")
			if strings.Contains(who, "@") && !team {
				persons[fields[0]] = true
			}
		}
	}
	var faults []string
	for _, p := range owned {
		if !persons[p] {
			faults = append(faults, fmt.Sprintf(".github/CODEOWNERS: %s names no person", p))
		}
	}
	return faults
}

func TestToolFoldersAreComplete(t *testing.T) {
	t.Parallel()
	holds(t, toolFolders)
}

func TestPromptFoldersAreComplete(t *testing.T) {
	t.Parallel()
	holds(t, promptFolders)
}

func TestPersonsOwnWhatCustomersMeet(t *testing.T) {
	t.Parallel()
	holds(t, owners)
}
