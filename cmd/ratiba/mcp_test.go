package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const kinyozi = `
slug: kinyozi
name: Kinyozi
vertical: barbershop
app: booking
country: KE
locale: sw
time_zone: Africa/Nairobi
currency: KES
assistant: Zuri
numbers: [{provider: meta, id: "1", display: "+254711000009", token_env: A_TOKEN, app_secret_env: A_SECRET}]
admins: [{name: Kamau, phone: "+254722000009"}]
booking:
  services: [{key: cut, name: {en: Haircut, sw: Kunyoa}, minutes: 30, price: 500}]
  staff: [{key: juma, name: Juma, hours: {mon-sat: ["09:00-17:00"]}}]
`

// ask starts ratiba mcp as an MCP client's program would and calls a read.
func ask(t *testing.T, c command, args ...string) (names int, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append([]string{asCommand + "=1"}, c.environ...)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "answer_from_knowledge", Arguments: map[string]any{"question": "Where can I park?"}})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Tools), res.Content[0].(*sdk.TextContent).Text
}

func TestMCPSpeaksBesideAndWithoutAServingProcess(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	c := shell(t, "A_TOKEN=x", "A_SECRET=y", "RATIBA_LISTEN="+addr)
	c.ok("tenant", "apply", "-f", write(t, "kinyozi.yaml", kinyozi))
	house := write(t, "the house.txt", "You can park behind the house.\n")
	if out := c.ok("tenant", "documents", "add", "kinyozi", house, "--title", "The house", "--key", "the house"); out != "kinyozi has the_house, in 1 passages\n" {
		t.Errorf("adding a document said %q", out)
	}
	if names, said := ask(t, c, "mcp", "kinyozi", "--admin", "+254722000009"); names != 24 || !strings.Contains(said, "behind the house") {
		t.Errorf("alone: %d tools, %s", names, said)
	}
	p := start(t, c.environ, "serve")
	p.says(`"event_type":"(server.started)"`)
	if names, said := ask(t, c, "mcp", "kinyozi", "--admin", "+254722000009"); names != 24 || !strings.Contains(said, "behind the house") {
		t.Errorf("by way of the serving process: %d tools, %s", names, said)
	}
	c.refused("no admin of the business", "mcp", "kinyozi", "--admin", "+254700000001")
	c.refused("There is no business", "mcp", "nobody", "--admin", "+254722000009")
	c.refused("either --admin", "mcp", "kinyozi")
	c.refused("mcp_listen", "mcp", "kinyozi", "--listen", "127.0.0.1:0")

	made := c.ok("mcp", "token", "new", "kinyozi", "--admin", "+254722000009", "--label", "laptop")
	if !strings.HasPrefix(made, "rtb_") || !strings.Contains(made, "acts as +254722000009") {
		t.Errorf("a token: %q", made)
	}
	listed := c.ok("mcp", "token", "list", "kinyozi")
	id, _, _ := strings.Cut(listed, " ")
	if !strings.Contains(listed, "never used laptop") || strings.Contains(listed, "rtb_") {
		t.Errorf("listed %q", listed)
	}
	c.ok("mcp", "token", "revoke", "kinyozi", id)
	if out := c.ok("mcp", "token", "list", "kinyozi"); !strings.Contains(out, "revoked") {
		t.Errorf("after revoking: %q", out)
	}
	c.refused("There is no token", "mcp", "token", "revoke", "kinyozi", "x")
	c.ok("tenant", "documents", "remove", "kinyozi", "the_house")
	if out := c.ok("tenant", "documents", "list", "kinyozi"); out != "" {
		t.Errorf("after removing: %q", out)
	}
}

func TestToolNewWritesAFolderOnce(t *testing.T) {
	t.Parallel()
	root, c := t.TempDir(), shell(t)
	c.refused("There is no app booking", "tool", "new", "water_plants", "--root", root)
	if err := os.MkdirAll(filepath.Join(root, "internal/app/booking/tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := c.ok("tool", "new", "water_plants", "--root", root); strings.Count(out, "water_plants/") != 4 {
		t.Errorf("said %q", out)
	}
	for _, name := range []string{"definition.json", "metadata.yaml", "handler.go", "handler_test.go"} {
		if _, err := os.Stat(filepath.Join(root, "internal/app/booking/tools/water_plants", name)); err != nil {
			t.Error(err)
		}
	}
	c.refused("is there already", "tool", "new", "water_plants", "--root", root)
	c.refused("is not in words", "tool", "new", "../evil", "--root", root)
}
